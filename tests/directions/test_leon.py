"""Leon's direction against a plain loop, its limits, and the learner of displacements that it is made from."""

import math

import numpy as np
import pytest

from o2nc import Blocks, rivals
from o2nc.directions import Leon, Polar
from o2nc.directions.matrices import at_length
from sentences import check

SAMPLES = np.random.default_rng(1).normal(size=(7, 4, 3))


def run(direction, samples, shape=(4, 3), b=0.8):
    """The state, and the tracker with the weight 1 - b."""
    state, m = direction.init(Blocks((np.zeros(shape),))), np.zeros(shape)
    for s in samples:
        state, m = direction.learn(state, Blocks((s,))), b * m + (1 - b) * s
    return state, Blocks((m,))


@pytest.mark.parametrize("turned", [False, True])
def test_it_is_the_literal_one(turned):
    """Entry by entry in loops, and the root by the singular values of the augmented matrix, with a ridge."""
    samples = SAMPLES.swapaxes(1, 2) if turned else SAMPLES
    direction, b, eta = Leon(b=0.8, eta=0.7), 0.8, 0.7
    state, m = run(direction, samples, samples.shape[1:])
    found = direction.direction(state, m).arrays[0]
    M, V = np.zeros((4, 3)), np.zeros((3, 3))
    for i, s in enumerate(SAMPLES):
        weight = b ** (len(SAMPLES) - 1 - i)
        M += (1 - b) * weight * s
        V += weight**2 * s.T @ s
    V = (eta * (1 - b)) ** 2 * V
    V += 1e-4 * np.trace(M.T @ M + V) / 3 * np.eye(3)
    w, Q = np.linalg.eigh(V)
    U, _, W = np.linalg.svd(np.vstack([M, (Q * np.sqrt(w)) @ Q.T]), full_matrices=False)
    Z = (U @ W)[:4]
    Z *= 0.2 / math.sqrt(np.mean(Z**2))
    np.testing.assert_allclose(found, Z.T if turned else Z, rtol=0, atol=1e-12)


def test_it_is_the_learner_of_displacements():
    """But for the ridge."""
    direction, learner = Leon(b=0.8), rivals.Leon(D=1.0, b=0.8)
    state, m = run(direction, SAMPLES)
    other = learner.init(m)
    for s in SAMPLES:
        other = learner.learn(other, Blocks((s,)))
    expected = at_length(-learner.play(other).arrays[0])
    np.testing.assert_allclose(direction.direction(state, m).arrays[0], expected, rtol=0, atol=1e-4)


def test_without_damping_it_is_the_polar_factor():
    """But for the ridge."""
    direction, polar = Leon(b=0.8, eta=0.0), Polar(steps=None)
    state, m = run(direction, SAMPLES)
    expected = polar.direction(polar.init(m), m).arrays[0]
    np.testing.assert_allclose(direction.direction(state, m).arrays[0], expected, rtol=0, atol=1e-3)


def test_noise_is_damped_and_signal_is_not():
    """One entry is the same in every sample, one is a fair coin: the polar factor cannot tell them apart."""
    shares = []
    for seed in range(40):
        coins = np.random.default_rng(seed).choice([-1.0, 1.0], size=100)
        direction, samples = Leon(b=0.95), [np.diag([1.0, coin]) for coin in coins]
        state, m = run(direction, samples, (2, 2), b=0.95)
        damped = direction.direction(state, m).arrays[0]
        polar = Polar(steps=None).direction(Polar().init(m), m).arrays[0]
        assert abs(polar[1, 1]) == pytest.approx(polar[0, 0])
        shares.append(abs(damped[1, 1]) / damped[0, 0])
    assert np.mean(shares) < 0.7


def test_errors():
    check(lambda: Leon(b=1.0), ValueError, "`Leon(b=...)`", "got 1.0")
    check(lambda: Leon(eta=-1.0), ValueError, "`Leon(eta=...)`", "got -1.0")
