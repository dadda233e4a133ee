"""The conversions and Hedge against the literal algorithms, on every array library."""

import math

import jax
import numpy as np
import pytest

import reference
from conftest import numpy_of
from o2nc import Blocks, NonsmoothConversion, Smooth, SmoothConversion
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import Constant, Hedge
from o2nc.rivals import SGD
from runs import (
    NOISE,
    NONSMOOTH,
    PRIORS,
    RATES,
    ROUNDS,
    RUNS,
    SMOOTH,
    TAU,
    X1,
    R,
    experts,
    gradient,
    reference_hedge,
    rounds,
    updating,
)


@pytest.fixture(autouse=True, scope="module")
def _optimised_compilation():
    """As users compile: here the numbers are compared with the literal ones."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("prior", PRIORS)
def test_algorithm_1_with_hedge_is_the_literal_one(xp, rate, prior):
    oracle = Hedge(experts(xp), gamma=RATES[rate][0], prior=PRIORS[prior])
    conversion = SmoothConversion(oracle, SMOOTH)
    update = updating(xp, conversion)
    batch, state = rounds(xp, conversion, X1, NOISE, conversion.init(xp.array(X1)), update=update)
    assert state.clipped.shape == (RUNS, 1)
    assert float(numpy_of(state.clipped).sum()) > 0  # the projection is exercised
    for run in range(RUNS):
        literal = reference_hedge(rate, PRIORS[prior])
        x, regret, m = reference.algorithm_1(
            literal, lambda t, x, run=run: (gradient(np.asarray(x)) + NOISE[t - 1, run]).tolist(), X1[run],
            SMOOTH.M, SMOOTH.beta, SMOOTH.sigma, SMOOTH.T,
        )  # fmt: skip
        np.testing.assert_allclose(batch[:, run], x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.regret)[run, 0], regret, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.m)[run], m, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(oracle.weights(state.oracle))[run], literal.weights(), rtol=0, atol=1e-12)
        start = conversion.init(xp.array(X1[run]))
        single, end = rounds(xp, conversion, X1[run], NOISE[:, run], start, update=update)
        np.testing.assert_allclose(single, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(end.regret), [regret], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rate", RATES)
def test_algorithm_2_with_hedge_is_the_literal_one(xp, rate):
    oracle = Hedge(experts(xp), gamma=RATES[rate][0])
    conversion = NonsmoothConversion(oracle, NONSMOOTH)
    state = conversion.init(xp.array(X1), tau=xp.array(TAU, "int32"))
    batch, state = rounds(xp, conversion, X1, NOISE, state, R)
    assert float(numpy_of(state.run.clipped).sum()) > 0
    for run in range(RUNS):
        _, y, y_bar, output, regret = reference.algorithm_2(
            reference_hedge(rate, None), lambda t, x, run=run: (gradient(np.asarray(x)) + NOISE[t - 1, run]).tolist(),
            X1[run], NONSMOOTH.L, NONSMOOTH.a, NONSMOOTH.eta, NONSMOOTH.rho, ROUNDS, R[:, run, 0], int(TAU[run, 0]),
        )  # fmt: skip
        np.testing.assert_allclose(batch[:-1, run], list(y.values()), rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.mean)[run], y_bar[ROUNDS], rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], output, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.run.regret)[run, 0], regret, rtol=0, atol=1e-12)


def test_algorithm_1_runs_inside_lax_scan():
    xp = next(b for b in __import__("conftest").BACKENDS if b.name == "jax")
    conversion = SmoothConversion(Hedge(experts(xp)), SMOOTH)

    def step(carry, xi):
        x, state = carry
        dx, state = conversion.update(3 * jax.numpy.sin(x) + xi, state, x)
        return (x + dx, state), x

    x1 = xp.array(X1)
    (_, state), points = jax.jit(lambda x, noise: jax.lax.scan(step, (x, conversion.init(x)), noise))(x1, NOISE)
    eager, end = rounds(xp, conversion, X1, NOISE, conversion.init(x1))
    np.testing.assert_allclose(numpy_of(points), eager[:-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(numpy_of(state.regret), numpy_of(end.regret), rtol=0, atol=1e-12)


def test_vmap_over_runs_is_a_batch():
    xp = next(b for b in __import__("conftest").BACKENDS if b.name == "jax")
    conversion = NonsmoothConversion(Hedge(experts(xp)), NONSMOOTH)
    states = jax.vmap(lambda x, tau: conversion.init(x, tau=tau))(xp.array(X1), xp.array(TAU, "int32"))
    update = jax.vmap(lambda s, state, x, r: conversion.update(s, state, x, r=r))
    x = xp.array(X1)
    for t in range(ROUNDS):
        dx, states = update(3 * jax.numpy.sin(x) + NOISE[t], states, x, xp.array(R[t + 2]))
        x = x + dx
    state = conversion.init(xp.array(X1), tau=xp.array(TAU, "int32"))
    batch, end = rounds(xp, conversion, X1, NOISE, state, R)
    np.testing.assert_allclose(numpy_of(x), batch[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(numpy_of(states.average.output), numpy_of(end.average.output), rtol=0, atol=1e-12)


def test_sgd(xp):
    sgd = SGD(eta=0.1)
    path, _ = rounds(xp, sgd, X1, NOISE, sgd.init(xp.array(X1)))
    x = X1
    for t in range(ROUNDS):
        np.testing.assert_allclose(path[t], x, rtol=0, atol=1e-12)
        x = x - 0.1 * (gradient(x) + NOISE[t])


@pytest.mark.parametrize("kind", ["smooth", "nonsmooth"])
def test_blocks_have_the_numbers_of_the_flat_vector(xp, kind):
    """A (2, 1) matrix and a 2-vector as `Blocks`, against the same four numbers in one array."""
    mask = [1.0, 0.0, 0.5, 0.25]
    cut = lambda v: Blocks((xp.array(np.asarray(v)[:2].reshape(2, 1)), xp.array(np.asarray(v)[2:])))
    flat = lambda b: np.concatenate([numpy_of(a).ravel() for a in b.arrays])
    if kind == "smooth":
        build = lambda operator: SmoothConversion(Hedge([Identity(), operator]), SMOOTH)
    else:
        build = lambda operator: NonsmoothConversion(Hedge([Identity(), operator]), NONSMOOTH)
    whole, cut_up = build(Diagonal(xp.array(mask))), build(Diagonal(cut(mask)))
    x, y = xp.array(X1[0]), cut(X1[0])
    one, two = whole.init(x), cut_up.init(y)
    for t in range(ROUNDS):
        s = gradient(numpy_of(x)) + NOISE[t, 0]
        r = float(R[t + 1, 0, 0])
        dx, one = whole.update(xp.array(s), one, x, r=r)
        dy, two = cut_up.update(cut(s), two, y, r=r)
        x, y = x + dx, y + dy
        np.testing.assert_allclose(flat(y), numpy_of(x), rtol=0, atol=1e-12)
    one, two = whole.sums(one)["regret"], cut_up.sums(two)["regret"]
    np.testing.assert_allclose(numpy_of(two), numpy_of(one), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["smooth", "nonsmooth"])
def test_float32_in_gives_float32_in_every_floating_leaf(xp, kind):
    oracle = Hedge(experts(xp, "float32"), gamma=[0.5, 0.25])
    if kind == "smooth":
        conversion = SmoothConversion(oracle, SMOOTH)
    else:
        conversion = NonsmoothConversion(oracle, NONSMOOTH)
    x = xp.array(X1, "float32")
    state = conversion.init(x)
    for t in range(3):
        dx, state = conversion.update(xp.array(NOISE[t], "float32"), state, x, r=xp.array(R[t], "float32"))
        x = x + dx
    leaves = [x, *jax.tree.leaves(tuple(state), is_leaf=lambda v: not isinstance(v, tuple))]
    assert len(leaves) > 5
    for leaf in leaves:
        assert str(leaf.dtype).split(".")[-1] in ("float32", "int32"), leaf


def test_exact_oracle():
    """sigma = 0: a = 1, the tracker is the last gradient."""
    constants = Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=100)
    assert constants.a == 1
    conversion = SmoothConversion(Constant(), constants)
    x = np.asarray([2.0])
    state = conversion.init(x)
    for _ in range(100):
        s = np.sin(x)
        dx, state = conversion.update(s, state, x)
        assert state.m == s
        x = x + dx
    assert math.isclose(conversion.constants.eta, 1 / 64)
