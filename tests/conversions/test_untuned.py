"""Algorithm 1 without constants: against plain loops, and what does not change when the objective is scaled."""

import math

import numpy as np
import pytest

import reference
from conftest import numpy_of
from o2nc.conversions import UntunedConversion
from o2nc.operators import Dense, Identity
from o2nc.oracles import AdaHedge, Constant, Hedge

D, ROUNDS, GAMMA = 3, 25, 0.1
SWAP = np.eye(D)[::-1].copy()
RNG = np.random.default_rng(1)
X1 = RNG.normal(size=D)
NOISE = RNG.normal(size=(ROUNDS, D))


def literal(x1, noise):
    """The docstring of `UntunedConversion`, word for word, with Hedge over I and the swap."""
    oracle = reference.Hedge([np.eye(D).tolist(), SWAP.tolist()], [0.5, 0.5], lambda t, E: GAMMA)
    x, m, samples, points = list(x1), [0.0] * D, [], [list(x1)]
    regret, eye = 0.0, np.eye(D).tolist()
    for xi in noise:
        U = oracle.ask()
        s = [math.sin(p) + q for p, q in zip(x, xi, strict=True)]
        L = lambda V, s=s, m=m: -reference.dot(s, reference.matvec(V, m))
        oracle.reveal(L)
        regret += L(U) - L(eye)
        far = max([1e-3 * (1 + math.dist(x1, [0] * D))] + [math.dist(p, x1) for p in points])
        E = sum(reference.dot(v, v) for v in samples)
        if samples:
            eta = far / math.sqrt(E) * (reference.dot(samples[0], samples[0]) / E) ** 0.3
            x = [p - eta * q for p, q in zip(x, reference.matvec(U, m), strict=True)]
        points.append(x)
        samples.append(s)
        m = [(p + q) / 2 for p, q in zip(m, s, strict=True)]
    return points, regret


def run(conversion, x, noise, factor=1.0):
    state, points = conversion.init(x), [x]
    for xi in noise:
        dx, state = conversion.update(factor * (np.sin(x) + xi), state)
        x = x + dx
        points.append(x)
    return np.stack(points), state


def test_it_is_what_the_docstring_says(xp):
    conversion = UntunedConversion(Hedge([Identity(), Dense(xp.array(SWAP))], gamma=GAMMA))
    update = xp.transform(conversion.update)
    x, state, found = xp.array(X1), conversion.init(xp.array(X1)), [X1]
    for xi in NOISE:
        dx, state = update(xp.array(np.sin(found[-1]) + xi), state)
        x = x + dx
        found.append(numpy_of(x))
    points, regret = literal(X1.tolist(), NOISE.tolist())
    np.testing.assert_allclose(np.stack(found), points, rtol=0, atol=1e-12)
    np.testing.assert_allclose(numpy_of(state.run.regret), [regret], rtol=0, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-3, 1e4])
@pytest.mark.parametrize("kappa", [0.0, 4.0])
def test_a_multiple_of_the_objective_is_minimised_along_the_same_points(factor, kappa):
    """The step is free of the scale of f, and so is AdaHedge."""
    conversion = UntunedConversion(AdaHedge([Identity(), Dense(SWAP)]), kappa=kappa)
    points, _ = run(conversion, X1, NOISE)
    scaled, _ = run(conversion, X1, NOISE, factor)
    np.testing.assert_allclose(scaled, points, rtol=0, atol=1e-9)


def test_without_noise_it_finds_a_stationary_point_and_with_noise_it_settles():
    exact, state = run(UntunedConversion(Constant()), np.asarray([2.0, -3.0, 0.5]), np.zeros((400, 3)))
    assert np.linalg.norm(np.sin(exact[-1])) < 1e-6
    assert float(state.D[0]) == pytest.approx(max(np.linalg.norm(exact - exact[0], axis=1)), rel=1e-12)
    noise = 0.5 * np.random.default_rng(2).normal(size=(4000, 64, 3))
    noisy, _ = run(UntunedConversion(Constant()), np.tile([2.0, -3.0, 0.5], (64, 1)), noise)
    squares = np.mean(np.sum(np.sin(noisy) ** 2, axis=-1), axis=1)
    assert squares[-1] < 0.75 * squares[1000] < 0.1 * squares[0]


def test_nothing_moves_while_the_samples_are_zero():
    conversion = UntunedConversion(Constant())
    x = np.asarray([1.0, 2.0])
    state = conversion.init(x)
    for _ in range(3):
        dx, state = conversion.update(np.zeros(2), state)
        np.testing.assert_array_equal(dx, 0.0)
    _, state = conversion.update(np.ones(2), state)
    assert float(state.first[0]) == 2.0
    dx, state = conversion.update(np.ones(2), state)
    assert np.linalg.norm(dx) == pytest.approx(0.5e-3 * (1 + math.sqrt(5)), rel=1e-12)  # m is half the first sample


def test_no_theorem_is_about_it():
    assert UntunedConversion(Constant()).theorem(0.0) == "there is no certificate of UntunedConversion"
    with pytest.raises(ValueError, match=r"`kappa` must be finite and nonnegative; got -1"):
        UntunedConversion(Constant(), kappa=-1.0)
    with pytest.raises(TypeError, match="`oracle` must"):
        UntunedConversion(3)
