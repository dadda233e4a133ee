"""Regret of the learners with hints, with shares and without a scale: below their bounds, and nearly at them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import stated_bounds as stated
from games import ARENAS, FIXED
from o2nc.operators import Identity
from o2nc.oracles import Entropic, FixedShare, OptimisticHedge, OptimisticOMD, SoloFTRL
from o2nc.oracles.hints import last
from o2nc.sets import Hull
from test_regret_bounds import (
    COMMON,
    HULLS,
    POSITIVE,
    PRIOR,
    RUNS,
    UNIFORM,
    assert_below,
    assert_stated,
    crowd,
    rates,
    rounds,
    seeds,
)
from test_regret_reached import EUCLIDEAN, EXPERTS, HULL2, against, assert_reached, drive, hold, share_of_regret_bound

HINTS = {
    "last": last,
    "mean": lambda seen, h, t: 0.8 * h + 0.2 * seen,
    "wrong": lambda seen, h, t: -3.0 * seen,
    "trend": lambda seen, h, t: 2.0 * seen - 0.5 * h,
}
hints = st.sampled_from(sorted(HINTS))


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, hint=hints)
def test_optimistic_hedge(name, prior, seed, T, hint):
    oracle = OptimisticHedge(ARENAS[name].set, prior=prior, hint=HINTS[hint])
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    bounds = stated.optimistic_hedge(stated.deviations(record, HINTS[hint]), prior or UNIFORM)
    for terms in bounds:
        assert np.all(2 * record.state.Delta[:, 0] <= sum(terms) * (1 + 1e-9))
        for u in (best, identity):
            assert_below(record, u, [2 * record.state.Delta[:, 0]])
            assert_below(record, u, terms)
    if hint == "last":
        assert_stated(oracle, arena, record)
    else:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


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
def test_optimistic_omd(name, seed, T, eta, hint):
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


shares = st.floats(0.0, 0.5)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, alpha=shares)
def test_fixed_share(name, prior, seed, T, gamma, alpha):
    oracle = FixedShare(ARENAS[name].set, gamma=gamma, alpha=alpha, prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, stated.fixed_share(record, u, prior or UNIFORM, gamma, alpha))
    assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, alpha=st.floats(0.01, 0.5))
def test_the_shifting_regret_of_fixed_share(prior, seed, T, gamma, alpha):
    """Against the sequence of experts for which loss plus bound is least, by dynamic programming: so against all."""
    oracle, pi = FixedShare(ARENAS["hull"].set, gamma=gamma, alpha=alpha, prior=prior), np.asarray(prior or UNIFORM)
    _, record, _ = crowd(oracle, "hull", seed, T)
    cost = np.log(1 / pi) / gamma + record.g[0]  # (runs, K), of the best sequence that ends with k
    for g in record.g[1:]:
        stay = cost - np.log(1 - alpha + alpha * pi) / gamma
        change = cost.min(axis=-1, keepdims=True) + np.log(1 / (alpha * pi)) / gamma
        cost = np.minimum(stay, change) + g
    size = np.sum(np.abs(record.g), axis=(0, 2))
    total = cost.min(axis=-1) + gamma / 8 * stated.ranges(record).sum(axis=0)
    assert np.all(record.loss.sum(axis=0) <= total + 1e-11 * (1 + size))


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=st.none() | rates)
def test_solo_ftrl(name, seed, T, eta):
    oracle, arena = SoloFTRL(ARENAS[name].set, eta=eta), ARENAS[name]
    if name not in FIXED:
        assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf  # no bound is stated for sets that change
        return
    arena, record, comparators = crowd(oracle, name, seed, T)
    D = arena.diameter
    for u in comparators:
        assert_below(record, u, stated.solo(record, u, D, eta or math.sqrt(3) / 2 * D))
        assert_below(record, u, stated.solo_published(record, u, D, eta or math.sqrt(3) / 2 * D))
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
        assert_below(record, u, stated.solo(record, u, 2.0, eta or math.sqrt(3)))


# Nearly reached.


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


@pytest.mark.parametrize("name", ["two", "four"])
def test_optimistic_hedge_reaches_its_bound(name):
    """Twice the gap nearly, and what it is bounded by; the term of the largest deviation is there for short games."""
    arena, prior, shake, way = EXPERTS[name]
    pairs, l = 1200, math.log(1 / prior[0])
    oracle = OptimisticHedge(arena.set, hint=opposite)
    record, best = against(oracle, arena, [hold(shake, pairs), drive(way, round((l + 1) * math.sqrt(2 * pairs / l)))])
    _, terms = stated.optimistic_hedge(stated.deviations(record, opposite), prior)
    assert_reached(record, best, [2 * record.state.Delta[:, 0]], ratio=0.95)
    assert_reached(record, best, [sum(terms)], ratio=0.88)


def test_the_a_priori_bound_of_optimistic_hedge():
    """It knows no largest deviation, and what replaces it is loose for two experts: 0.33 is the largest share found."""
    arena, _, shake, way = EXPERTS["two"]
    oracle = OptimisticHedge(arena.set)
    record, _ = against(oracle, arena, [hold(shake, 400), drive(0.3 * np.asarray(way), 500)])
    assert 0.3 < share_of_regret_bound(oracle, arena, record) <= 1
    assert OptimisticHedge([Identity()]).regret_bound(np.zeros((1, 4)), 50.0) == 0


@pytest.mark.parametrize(("prior", "lead"), [((0.5, 0.5), 0), ((0.2, 0.8), 28)])
def test_fixed_share_reaches_its_bound(prior, lead):
    """A few large losses hold the weights at 1/2, many small ones drive them to an expert and pay for the shares."""
    gamma, alpha = 0.5, 1e-3
    oracle = FixedShare(HULL2.set, gamma=gamma, alpha=alpha, prior=prior)
    to_the_middle = drive([-0.05, 0.05], lead)
    record, best = against(oracle, HULL2, [to_the_middle, hold([0.5, -0.5], 30), drive([-0.01, 0.01], 2000)])
    assert_reached(record, best, stated.fixed_share(record, best, prior, gamma, alpha), ratio=0.92)


@pytest.mark.parametrize("name", EUCLIDEAN)
@pytest.mark.parametrize("given", [None, 1.0])
def test_solo_ftrl_reaches_its_bound(name, given):
    arena, shake, ways, length = EUCLIDEAN[name]
    D, pairs, size = arena.diameter, 400, 0.1
    eta = given or math.sqrt(3) / 2 * D
    steps = round(1.05 * length / (size * eta) * math.sqrt(2 * pairs * np.sum(np.square(shake))))
    drives = [drive(size * np.asarray(way), steps) for way in ways]
    record, best = against(SoloFTRL(arena.set, eta=given), arena, [hold(shake, pairs), *drives])
    assert_reached(record, best, stated.solo(record, best, D, eta), ratio=0.93)
    if given is None and "hull" not in name:  # a hull starts in its middle, where |u - u_1| is less than D
        assert_reached(record, best, [math.sqrt(3) * D * np.sqrt(stated.squares(record))], ratio=0.82)  # of 5/6


def test_solo_ftrl_has_no_regret_where_there_is_no_choice():
    assert SoloFTRL(Hull((Identity(),))).regret_bound(np.zeros((1, 4)), 50.0) == 0
