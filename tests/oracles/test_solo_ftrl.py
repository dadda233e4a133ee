"""Scale-free FTRL: equal to a plain loop, blind to the scale, regret below the bound, which is nearly reached."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import loops
import reference_toolbox
import stated_bounds as stated
from crowds import COMMON, RUNS, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS, FIXED, LinearLoss
from o2nc.operators import Identity
from o2nc.oracles import SoloFTRL
from o2nc.sets import Box, Hull, PositiveContractions
from reached import EUCLIDEAN, against, assert_reached, drive, hold


def solo_bound(record, u, D, eta):
    root, peak = np.sqrt(stated.squares(record)), np.sqrt(np.max(np.sum(record.g**2, axis=-1), axis=0))
    rest = np.minimum(D**2 / (4 * eta) * root, (eta / 2 + D**2 / (math.sqrt(8) * eta)) * peak)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta) * root, eta * root + rest]


def solo_published_bound(record, u, D, eta):
    """Theorem 1 of Orabona and Pál (2018) for a set of diameter D."""
    root, peak = np.sqrt(stated.squares(record)), np.sqrt(np.max(np.sum(record.g**2, axis=-1), axis=0))
    way = np.minimum(eta * math.sqrt(len(record.g) - 1), D)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta) * root, 2.75 * eta * root, 3.5 * way * peak]


@pytest.mark.parametrize(("name", "eta"), [("box", None), ("hull", 0.3)])
def test_solo_ftrl(xp, name, eta):
    make, _, _, start, gradients = loops.STEPS[name]
    project = reference_toolbox.clipped(0, 1) if name == "box" else reference_toolbox.onto_simplex
    factor = eta or math.sqrt(3) / 2 * math.sqrt(loops.D)  # the diameter of the box is sqrt(D)
    found = loops.played(xp, SoloFTRL(make(xp), eta=eta), lambda state: state.u)
    loops.assert_literal(found, lambda g: reference_toolbox.solo_ftrl(g, start, factor, project), gradients)


@pytest.mark.parametrize(
    "operators", [Box(-1.0, 1.0), PositiveContractions(), loops.numpy_hull()], ids=lambda operators: str(operators)[:8]
)
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**40])
def test_solo_does_not_see_the_scale(operators, scale):
    """Multiplied by a power of two, which rounds nothing, the losses give the same points to the last bit."""
    oracle, points = SoloFTRL(operators), []
    for c in (1.0, scale):
        state = oracle.init(np.zeros((loops.RUNS, loops.D)))
        for s, m in zip(loops.S, loops.M, strict=True):
            state = oracle.learn(state, LinearLoss(s, m, c))
        points.append(state.u)
    np.testing.assert_array_equal(*points)


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=st.none() | rates)
def test_the_regret(name, seed, T, eta):
    oracle, arena = SoloFTRL(ARENAS[name].set, eta=eta), ARENAS[name]
    if name not in FIXED:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf  # no bound is stated for sets that change
        return
    arena, record, comparators = crowd(oracle, name, seed, T)
    D = arena.diameter
    for u in comparators:
        assert_below(record, u, solo_bound(record, u, D, eta or math.sqrt(3) / 2 * D))
        assert_below(record, u, solo_published_bound(record, u, D, eta or math.sqrt(3) / 2 * D))
        if eta is None:
            assert_below(record, u, [math.sqrt(3) * D * np.sqrt(stated.squares(record))])
    assert_stated(oracle, arena, record)


@settings(max_examples=30, **COMMON)
@given(seed=seeds, growth=st.floats(1.05, 20.0), eta=st.none() | st.floats(0.1, 10.0))
def test_solo_ftrl_against_losses_that_grow(seed, growth, eta):
    """Each gradient is a multiple of all before it, away from where the learner is: what the minimum is there for."""
    arena = games.box(-1.0, 1.0, d=1)
    oracle, sign = SoloFTRL(arena.set, eta=eta), np.random.default_rng(seed).choice([-1.0, 1.0], size=(RUNS, 1))
    wishes = lambda t, u, G, best: sign * growth**t * np.where(u > 0, 1.0, -1.0)
    record = games.play(oracle, arena, wishes, 30, RUNS, None)
    for u in (np.ones((RUNS, 1)), -np.ones((RUNS, 1))):
        assert_below(record, u, solo_bound(record, u, 2.0, eta or math.sqrt(3)))


@pytest.mark.parametrize("name", EUCLIDEAN)
@pytest.mark.parametrize("given", [None, 1.0])
def test_solo_ftrl_reaches_its_bound(name, given):
    arena, shake, ways, length = EUCLIDEAN[name]
    D, pairs, size = arena.diameter, 400, 0.1
    eta = given or math.sqrt(3) / 2 * D
    steps = round(1.05 * length / (size * eta) * math.sqrt(2 * pairs * np.sum(np.square(shake))))
    drives = [drive(size * np.asarray(way), steps) for way in ways]
    record, best = against(SoloFTRL(arena.set, eta=given), arena, [hold(shake, pairs), *drives])
    assert_reached(record, best, solo_bound(record, best, D, eta), ratio=0.93)
    if given is None and "hull" not in name:  # a hull starts in its middle, where |u - u_1| is less than D
        assert_reached(record, best, [math.sqrt(3) * D * np.sqrt(stated.squares(record))], ratio=0.82)  # of 5/6


def test_solo_ftrl_has_no_regret_where_there_is_no_choice():
    assert SoloFTRL(Hull((Identity(),))).regret_bound(np.zeros((1, 4)), 50.0) == 0
