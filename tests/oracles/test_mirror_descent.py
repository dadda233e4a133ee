"""Learners with a rate and a mirror map (OGD is one): regret below the bounds, which are nearly reached."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import games
import stated_bounds as stated
from crowds import COMMON, HULLS, POSITIVE, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS, FIXED
from o2nc.operators import Dense, Identity
from o2nc.oracles import FTRL, OGD, OMD, Entropic
from o2nc.sets import Box, Hull
from reached import EUCLIDEAN, EXPERTS, against, assert_reached, drive, hold, share_of_regret_bound


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


@pytest.mark.parametrize("name", EUCLIDEAN)
@pytest.mark.parametrize("learner", [OGD, OMD, FTRL])
def test_a_constant_euclidean_step_reaches_its_bound_exactly(name, learner):
    arena, shake, ways, length = EUCLIDEAN[name]
    eta = 1 / 64
    steps = round(length / eta)
    record, best = against(
        learner(arena.set, eta=eta), arena, [hold(shake, steps), *(drive(way, steps) for way in ways)]
    )
    assert_reached(record, best, stated.euclidean(record, best, eta), ratio=1 - 1e-9)


@pytest.mark.parametrize("learner", [OMD, FTRL])
@pytest.mark.parametrize("name", ["two", "four"])
def test_entropic_learners_on_a_hull_reach_their_bound(name, learner):
    arena, prior, shake, way = EXPERTS[name]
    eta, l = 0.08, math.log(1 / prior[0])
    oracle = learner(arena.set, eta=eta, mirror=Entropic())
    record, best = against(oracle, arena, [hold(shake, round(l / eta**2)), drive(way, round((l + 1.5) / eta))])
    assert_reached(record, best, stated.entropic_hull(record, best, eta), ratio=0.95)
    if name == "two":
        assert 0.95 < share_of_regret_bound(oracle, arena, record) <= 1


@pytest.mark.parametrize("learner", [OMD, FTRL])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.25, 0.75)])
def test_entropic_learners_on_a_box_reach_their_bounds(bounds, learner):
    arena, eta, ones = games.box(*bounds), 0.04, np.ones(3)
    crossing = math.log(bounds[1] / bounds[0]) if bounds[0] else 5.0
    oracle = learner(arena.set, eta=eta, mirror=Entropic())
    there = drive(ones, round(crossing / eta))
    record, best = against(oracle, arena, [hold(ones, round(1 / eta**2)), there])
    assert_reached(record, best, stated.entropic_box(record, best, eta, bounds[1]), ratio=0.93)
    # down by a factor e in small steps, up again in one with eta g = -1: there e^-x - 1 + x is (e - 2) x^2
    cycle = np.concatenate([drive(ones / eta / 50, 50), drive(-ones / eta, 1)])
    record, best = against(oracle, arena, [np.tile(cycle, (6, 1)), there])
    assert_reached(record, best, stated.entropic_box_small_steps(record, best, eta), ratio=0.9)


@pytest.mark.parametrize("learner", [OGD, OMD, FTRL])
@pytest.mark.parametrize("arena", [games.box(d=1), games.spectral(-1.0, d=1)], ids=["box", "spectral-ball"])
def test_the_bound_against_the_identity_is_reached_exactly(arena, learner):
    """The start is the identity, so that the term of the distance is 0; one dimension, so that |g| = |s| |m|."""
    oracle = learner(arena.set, eta=0.1)
    record, _ = against(oracle, arena, [hold([1.0], 20)])
    assert share_of_regret_bound(oracle, arena, record) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("learner", [OMD, FTRL])
def test_the_entropic_bound_against_the_identity_is_reached_on_a_box(learner):
    arena = games.box(d=1)
    oracle = learner(arena.set, eta=0.01, mirror=Entropic())
    record, _ = against(oracle, arena, [hold([1.0], 20)])
    assert 0.99 < share_of_regret_bound(oracle, arena, record) <= 1
