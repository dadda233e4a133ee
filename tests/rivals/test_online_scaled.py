"""Online scaled gradient methods: the literal loops, autodiff of the feedback, and what the theorems promise."""

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reference_scaled as literal
import sentences
from conftest import numpy_of
from o2nc.constants import Smooth
from o2nc.conversions import SegmentConversion
from o2nc.lab.deterministic.methods import Normalised
from o2nc.lab.objectives import objective
from o2nc.oracles import AdaGrad
from o2nc.rivals import OnlineScaled, OnlineScaledHeavyBall
from o2nc.sets import Box

D, RUNS, K = 4, 3, 40
RNG = np.random.default_rng(0)
X1 = RNG.normal(size=(RUNS, D))
WEIGHTS = np.asarray([0.3, 1.0, 4.0, 9.0])
BETA = 9.0 + 1.0  # of sum w_i (sqrt(1 + x_i^2) - 1) + |x|^2 / 2


def f(x):
    """Convex and smooth, with value and gradient on any array library of the last axis."""
    root = np.sqrt(1 + x**2)
    value = np.sum((WEIGHTS / (root + 1) + 0.5) * x**2, axis=-1, keepdims=True)  # root - 1 would cancel
    return value, WEIGHTS * x / root + x


def on_lists(x):
    value, g = f(np.asarray(x))
    return float(value[0]), g.tolist()


def follow(xp, conversion, x1, K):
    """The trial points and the states after each sample."""
    update = xp.transform(lambda s, state, x, value: conversion.update(s, state, x, value=value))
    x = xp.array(x1)
    state, points, states = conversion.init(x), [], []
    for _ in range(K + 1):
        points.append(numpy_of(x))
        value, g = f(points[-1])
        dx, state = update(xp.array(g), state, x, xp.array(value))
        states.append(state)
        x = x + dx
    return np.stack(points), states


@pytest.mark.parametrize("f_star", [None, -0.1])
@pytest.mark.parametrize("high", [math.inf, 0.4])
def test_osgm_is_the_literal_one(xp, f_star, high):
    conversion = OnlineScaled(alpha=0.3, P1=0.2, high=high, f_star=f_star)
    points, states = follow(xp, conversion, X1, K)
    some = 0
    for run in range(RUNS):
        trials, kept, P = literal.osgm(on_lists, X1[run].tolist(), 0.3, 0.2, high, K, f_star)
        np.testing.assert_allclose(points[:, run], trials, rtol=0, atol=1e-10)
        np.testing.assert_allclose([numpy_of(state.P)[run] for state in states], P, rtol=0, atol=1e-9)
        nulls = sum(a is b for a, b in pairwise(kept))
        assert numpy_of(states[-1].nulls)[run, 0] == nulls
        assert numpy_of(states[-1].f)[run, 0] == pytest.approx(on_lists(kept[-1])[0], abs=1e-12)
        some += nulls
    assert some > 0  # null steps were among what was compared


@pytest.mark.parametrize("tau", [0.0, 20.0])
def test_osgm_best_is_the_literal_one(xp, tau):
    conversion = OnlineScaledHeavyBall(alpha=0.02, gamma=0.3, P1=0.05, b1=0.5, weight=tau)
    points, states = follow(xp, conversion, X1, K)
    for run in range(RUNS):
        trials, _, b = literal.osgm_best(on_lists, X1[run].tolist(), 0.02, 0.3, 0.05, 0.5, tau, K)
        np.testing.assert_allclose(points[:, run], trials, rtol=0, atol=1e-9)
        np.testing.assert_allclose([numpy_of(state.b)[run, 0] for state in states], b, rtol=0, atol=1e-6)
    assert np.any(numpy_of(states[-1].nulls) > 0)


def test_the_hypergradient_is_that_of_autodiff():
    """After one step V is the square of the derivative of the feedback, and P moved against its sign."""
    value = lambda x: jnp.sum(WEIGHTS * (jnp.sqrt(1 + x**2) - 1) + x**2 / 2)
    x, P = jnp.asarray(X1[0]), jnp.asarray([0.15] * D)
    g = jax.grad(value)(x)
    h = lambda P: (value(x - P * g) - value(x)) / jnp.sum(g**2)
    r = lambda P: (value(x - P * g) + 0.1) / (value(x) + 0.1)
    for feedback, f_star, constant in ((h, None, 0.0), (r, -0.1, 1.0)):
        conversion = OnlineScaled(alpha=1e-3, P1=0.15, f_star=f_star)
        _, states = follow(NUMPY, conversion, X1[0], 1)
        expected = np.asarray(jax.grad(feedback)(P))
        np.testing.assert_allclose(states[1].V, expected**2, rtol=1e-9)
        np.testing.assert_allclose(states[1].P, 0.15 - 1e-3 * np.sign(expected), rtol=1e-12)
        assert states[1].h[0] == pytest.approx(float(feedback(P)) - constant, rel=1e-12)
        assert states[0].h[0] == 0


def test_the_hypergradient_of_the_momentum_is_that_of_autodiff():
    value = lambda x: jnp.sum(WEIGHTS * (jnp.sqrt(1 + x**2) - 1) + x**2 / 2)
    conversion = OnlineScaledHeavyBall(alpha=1e-3, gamma=1e-3, P1=0.02, b1=0.5, weight=3.0)
    points, states = follow(NUMPY, conversion, X1[0], 2)
    assert states[1].nulls[0] == 0
    x, w, P = (jnp.asarray(v) for v in (points[1], points[1] - points[0], states[1].P))
    g = jax.grad(value)(x)
    h = lambda P, b: value(x - P * g + b * w) / (jnp.sum(g**2) + 1.5 * jnp.sum(w**2))
    in_P, in_b = jax.grad(h, argnums=(0, 1))(P, 0.5)
    np.testing.assert_allclose(states[2].V - states[1].V, np.asarray(in_P) ** 2, rtol=1e-6)
    assert states[2].v[0] == pytest.approx(float(in_b) ** 2, rel=1e-9)
    assert states[2].b[0] == pytest.approx(0.5 - 1e-3 * np.sign(float(in_b)), rel=1e-9)


class NUMPY:
    """The two things that `follow` needs, without compilation."""

    array = staticmethod(np.asarray)
    transform = staticmethod(lambda function: function)


def feedback(x, P):
    value, g = f(x)
    return float((f(x - P * g)[0] - value)[0] / np.sum(g**2))


@pytest.mark.parametrize(("alpha", "high"), [(0.1, 1.0), (0.05, 0.5), (0.3, 0.2)])
def test_the_regret_and_the_rate_of_the_theorem(alpha, high):
    """Against I/beta, random P and the best diagonal of a grid; then the rate with mu = 1."""
    K = 30
    _, kept, P = literal.osgm(on_lists, X1[0].tolist(), alpha, 0.1, high, K)
    _, states = follow(NUMPY, OnlineScaled(alpha, 0.1, high), X1[0], K)
    steps = [np.asarray(x) for x in kept[:-1]]
    sizes = np.linalg.norm([f(x)[1] for x in steps], axis=1)
    K = int(np.argmax(sizes < 1e-6)) if np.any(sizes < 1e-6) else K  # beyond, values are rounding errors
    assert K >= 10
    played = math.fsum(feedback(x, np.asarray(p)) for x, p in zip(steps[:K], P[:K], strict=True))
    assert states[K].h[0] == pytest.approx(played, rel=1e-3)
    bound = (high**2 / (2 * alpha) + alpha) * np.sum(np.sqrt(states[K].V))
    others = [np.full(D, 1 / BETA), 1 / (WEIGHTS + 1), *(high * np.random.default_rng(1).random((20, D)))]
    for other in others:
        assert played - math.fsum(feedback(x, np.minimum(other, high)) for x in steps[:K]) <= bound
    assert all(feedback(x, np.full(D, 1 / BETA)) <= -1 / (2 * BETA) for x in steps[:K])
    rate = 1 - 2 * 1.0 * max(0.0, -played / K)  # f is 1-strongly convex, and f* = 0
    assert on_lists(kept[K])[0] <= on_lists(kept[0])[0] * rate**K * (1 + 1e-9)
    assert rate < 1


def test_it_overtakes_gradient_descent():
    """The promise: after the regret is paid, at least as fast as the fixed step 1 / beta."""
    f = objective("cancer-logistic", "convex")
    conversion, x, y = OnlineScaled(10 / f.beta, P1=1 / f.beta), np.zeros(f.d), np.zeros(f.d)
    state = conversion.init(x)
    for _ in range(200):
        value, g = f.value_and_gradient(x)
        dx, state = conversion.update(g, state, value=value)
        x, y = x + dx, y - f.value_and_gradient(y)[1] / f.beta
    ahead = float(f.value_and_gradient(y)[0][0]) - f.f_star
    assert state.f[0] - f.f_star < 1e-3 * ahead


@pytest.mark.parametrize("make", [lambda: OnlineScaled(2.0, 1.0), lambda: OnlineScaledHeavyBall(2.0, 3.0, 1.0)])
def test_the_kept_value_never_grows_and_a_null_step_returns(make):
    points, states = follow(NUMPY, make(), X1, K)
    values = np.stack([state.f for state in states])
    assert np.all(np.diff(values, axis=0) <= 0)
    for k, (before, after) in enumerate(pairwise(states)):
        for run in np.flatnonzero(after.nulls > before.nulls):
            back = points[k + 1, run] - before.delta[run]  # the point that is kept
            np.testing.assert_allclose(f(back)[0], after.f[run], rtol=1e-9)
            np.testing.assert_allclose(f(back)[1], after.g[run], rtol=1e-9, atol=1e-12)
    assert states[-1].nulls.min() > 0


def test_without_null_steps_it_is_algorithm_1_with_the_loss_divided():
    """OSGM-H on [0, eta] and Algorithm 1 with r = 1, a = 1, diagonal AdaGrad and the loss over |m|^2."""
    eta = 0.15
    osgm = OnlineScaled(alpha=eta / math.sqrt(2), P1=eta, high=eta)
    constants = Smooth.paper(M=1e6, beta=1 / (64 * eta), sigma=0.0, T=K)
    ours = SegmentConversion(Normalised(AdaGrad(Box())), constants, r=1.0)
    points, states = follow(NUMPY, osgm, X1, K)
    x = X1
    state = ours.init(x)
    for k in range(K):
        np.testing.assert_allclose(x, points[k], rtol=0, atol=1e-12)
        dx, state = ours.update(f(x)[1], state)
        x = x + dx
    assert not np.any(states[-1].nulls)
    assert states[-1].P.min() < 0.9 * eta  # something was learned


def test_a_point_without_gradient_stays():
    for conversion in (OnlineScaled(1.0, 1.0), OnlineScaledHeavyBall(1.0, P1=1.0)):
        points, states = follow(NUMPY, conversion, np.zeros((1, D)), 3)
        assert not np.any(points)
        assert np.all(np.isfinite(states[-1].P))


@pytest.mark.parametrize("kind", [OnlineScaled, OnlineScaledHeavyBall])
def test_the_value_must_be_given(kind):
    conversion, x = kind(alpha=1.0), np.zeros(2)
    needs = (
        f"`update` of {kind.__name__} needs the value of the objective at the point of the sample, `value`; got None"
    )
    sentences.check(lambda: conversion.update(x, conversion.init(x), x), ValueError, needs)
    shape = "`s` must have the shape of `x`"
    sentences.check(lambda: conversion.update(np.zeros(3), conversion.init(x), value=0.0), ValueError, shape)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: OnlineScaled(alpha=0.0), "`OnlineScaled(alpha=...)` must be finite and positive; got 0.0"),
        (lambda: OnlineScaled(1.0, P1=-1.0), "`OnlineScaled(P1=...)` must be"),
        (
            lambda: OnlineScaled(1.0, P1=2.0, high=1.0),
            "`OnlineScaled(high=...)` must be positive and at least P1 = 2.0",
        ),
        (
            lambda: OnlineScaled(1.0, high=0.0),
            "`OnlineScaled(high=...)` must be positive and at least P1 = 0.0; got 0.0",
        ),
        (
            lambda: OnlineScaled(1.0, f_star=math.nan),
            "`OnlineScaled(f_star=...)` must be None or a finite number; got nan",
        ),
        (
            lambda: OnlineScaledHeavyBall(1.0, gamma=0.0),
            "`OnlineScaledHeavyBall(gamma=...)` must be finite and positive",
        ),
        (
            lambda: OnlineScaledHeavyBall(1.0, b1=1.0),
            "`OnlineScaledHeavyBall(b1=...)` must be at least 0 and less than 1",
        ),
        (lambda: OnlineScaledHeavyBall(1.0, weight=-1.0), "`OnlineScaledHeavyBall(weight=...)` must be"),
        (lambda: OnlineScaledHeavyBall(1.0, high=math.nan), "`OnlineScaledHeavyBall(high=...)` must be positive"),
    ],
)
def test_wrong_values_are_sentences(make, sentence):
    sentences.check(make, ValueError, sentence)
