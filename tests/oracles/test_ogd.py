"""Online gradient descent with its own step: regret below the bound, which is nearly reached."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import stated_bounds as stated
from crowds import COMMON, MATRICES, RUNS, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS, FIXED
from o2nc.losses import DescentLoss
from o2nc.oracles import OGD
from o2nc.sets import Box
from reached import ONE_DIMENSION, TUNING, assert_reached, hold_then_cross, share_of_regret_bound


def own_step_bound(record, u, D):
    return [D * np.sqrt(2 * stated.squares(record))]


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds)
def test_ogd_with_its_own_step(name, seed, T):
    oracle = OGD(ARENAS[name].set)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, own_step_bound(record, u, arena.diameter))
    assert_stated(oracle, arena, record)


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


@pytest.mark.parametrize("name", TUNING)
def test_the_own_step_of_ogd_reaches_its_bound(name):
    arena = TUNING[name][0]
    oracle = OGD(arena.set)
    record, identity = hold_then_cross(oracle, *TUNING[name], held=400, size=0.3)
    assert_reached(record, identity, own_step_bound(record, identity, arena.diameter), ratio=0.9)
    if name in ONE_DIMENSION:
        assert 0.9 < share_of_regret_bound(oracle, arena, record) <= 1
