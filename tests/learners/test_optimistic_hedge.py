"""Hedge with hints: equal to a plain loop, regret below the bound, and instances that nearly reach it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import loops
import reference_toolbox
import stated_bounds as stated
from crowds import COMMON, HINTS, HULLS, PRIOR, UNIFORM, assert_below, assert_stated, crowd, hints, rounds, seeds
from games import ARENAS
from o2nc import learners
from o2nc.operators import Identity
from o2nc.oracles import OptimisticHedge
from reached import EXPERTS, against, assert_reached, drive, hold, share_of_regret_bound


def optimistic_hedge_bound(deviations, prior):
    """The two bounds, from a record of deviations."""
    l, r = math.log(1 / min(prior)), stated.ranges(deviations)
    return [np.sqrt((l + 4) * r.sum(axis=0))], [np.sqrt(l * r.sum(axis=0)), 2 * np.sqrt(r.max(axis=0))]


@pytest.mark.parametrize(("prior", "hint"), [("uniform", "last"), ("skewed", "mean"), ("uniform", "table")])
def test_optimistic_hedge(xp, prior, hint):
    guess, make = loops.HINTS[hint]
    oracle = OptimisticHedge(loops.hull(xp), prior=loops.PRIORS[prior], hint=make(xp))
    found = loops.played(xp, oracle, oracle.weights)
    loops.assert_literal(
        found,
        lambda losses: reference_toolbox.optimistic_hedge(losses, loops.PRIORS[prior] or loops.UNIFORM, guess),
        loops.LOSSES,
    )


def test_perfect_hints_cost_nothing():
    """Every forecast is right: no gap, so the rate stays infinite, and the mixture is never behind the best expert."""
    losses = loops.RNG.normal(size=(40, 3))
    learner = learners.OptimisticHedge(hint=loops.from_table(np.concatenate([losses, losses[:1]])))
    state, lost = learner.init(np.zeros(3)), 0.0
    for loss in losses:
        lost += learner.weights(state) @ loss
        state = learner.learn(state, loss)
    assert state.Delta == 0
    assert lost <= losses.sum(axis=0).min() + 1e-12


def test_one_wrong_forecast_costs_at_most_twice_its_size():
    losses = loops.RNG.normal(size=(40, 3))
    losses[0] = [0.0, 0.05, 0.1]
    forecasts = np.concatenate([losses, losses[:1]])
    forecasts[0] = [0.2, -0.05, 0.1]  # the second expert is played, and the first is better by 0.05
    learner = learners.OptimisticHedge(hint=loops.from_table(forecasts))
    state, lost = learner.init(np.zeros(3)), 0.0
    for loss in losses:
        lost += learner.weights(state) @ loss
        state = learner.learn(state, loss)
    assert state.Delta == pytest.approx(0.05, abs=1e-5)
    assert lost - losses.sum(axis=0).min() <= 2 * state.Delta


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, hint=hints)
def test_the_regret(name, prior, seed, T, hint):
    oracle = OptimisticHedge(ARENAS[name].set, prior=prior, hint=HINTS[hint])
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    bounds = optimistic_hedge_bound(stated.deviations(record, HINTS[hint]), prior or UNIFORM)
    for terms in bounds:
        assert np.all(2 * record.state.learner.Delta[:, 0] <= sum(terms) * (1 + 1e-9))
        for u in (best, identity):
            assert_below(record, u, [2 * record.state.learner.Delta[:, 0]])
            assert_below(record, u, terms)
    if hint == "last":
        assert_stated(oracle, arena, record)
    else:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


def opposite(seen, h, t):
    """Right in sign when gradients alternate, and so small that it gains little."""
    return -0.1 * seen


@pytest.mark.parametrize("name", ["two", "four"])
def test_optimistic_hedge_reaches_its_bound(name):
    """Twice the gap nearly, and what it is bounded by; the term of the largest deviation is there for short games."""
    arena, prior, shake, way = EXPERTS[name]
    pairs, l = 1200, math.log(1 / prior[0])
    oracle = OptimisticHedge(arena.set, hint=opposite)
    record, best = against(oracle, arena, [hold(shake, pairs), drive(way, round((l + 1) * math.sqrt(2 * pairs / l)))])
    _, terms = optimistic_hedge_bound(stated.deviations(record, opposite), prior)
    assert_reached(record, best, [2 * record.state.learner.Delta[:, 0]], ratio=0.95)
    assert_reached(record, best, [sum(terms)], ratio=0.88)


def test_the_a_priori_bound_of_optimistic_hedge():
    """It knows no largest deviation, and what replaces it is loose for two experts: 0.33 is the largest share found."""
    arena, _, shake, way = EXPERTS["two"]
    oracle = OptimisticHedge(arena.set)
    record, _ = against(oracle, arena, [hold(shake, 400), drive(0.3 * np.asarray(way), 500)])
    assert 0.3 < share_of_regret_bound(oracle, arena, record) <= 1
    assert OptimisticHedge([Identity()]).regret_bound(np.zeros((1, 4)), 50.0) == 0
