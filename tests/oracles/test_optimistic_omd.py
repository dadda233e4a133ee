"""Mirror descent with hints: equal to a plain loop, regret below the bounds, which are nearly reached."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import loops
import reference_toolbox
import stated_bounds as stated
from crowds import COMMON, HINTS, HULLS, POSITIVE, assert_below, assert_stated, crowd, hints, rates, rounds, seeds
from games import ARENAS, LinearLoss
from o2nc.oracles import (
    OMD,
    AdaHedge,
    BinaryEntropic,
    Entropic,
    Euclidean,
    FixedShare,
    Hedge,
    OptimisticHedge,
    OptimisticOMD,
)
from o2nc.sets import Box, Varying
from reached import EUCLIDEAN, EXPERTS, HULL2, against, assert_reached, drive, hold, share_of_regret_bound


@pytest.mark.parametrize(("name", "hint"), [*zip(loops.STEPS, ["last", "mean", "table", "last"], strict=True)])
def test_optimistic_omd(xp, name, hint):
    make, mirror, step, start, gradients = loops.STEPS[name]
    guess, make_hint = loops.HINTS[hint]
    oracle = OptimisticOMD(make(xp), eta=0.2, mirror=mirror, hint=make_hint(xp))
    found = loops.played(xp, oracle, lambda state: state.u)
    loops.assert_literal(found, lambda g: reference_toolbox.optimistic_omd(g, start, 0.2, step, guess), gradients)


def test_optimistic_omd_on_a_set_that_changes():
    """The step along the gradient ends in the set of its round, as the proof needs, that along the hint in the next."""
    box = lambda t: (0.5 - 0.5 / t, 1.0 if t % 2 else 0.75)
    oracle = OptimisticOMD(Varying(lambda t: Box(*box(t.item()))), eta=0.3)
    state = oracle.init(np.zeros((loops.RUNS, loops.D)))
    p = np.ones((loops.RUNS, loops.D))
    for t, (s, m, g) in enumerate(zip(loops.S, loops.M, loops.PRODUCTS, strict=True), start=1):
        state = oracle.learn(state, LinearLoss(s, m, loops.SCALE))
        p = np.clip(p - 0.3 * g, *box(t))
        np.testing.assert_allclose(state.p, p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.u, np.clip(p - 0.3 * g, *box(t + 1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("prior", loops.PRIORS)
def test_without_hints_and_without_shares_they_are_what_they_extend(prior):
    none = lambda seen, h, t: 0 * seen
    weights = lambda oracle: loops.played(loops.NumPy, oracle, oracle.weights)
    pairs = [
        (
            OptimisticHedge(loops.numpy_hull(), prior=loops.PRIORS[prior], hint=none),
            AdaHedge(loops.numpy_hull(), prior=loops.PRIORS[prior]),
        ),
        (
            FixedShare(loops.numpy_hull(), 0.7, 0.0, loops.PRIORS[prior]),
            Hedge(loops.numpy_hull(), gamma=0.7, prior=loops.PRIORS[prior]),
        ),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(weights(found), weights(expected), rtol=0, atol=1e-13)
    for mirror in (Euclidean(), Entropic()):
        found, expected = OptimisticOMD(Box(), 0.2, mirror, none), OMD(Box(), 0.2, mirror)
        points = [loops.played(loops.NumPy, oracle, lambda state: state.u) for oracle in (found, expected)]
        np.testing.assert_allclose(*points, rtol=0, atol=1e-13)


def check_optimistic_omd(name, hint, seed, T, eta, bound, **options):
    oracle = OptimisticOMD(ARENAS[name].set, eta=eta, hint=HINTS[hint], **options)
    arena, record, comparators = crowd(oracle, name, seed, T)
    deviations = stated.deviations(record, HINTS[hint])
    for u in comparators:
        assert_below(record, u, bound(deviations, u, eta))
    if hint == "last":
        assert_stated(oracle, arena, record)
    else:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, eta=rates, hint=hints)
def test_the_regret(name, seed, T, eta, hint):
    check_optimistic_omd(name, hint, seed, T, eta, stated.euclidean)


@pytest.mark.parametrize("name", HULLS)
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, eta=rates, hint=hints)
def test_entropic_optimistic_omd_on_a_hull(name, seed, T, eta, hint):
    check_optimistic_omd(name, hint, seed, T, eta, stated.entropic_hull, mirror=Entropic())


@pytest.mark.parametrize("name", POSITIVE)
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, eta=rates, hint=hints)
def test_entropic_optimistic_omd_on_a_box(name, seed, T, eta, hint):
    high = {"inner-box": 0.75, "moving-box": 0.875}.get(name, 1.0)
    bound = lambda record, u, eta: stated.entropic_box(record, u, eta, high)
    check_optimistic_omd(name, hint, seed, T, eta, bound, mirror=Entropic())


@pytest.mark.parametrize("name", [*POSITIVE, "positive-contractions"])
@settings(max_examples=6, **COMMON)
@given(seed=seeds, T=rounds, eta=rates, hint=hints)
def test_the_binary_entropy_with_hints(name, seed, T, eta, hint):
    bound = lambda record, u, eta: stated.binary_entropic(record, u, eta, None if name in POSITIVE else 2)
    check_optimistic_omd(name, hint, seed, T, eta, bound, mirror=BinaryEntropic())


def opposite(seen, h, t):
    """Right in sign when gradients alternate, and so small that it gains little."""
    return -0.1 * seen


@pytest.mark.parametrize("name", EUCLIDEAN)
def test_optimistic_omd_reaches_its_bound(name):
    arena, shake, ways, length = EUCLIDEAN[name]
    eta = 1 / 64
    steps = round(length / eta)
    oracle = OptimisticOMD(arena.set, eta=eta, hint=opposite)
    record, best = against(oracle, arena, [hold(shake, steps), *(drive(way, steps) for way in ways)])
    deviations = stated.deviations(record, opposite)
    assert_reached(record, best, stated.euclidean(deviations, best, eta), ratio=0.99)


@pytest.mark.parametrize("name", ["two", "four"])
def test_entropic_optimistic_omd_reaches_its_bound(name):
    arena, prior, shake, way = EXPERTS[name]
    eta, l = 0.08, math.log(1 / prior[0])
    oracle = OptimisticOMD(arena.set, eta=eta, mirror=Entropic(), hint=opposite)
    record, best = against(oracle, arena, [hold(shake, round(l / eta**2)), drive(way, round((l + 1.5) / eta))])
    deviations = stated.deviations(record, opposite)
    assert_reached(record, best, stated.entropic_hull(deviations, best, eta), ratio=0.93)


def test_the_a_priori_bound_of_optimistic_omd():
    """With the last gradient for a hint an adversary that alternates is paid 3/4 of the bound: |h|^2 is a gain."""
    eta = 1 / 64
    oracle = OptimisticOMD(HULL2.set, eta=eta)
    record, _ = against(oracle, HULL2, [hold([1.0, -1.0], 2000), drive([-1.0, 1.0], 40)])
    assert 0.74 < share_of_regret_bound(oracle, HULL2, record) <= 1
