"""A certificate for one run against 10^4 runs: how often it holds in all rounds at once, and when it must not."""

import math

import numpy as np
import pytest

from o2nc.certificates import (
    mean_interval,
    one_run,
    one_run_factors,
    one_run_rate,
    sharp_step,
    theorem_sharp_clipped,
)
from o2nc.lab.objectives import objective
from o2nc.noise import Bounded, HeavyTailed, SubGaussian, clipping_radius

RUNS, T = 10_000, 200
WEIGHTS = np.asarray([1.0, 0.5, 0.2])  # f(x) = sum_i w_i (1 - cos x_i): beta = 1, and |grad f| <= 1.14
GRADIENT = float(np.linalg.norm(WEIGHTS))
START = np.asarray([1.0, 2.0, 0.0])
FIRST = float(((WEIGHTS * np.sin(START)) ** 2).sum())


def gaussian(rng, scale=0.3):
    return scale * rng.normal(size=(RUNS, 3))


def rare(rng, B=2.0, chance=2e-4):
    """B in one direction in one round of 5000, a little of the other sign else: bounded by B, mean 0."""
    xi = np.zeros((RUNS, 3))
    xi[:, 0] = np.where(rng.random(RUNS) < chance, B, -B * chance / (1 - chance))
    return xi


def student(rng, scale=0.1):
    """2.5 degrees of freedom: no third moment."""
    return scale * rng.standard_t(2.5, size=(RUNS, 3))


def pareto(rng, scale=0.1):
    """A random direction and a length with P(length > r) = (scale / r)^1.6: no variance."""
    u = rng.normal(size=(RUNS, 3))
    return u / np.linalg.norm(u, axis=-1, keepdims=True) * scale * rng.random((RUNS, 1)) ** (-1 / 1.6)


def play(noise, a, eta, *, radius=None, operator=lambda m, t: m, rounds=T, weights=WEIGHTS, seed=0):
    """Algorithm 1 in NumPy: the sums S, Q, N, W after each round, each (rounds, RUNS)."""
    rng = np.random.default_rng(seed)
    x, m = np.tile(START, (RUNS, 1)), np.zeros((RUNS, 3))
    history = {name: [] for name in "SQNW"}
    for t in range(rounds):
        g = weights * np.sin(x)
        s = g + noise(rng)
        if radius is not None:
            s = s * np.minimum(1.0, radius / np.linalg.norm(s, axis=-1, keepdims=True))
        d = operator(m, t)
        for name, u, v in (("S", g, g), ("Q", s, m), ("N", m, m), ("W", d, d)):
            history[name].append((u * v).sum(-1))
        x, m = x - eta * d, (1 - a) * m + a * s
    return {name: np.cumsum(rows, axis=0) for name, rows in history.items()}


def bound(sums, a, eta, noise, delta, first=FIRST):
    """The formula of the theory page for all runs and rounds, with the factors for the last round."""
    rounds = len(sums["S"])
    known = {"a": a, "eta": eta, "beta": 1.0, "first": first, "noise": noise, "delta": delta, "horizon": rounds}
    kappa, nu, gamma, _ = one_run_factors(T=rounds, **known)
    Y = np.asarray([[one_run_factors(T=t, **known).noise] for t in range(1, rounds + 1)])
    Q, N, W, t = sums["Q"], sums["N"], sums["W"], np.arange(1, rounds + 1)[:, None]
    w = eta * np.sqrt(W) + a * noise.bias * np.sqrt(t)
    rho = kappa * (1 - gamma * (1 - a) ** 2) - 1
    leak = kappa * nu * (gamma - 1)
    found = 2 * Q - N + kappa * (first + Y) + (kappa**2 * gamma**2 * (1 - a) ** 2 / rho + kappa * gamma) * w**2
    found += leak * (nu * N - 2 * (1 - a) * (N - Q) + 2 * eta * np.sqrt(W * N))
    return found + 2 * (1 + leak) * noise.bias * np.sqrt(t * N)


def failures(sums, *args, **kwargs):
    """The share of runs in which the bound fails in some round."""
    return np.mean(np.any(sums["S"] > bound(sums, *args, **kwargs), axis=0))


CLIPPED = clipping_radius(0.1 * math.sqrt(15), GRADIENT, T)
# E|xi|^1.5 = scale^1.5 int_0^1 u^(-1.5/1.6) du = 16 scale^1.5
WIDE = HeavyTailed(v=0.1 * 16 ** (1 / 1.5), q=1.5, L=GRADIENT, R=clipping_radius(0.64, GRADIENT, T, q=1.5))
KINDS = {
    "gaussian": (gaussian, SubGaussian(0.3, 3), None),
    "rare": (rare, Bounded(2.0), None),
    "rare, variance known": (rare, Bounded(2.0, 2.0 * math.sqrt(2e-4 / (1 - 2e-4)), GRADIENT), None),
    "student": (student, HeavyTailed(v=0.1 * math.sqrt(15), L=GRADIENT, R=CLIPPED), CLIPPED),  # variance 5 each
    "pareto": (pareto, WIDE, WIDE.R),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [1.1, 8.0])
def test_it_holds_in_all_rounds_at_once(kind, c):
    draw, noise, radius = KINDS[kind]
    sums = play(draw, a := 0.1, a / c, radius=radius)
    delta = 0.05
    assert failures(sums, a, a / c, noise, delta) <= delta
    last = {name: float(sums[name][-1, 7]) for name in "QNW"}
    found = one_run(a=a, eta=a / c, beta=1.0, first=FIRST, T=T, noise=noise, delta=delta, **last)
    assert found.bound * T == pytest.approx(bound(sums, a, a / c, noise, delta)[-1, 7], rel=1e-9)


def test_no_contraction_is_needed():
    """Operators of norm 3 and of the wrong sign, chosen by the round and by the tracker."""
    turned = lambda m, t: 3.0 * m * np.sign(m[:, :1]) if t % 2 else -m[:, ::-1]
    sums = play(gaussian, 0.1, 0.0125, operator=turned)
    assert failures(sums, 0.1, 0.0125, SubGaussian(0.3, 3), 0.05) <= 0.05


def flat(draw, a=0.1, rounds=100, **kwargs):
    """A constant f, where all that is left is noise: the inequalities have no other slack."""
    return play(draw, a, 1e-4, rounds=rounds, weights=0.0 * WEIGHTS, **kwargs)


def test_it_fails_when_too_little_noise_is_declared():
    """Where f is constant the bound is about the noise alone. One direction three times too small is seen too."""
    sums, known = flat(gaussian), {"delta": 0.05, "first": 0.0}
    assert failures(sums, 0.1, 1e-4, SubGaussian(0.3, 3), **known) <= 0.05
    assert failures(sums, 0.1, 1e-4, SubGaussian(0.15, 3), **known) > 0.5
    one = flat(lambda rng: gaussian(rng) * np.asarray([1.0, 0.0, 0.0]))
    right, small = SubGaussian(0.3, 1), SubGaussian(0.1, 9)  # the same variance
    assert failures(one, 0.1, 1e-4, right, **known) <= 0.05
    assert failures(one, 0.1, 1e-4, small, **known) > 0.05
    coin = lambda rng: rng.choice([-1.0, 1.0], size=(RUNS, 1)) * np.asarray([[0.3, 0.0, 0.0]])
    assert failures(flat(coin), 0.1, 1e-4, Bounded(0.3), **known) <= 0.05
    assert failures(flat(coin), 0.1, 1e-4, Bounded(0.15), **known) > 0.5


def test_rare_events_break_intervals_of_student_and_not_this():
    """16 replications: the 95 % interval of the mean of Q misses it in a third of the cases or more."""
    sums = play(rare, 0.1, 0.0125)
    Q, truth = sums["Q"][-1], sums["Q"][-1].mean()
    missed = [not low <= truth <= high for low, high in map(mean_interval, Q.reshape(-1, 16).tolist())]
    assert np.mean(missed) > 1 / 3
    assert failures(sums, 0.1, 0.0125, Bounded(2.0), 0.05) <= 0.05


@pytest.mark.parametrize("kind", ["student", "pareto"])
def test_the_sharp_theorem_with_clipped_samples(kind):
    draw, noise, radius = KINDS[kind]
    a, D = 0.1, float((WEIGHTS * (1 - np.cos(START))).sum())
    c, _ = sharp_step(1.0, a)
    with pytest.raises(ValueError, match="`c` must be at least"):
        theorem_sharp_clipped(gap=D, beta=1.0, noise=noise, T=T, regret=0.0, a=a, c=c)
    c = 1.3
    sums = play(draw, a, a / c, radius=radius)
    found = theorem_sharp_clipped(gap=D, beta=1.0, noise=noise, T=T, regret=0.0, a=a, c=c, first=FIRST)
    assert sums["S"][-1].mean() <= found.bound * T


def test_two_events_in_place_of_one():
    """The first form of the theory page: its formula holds too, and is larger where the noise dominates."""
    a, eta, p, d, delta, r0 = 0.1, 0.0125, 0.3, 3, 0.05, 2.0
    sums = play(gaussian, a, eta)
    omega, t = 0.02, np.arange(1, T + 1)[:, None]
    l = 0.05
    q = (1 + l) * (1 - a) ** 2 / (1 - omega)
    V = p**2 * sums["N"]
    products = 2 * np.sqrt(2 * (V + r0) * np.log(2 / delta * np.sqrt(1 + V / r0)))
    drift = (1 + 1 / l) * eta**2 * sums["W"] / (1 - omega)
    noise = a**2 * p**2 / omega * (-t * d * math.log1p(-omega) + 2 * math.log(2 / delta))
    found = 2 * sums["Q"] - sums["N"] + products + (FIRST + drift + noise) / (1 - q)
    assert np.mean(np.any(sums["S"] > found, axis=0)) <= delta
    assert found[-1].mean() > bound(sums, a, eta, SubGaussian(p, d), delta)[-1].mean()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["f1", "f2", "f3", "f4"])
def test_it_is_at_most_twice_what_is_measured(name):
    """The rule of `one_run_rate`, U = I, T = 20000, D = 0.5, delta = .01: the noise is made of independent signs."""
    f, rounds, D = objective(name), 20_000, 0.5
    p = {"f1": 0.1}.get(name, 0.4)  # the size of a sign; the rows of the projection of f3 are no longer
    a, eta = one_run_rate(D, f.beta, f.sigma, rounds)
    rng, x, S, Q, N = np.random.default_rng(1), np.tile(f.start(np.zeros(1)), (2, 1)), 0.0, 0.0, 0.0
    m = np.zeros_like(x)
    for _ in range(rounds):
        g = f.gradient(x)
        s = g + f.noise(rng.choice([-1.0, 1.0], size=x.shape))
        S, Q, N = S + (g * g).sum(-1), Q + (s * m).sum(-1), N + (m * m).sum(-1)
        x, m = x - eta * m, (1 - a) * m + a * s
    for noise in (SubGaussian(p, (f.sigma / p) ** 2), Bounded(f.noise_sup)):
        for i in range(2):
            sums = {"Q": float(Q[i]), "N": float(N[i]), "W": float(N[i])}
            found = one_run(a=a, eta=eta, beta=f.beta, first=2 * f.beta * D, T=rounds, noise=noise, **sums)
            assert 1 < found.bound / (S[i] / rounds) < 2
