"""Regret of coin betting, Frank-Wolfe and the binary entropy: below the stated bounds, and how near they are."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import stated_bounds as stated
from games import ARENAS, FIXED
from o2nc.oracles import FTRL, OMD, BinaryEntropic, CoinBetting, FrankWolfe
from test_regret_bounds import COMMON, POSITIVE, assert_below, assert_stated, crowd, rates, rounds, seeds
from test_regret_reached import ONE, TWO, against, assert_reached, drive, hold, share_of_regret_bound
from test_regret_toolbox import check_optimistic_omd, hints


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, endowment=rates, scale=st.just(0.0) | rates)
def test_coin_betting(name, seed, T, endowment, scale):
    oracle = CoinBetting(ARENAS[name].set, endowment=endowment, scale=scale)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, stated.coin_betting(record, u, arena.diameter, endowment, scale))
        sizes = record.state.A[:, 0]
        assert_below(record, u, stated.coin_betting(record, u, arena.diameter, endowment, scale, sizes))
    longest = np.linalg.norm(record.g, axis=-1).max()
    np.testing.assert_allclose(record.state.C.max(), max(longest, scale), rtol=1e-12)
    assert_stated(oracle, arena, record)  # whether the promise is kept or not
    kept = CoinBetting(arena.set, endowment=endowment, scale=longest + 1e-9)
    assert_stated(kept, arena, crowd(kept, name, seed, min(T, 9))[1])


@pytest.mark.parametrize("name", FIXED)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_frank_wolfe(name, seed, T, eta):
    oracle = FrankWolfe(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, stated.frank_wolfe(record, u, arena.diameter, eta))
    assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


@pytest.mark.parametrize("name", [*POSITIVE, "positive-contractions"])
@pytest.mark.parametrize("learner", [OMD, FTRL])
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_the_binary_entropy(name, learner, seed, T, eta):
    oracle = learner(ARENAS[name].set, eta=eta, mirror=BinaryEntropic())
    arena, record, comparators = crowd(oracle, name, seed, T)
    if learner is FTRL and name not in FIXED:
        return
    for u in comparators:
        assert_below(record, u, stated.binary_entropic(record, u, eta, None if name in POSITIVE else arena.d))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", [*POSITIVE, "positive-contractions"])
@settings(max_examples=6, **COMMON)
@given(seed=seeds, T=rounds, eta=rates, hint=hints)
def test_the_binary_entropy_with_hints(name, seed, T, eta, hint):
    bound = lambda record, u, eta: stated.binary_entropic(record, u, eta, None if name in POSITIVE else 2)
    check_optimistic_omd(name, hint, seed, T, eta, bound, mirror=BinaryEntropic())


INTERVAL = games.box(-1.0, 1.0, d=1)
MATRIX = games.spectral(-1.0, d=1)


@pytest.mark.parametrize("arena", [INTERVAL, MATRIX], ids=["box", "spectral-ball"])
def test_coin_betting_loses_its_endowment_and_no_more(arena):
    """Against the identity, where it starts: each coin is followed by its opposite, so that every bet is lost."""
    oracle = CoinBetting(arena.set, endowment=0.5, scale=1.0)
    record, _ = against(oracle, arena, [hold([1.0], 40)])
    terms = [term.item() for term in stated.coin_betting(record, arena.identity, arena.diameter, 0.5, 1.0)]
    assert terms[1:] == [0, 0]
    assert 0.99 < record.regret(arena.identity)[0] / terms[0] <= 1


@pytest.mark.parametrize(("endowment", "away", "share"), [(0.01, 125, 0.88), (0.1, 110, 0.86), (1.0, 95, 0.83)])
def test_coin_betting_against_a_far_point(endowment, away, share):
    """Held at the start until most of the money is gone, then driven across: unit coins in one dimension."""
    oracle = CoinBetting(INTERVAL.set, endowment=endowment, scale=1.0)
    record, best = against(oracle, INTERVAL, [hold([1.0], 300), drive([1.0], away)])
    assert best.item() == -1
    regret, terms = record.regret(best)[0], stated.coin_betting(record, best, INTERVAL.diameter, endowment, 1.0)
    assert share < regret / sum(terms) <= 1
    assert regret > sum(terms) - terms[1] / 4  # even three quarters of the main term would be too little


def test_a_first_gradient_that_nobody_expected():
    oracle = CoinBetting(INTERVAL.set, endowment=1e3)
    record, best = against(oracle, INTERVAL, [drive([7.0], 1)])
    terms = stated.coin_betting(record, best, INTERVAL.diameter, 1e3, 0.0, record.state.A[:, 0])
    assert record.regret(best)[0] == pytest.approx(terms[2].item(), rel=1e-12) == pytest.approx(14.0, rel=1e-12)
    assert 0.99 < record.regret(best)[0] / sum(terms) <= 1


def test_the_bound_of_coin_betting_against_the_identity():
    """Small gradients drive it away from the identity, and one large gradient finds it there."""
    oracle = CoinBetting(INTERVAL.set, endowment=0.1)
    record, _ = against(oracle, INTERVAL, [drive([1e-3], 60), drive([-1.0], 1)])
    assert 0.9 < share_of_regret_bound(oracle, INTERVAL, record) <= 1


BINARY = {  # a set, gradients that lead to a far corner, and the size of its matrices
    "box": (games.box(), [np.ones(3)], None),
    "interval of matrices": (games.spectral(0.0, d=1), [np.ones(1)], 1),
    "positive-contractions": (games.spectral(0.0), [ONE, TWO], 2),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("learner", [OMD, FTRL])
def test_the_binary_entropy_reaches_its_bound(name, learner):
    arena, ways, d = BINARY[name]
    eta = 0.08
    oracle = learner(arena.set, eta=eta, mirror=BinaryEntropic())
    holds, drives = (
        [way(g, n) for g in ways] for way, n in ((hold, round(4 * math.log(2) / eta**2)), (drive, round(5 / eta)))
    )
    record, best = against(oracle, arena, holds + drives)
    assert_reached(record, best, stated.binary_entropic(record, best, eta, d), ratio=0.97)
    if d == 1:
        back = [-g for g in ways]
        record, _ = against(oracle, arena, holds + [drive(g, round(5 / eta)) for g in back])
        assert 0.9 < share_of_regret_bound(oracle, arena, record) <= 1


def test_frank_wolfe_far_away():
    """In one dimension it is FTRL: what it costs to be led across the set, 0.71 of the bound in 1000 steps."""
    record, best = against(FrankWolfe(INTERVAL.set, eta=0.002), INTERVAL, [drive([1.0], 1000)])
    regret, terms = record.regret(best)[0], stated.frank_wolfe(record, best, INTERVAL.diameter, 0.002)
    assert 0.7 < regret / sum(terms) <= 1
    assert regret > sum(terms) - terms[0] / 2


@pytest.mark.parametrize("d", [1, 3])
def test_frank_wolfe_against_its_start(d):
    """To a corner in one step and back: 0.284 is the largest share that a search over short sequences has found."""
    arena, ones = games.box(-1.0, 1.0, d=d), np.ones(d)
    oracle = FrankWolfe(arena.set, eta=1.0)
    record, _ = against(oracle, arena, [drive(2.0 * ones, 1), drive(-4.47 * ones, 1)])
    distance, cost = stated.frank_wolfe(record, arena.identity, arena.diameter, 1.0)
    assert distance == 0
    assert 0.28 < record.regret(arena.identity)[0] / cost.item() <= 1
