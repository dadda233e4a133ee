"""Regret of every oracle on every set that it supports, against the bound that its docstring states.

`stated_bounds.py` has the bounds, `test_regret_reached.py` the instances on which they are nearly reached.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import stated_bounds as stated
from games import ARENAS, FIXED
from o2nc.losses import DescentLoss
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.oracles import FTRL, OGD, OMD, AdaGrad, AdaHedge, Compared, Constant, Entropic, FullAdaGrad, Hedge, Squint
from o2nc.sets import Box, Hull

RUNS = 128  # sequences of losses in one example
COMMON = {"deadline": None, "derandomize": True, "database": None}
UNIFORM, PRIOR = (0.25,) * 4, (0.05, 0.15, 0.3, 0.5)
HULLS = ["hull", "varying-hull"]
MATRICES = ["spectral-ball", "positive-contractions", "varying-spectral"]
BOXES = [name for name in ARENAS if name.endswith("box")]
POSITIVE = [name for name in BOXES if name != "signed-box"]

seeds, rounds = st.integers(0, 2**32 - 1), st.integers(1, 60)
rates = st.floats(-2.5, 1.0).map(lambda p: 10**p)


def crowd(oracle, name, seed, T, runs=RUNS):
    """Many adversaries against the oracle, and comparators: the best in hindsight, the identity, a random point."""
    arena = ARENAS[name]
    k = arena.best(np.zeros((1, arena.d ** (2 if name in MATRICES else 1)))).shape[-1]
    record = games.play(oracle, arena, games.adversary(seed, runs, k), T, runs, seed)
    rng = np.random.default_rng(seed)
    best = arena.best(record.g.sum(axis=0))
    weight = rng.random((runs, 1))
    somewhere = weight * arena.best(rng.normal(size=best.shape)) + (1 - weight) * best
    comparators = [best, somewhere]
    if arena.identity is not None:
        comparators.append(np.broadcast_to(arena.identity, best.shape))
    return arena, record, comparators


def assert_below(record, u, terms):
    bound, size = sum(terms), np.sum(np.abs(record.g), axis=(0, 2))
    assert np.all(np.isfinite(bound))
    assert np.all(record.regret(u) <= bound + 1e-11 * (1 + size)), np.max(record.regret(u) - bound)


def assert_stated(oracle, arena, record):
    """regret_bound(x, energy) is a bound too, on the regret against the identity, when the identity is there."""
    x = np.zeros((1, arena.d))
    for run in range(0, record.energy.shape[1], 16):
        bound = oracle.regret_bound(x, float(record.energy[:, run].sum()))
        if arena.identity is None:
            assert bound == math.inf
        else:
            assert bound < math.inf
            assert record.regret(arena.identity)[run] <= bound + 1e-9


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates)
def test_hedge_with_a_constant_rate(name, prior, seed, T, gamma):
    oracle = Hedge(ARENAS[name].set, gamma=gamma, prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, stated.hedge(record, u, prior or UNIFORM, gamma))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, fall=st.sampled_from(["root", "linear", "steps", "short"]))
def test_hedge_with_nonincreasing_rates(name, prior, seed, T, gamma, fall):
    t = np.arange(1, T + 1)
    given = gamma * {"root": t**-0.5, "linear": 1 / t, "steps": 0.5 ** (t // 10), "short": t[:3] ** -0.5}[fall]
    oracle = Hedge(ARENAS[name].set, gamma=given.tolist(), prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    rates = np.concatenate([given, np.full(T - len(given), given[-1])])
    for u in (best, identity):
        assert_below(record, u, stated.hedge(record, u, prior or UNIFORM, rates))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma0=rates)
def test_hedge_with_the_self_tuned_rate(name, prior, seed, T, gamma0):
    oracle = Hedge(ARENAS[name].set, prior=prior, gamma0=gamma0)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, stated.self_tuned(record, u, prior or UNIFORM, gamma0))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds)
def test_adahedge(name, prior, seed, T):
    oracle = AdaHedge(ARENAS[name].set, prior=prior)
    _, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, [2 * record.state.Delta[:, 0]])
        assert_below(record, u, stated.adahedge(record, prior or UNIFORM))


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, scale=rates, n=st.integers(1, 8))
def test_squint(name, prior, seed, T, scale, n):
    arena, wishes = ARENAS[name], games.adversary(seed, RUNS, 4)
    bounded = lambda *position: scale * np.clip(wishes(*position), -0.5, 0.5)  # no range above the scale
    record = games.play(Squint(arena.set, scale=scale, rates=n, prior=prior), arena, bounded, T, RUNS, seed)
    for u in (arena.best(record.g.sum(axis=0)), np.broadcast_to(arena.identity, (RUNS, 4))):
        assert_below(record, u, stated.squint(record, u, prior or UNIFORM, scale, n))


@pytest.mark.parametrize("name", ARENAS)
@pytest.mark.parametrize("learner", [OGD, OMD, FTRL])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_euclidean_learners_with_a_constant_step(name, learner, seed, T, eta):
    oracle = learner(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    if learner is FTRL and name not in FIXED:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf  # no bound is stated for sets that change
        return
    for u in comparators:
        assert_below(record, u, stated.euclidean(record, u, eta))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds)
def test_ogd_with_its_own_step(name, seed, T):
    oracle = OGD(ARENAS[name].set)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, stated.own_step(record, u, arena.diameter))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("learner", [OMD, FTRL])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_entropic_learners_on_a_hull(name, learner, seed, T, eta):
    oracle = learner(ARENAS[name].set, eta=eta, mirror=Entropic())
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, stated.entropic_hull(record, u, eta))
    if learner is OMD or name in FIXED:
        assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("learner", [OMD, FTRL])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_entropic_learners_on_a_box(name, learner, seed, T, eta):
    oracle = learner(ARENAS[name].set, eta=eta, mirror=Entropic())
    arena, record, comparators = crowd(oracle, name, seed, T)
    if learner is FTRL and name not in FIXED:
        return
    small = np.min(eta * record.g, axis=(0, 2)) >= -1
    high = 0.875 if name == "moving-box" else arena.best(np.full((1, arena.d), -1.0)).max()
    for u in comparators:
        assert_below(record, u, stated.entropic_box(record, u, eta, high))
        bound = sum(stated.entropic_box_small_steps(record, u, eta))
        assert_below(record, u, [np.where(small, bound, np.finfo(float).max)])
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", [*HULLS, *BOXES])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=st.none() | rates)
def test_adagrad(name, seed, T, eta):
    oracle = AdaGrad(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    floor = 1 + 1e-4 * 4 if name in HULLS else 1.0
    D = arena.sup_diameter
    for u in comparators:
        assert_below(record, u, stated.adagrad(record, u, D, eta or D / math.sqrt(2), floor))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=3, **COMMON)
@given(seed=seeds, T=st.integers(1, 10), eta=st.none() | rates)
def test_full_adagrad(name, seed, T, eta):
    oracle = FullAdaGrad(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    D = arena.diameter
    for u in comparators:
        assert_below(record, u, stated.full_adagrad(record, u, D, eta or D / math.sqrt(2)))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", FIXED)
def test_the_best_fixed_point_is_the_minimiser_of_the_set(name):
    """`minimize` of the summed gradient, in the coordinates of the set, is what regret is measured against."""
    arena = ARENAS[name]
    _, record, (best, *_) = crowd(OGD(arena.set), name, 1, 20)
    G = record.g.sum(axis=0)
    shaped = G.reshape(RUNS, arena.d, arena.d) if name in MATRICES else G
    found = arena.set.minimize(shaped).reshape(best.shape)
    np.testing.assert_allclose(
        np.sum(G * found, axis=-1), np.sum(G * best, axis=-1), rtol=0, atol=1e-12 * np.abs(G).max()
    )


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_constant_oracle_has_no_regret_against_itself(seed, T):
    x = np.zeros((1, 3))
    for U, bound in ((Identity(), 0.0), (Diagonal(np.asarray([0.5, 0.5, 0.5])), math.inf)):
        oracle = Compared(Constant(U), [U, Identity()])
        rng, state = np.random.default_rng(seed), oracle.init(np.zeros((RUNS, 3)))
        for _ in range(T):
            s, m = rng.normal(size=(2, RUNS, 3))
            state = oracle.learn(state, games.LinearLoss(s, m, 1.0))
        assert np.all(state.regrets[:, 0] == 0)
        assert oracle.regret_bound(x, 1.0) == Constant(U).regret_bound(x, 1.0) == bound
        assert np.all(state.regrets[:, 1] <= oracle.regret_bound(x, 1.0))


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates)
def test_compared_measures_the_regret_and_keeps_the_bound(seed, T, gamma):
    arena = ARENAS["hull"]
    experts = arena.set.operators
    inside = Hedge(experts, gamma=gamma)
    oracle = Compared(inside, [*experts, lambda t: Dense(np.eye(4)[::-1] / t)])
    record = games.play(oracle, arena, games.adversary(seed, RUNS, 4), T, RUNS, seed)
    for j, e in enumerate(np.eye(4)):
        np.testing.assert_allclose(record.state.regrets[:, j], record.regret(e), rtol=0, atol=1e-9)
    moving = record.loss - record.g[:, :, 3] / np.arange(1, T + 1)[:, None]  # the reversal sends e_1 to e_4
    np.testing.assert_allclose(record.state.regrets[:, 4], moving.sum(axis=0), rtol=0, atol=1e-9)
    assert oracle.regret_bound(np.zeros((1, 4)), 7.0) == inside.regret_bound(np.zeros((1, 4)), 7.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("learner", [OMD, FTRL])
@pytest.mark.parametrize("operators", [Box(), Hull([Identity(), Dense(-np.eye(1))])], ids=["box", "hull"])
def test_a_weight_that_underflowed_comes_back(operators, learner, dtype):
    """Losses of 1 drive the weight of the identity below the smallest number, losses of -1 bring it back."""
    oracle, m = learner(operators, eta=1.0, mirror=Entropic()), np.ones(1, dtype)
    state, regret, rounds = oracle.init(m), 0.0, 120 if dtype == "float32" else 800
    for t in range(3 * rounds):
        loss = games.LinearLoss(-m if t < rounds else m, m, 1.0)
        regret += float((loss(oracle.play(state, m) @ m) - loss(m))[0])
        state = oracle.learn(state, loss)
    assert operators.operator(state.u) @ m == 1
    assert regret < 5


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_convex_losses_have_the_bound_of_their_gradients(seed, T, eta):
    """The descent loss is no linear function: its regret is at most that of its gradients at the points played."""
    rng, m = np.random.default_rng(seed), np.ones((RUNS, 3))
    oracle, D = OGD(Box(-1.0, 1.0)), 2 * math.sqrt(3)
    state, regret, E = oracle.init(m), np.zeros((RUNS, 1)), np.zeros((RUNS, 1))
    u = rng.uniform(-1, 1, size=(RUNS, 3))
    for _ in range(T):
        s = rng.normal(size=(RUNS, 3)) + rng.normal(size=(RUNS, 1))
        loss = DescentLoss(s, m, 1.0, eta)
        g = -s + 2 * eta * state.u  # of eta |u|^2 - <s, u>, since m = 1
        regret, E = regret + loss(state.u) - loss(u), E + np.sum(g**2, axis=-1, keepdims=True)
        state = oracle.learn(state, loss)
    assert np.all(regret <= D * np.sqrt(2 * E) + 1e-9)
