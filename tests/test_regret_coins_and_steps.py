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
from test_regret_reached import against, assert_reached, drive, hold, share_of_regret_bound


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
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", FIXED)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_frank_wolfe(name, seed, T, eta):
    oracle = FrankWolfe(ARENAS[name].set, eta=eta, T=T)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, stated.frank_wolfe(record, u, arena.diameter, eta))
    assert_stated(oracle, arena, record)
    assert FrankWolfe(arena.set, eta=eta).regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


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
