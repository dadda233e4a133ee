"""Coin betting: the inequalities of its proof, rounding, regret below the bound, and how near it comes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from crowds import COMMON, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS, LinearLoss
from o2nc.oracles import CoinBetting
from o2nc.oracles.coin_betting import inward
from o2nc.sets import Box, SpectralBall
from reached import against, drive, hold, share_of_regret_bound


def coin_betting_bound(record, u, D, endowment, scale, sizes=None):
    """``sizes`` is the sum of the norms that were bet on, which is at most that of the gradients."""
    norms = np.linalg.norm(record.g, axis=-1)
    C = np.maximum(scale, norms.max(axis=0))
    a = (norms.sum(axis=0) if sizes is None else sizes) / np.where(C > 0, C, 1.0)
    r, b = np.linalg.norm(u - record.u[0], axis=-1), 1 / np.sqrt(1 + math.pi / 2 * a)
    root = np.sqrt((1 + a) * np.log1p((1 + a) * r**2 / (endowment * b) ** 2))
    return [C * endowment * (1 - b), C * r * root, D * (C - scale)]


INTERVAL = games.box(-1.0, 1.0, d=1)
D = 3
MATRIX = games.spectral(-1.0, d=1)


def potential(A, x):
    """log of 2^A Gamma((A + 1 + x) / 2) Gamma((A + 1 - x) / 2) / (pi Gamma(A + 1)), the money of a bettor."""
    gamma = math.lgamma
    return A * math.log(2) + gamma((A + 1 + x) / 2) + gamma((A + 1 - x) / 2) - math.log(math.pi) - gamma(A + 1)


sizes, shares = st.floats(0, 1e3), st.floats(-1, 1)


@settings(max_examples=300, **COMMON)
@given(A=sizes, share=shares, c=st.lists(shares, min_size=2, max_size=2), k=st.floats(1, 50))
def test_the_inequalities_of_coin_betting(A, share, c, k):
    """A bet wins what the potential grows by; a new scale costs what it is endowed with; the potential is large."""
    x = A * share
    c = np.asarray(c) / max(1.0, np.linalg.norm(c))
    grown = potential(A + np.linalg.norm(c), np.hypot(x + c[0], c[1]))
    assert grown <= potential(A, x) + math.log1p(c[0] * x / (A + 1)) + 1e-9
    if potential(A, x) < 600:
        assert math.exp(potential(A / k, x / k)) <= 1 - 1 / k + math.exp(potential(A, x)) / k + 1e-9
    assert potential(A, x) >= x**2 / (2 * (A + 1)) - 0.5 * math.log1p(math.pi * A / 2) - 1e-9


def test_a_gradient_longer_than_the_scale_is_survived():
    """The scale is a promise that may be broken: the money stays positive."""
    oracle, m = CoinBetting(Box(-1.0, 1.0), scale=1e-3), np.ones(1)
    state = oracle.init(m)
    for t in range(40):
        state = oracle.learn(state, LinearLoss((-1.5) ** t * m, m, 1.0))
        assert state.M > 0
        assert abs(state.u) <= 1


def test_silence_changes_nothing():
    """Gradients of 0, before the first that is not and after."""
    m, zero = np.ones((1, D)), LinearLoss(np.zeros((1, D)), np.ones((1, D)), 1.0)
    for oracle in (CoinBetting(SpectralBall()), CoinBetting(Box()), CoinBetting(Box(), scale=2.0)):
        state = oracle.init(m)
        for _ in range(3):
            before, state = state, oracle.learn(state, zero)
            np.testing.assert_allclose(state.u, before.u, rtol=0, atol=1e-15)
        state = oracle.learn(oracle.learn(state, LinearLoss(-m, m, 1.0)), LinearLoss(-m, m, 1.0))
        before, state = state, oracle.learn(state, zero)
        np.testing.assert_allclose(state.u, before.u, rtol=0, atol=1e-15)
        assert np.all(state.u.sum() < before.start.sum())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_rounding_takes_out_of_a_set_is_inside(dtype):
    """The projection of an inner point differs from it by rounding, and that is no direction out of the set."""
    rng = np.random.default_rng(0)
    A, g = (B + B.swapaxes(1, 2) for B in rng.normal(size=(2, 50, 8, 8)).astype(dtype))
    S, w = SpectralBall(), 0.9 * A / np.linalg.norm(A, axis=(1, 2), keepdims=True)
    oracle = CoinBetting(S)
    state = oracle.init(np.zeros((50, 8), dtype))._replace(w=w, u=S.project(w))
    assert np.all(np.any(state.w != state.u, axis=(1, 2)))
    np.testing.assert_array_equal(inward(S, g, state), g)
    out = state._replace(w=2 * w, u=S.project(2 * w))
    changed = np.any(inward(S, g, out) != g, axis=(1, 2))
    outside = np.linalg.norm(2 * w, ord=2, axis=(1, 2)) > 1
    along = np.sum((out.w - out.u) * g, axis=(1, 2))
    np.testing.assert_array_equal(changed, outside & (along < 0))
    assert 0 < changed.sum() < outside.sum()


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, endowment=rates, scale=st.just(0.0) | rates)
def test_coin_betting(name, seed, T, endowment, scale):
    oracle = CoinBetting(ARENAS[name].set, endowment=endowment, scale=scale)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, coin_betting_bound(record, u, arena.diameter, endowment, scale))
        sizes = record.state.A[:, 0]
        assert_below(record, u, coin_betting_bound(record, u, arena.diameter, endowment, scale, sizes))
    longest = np.linalg.norm(record.g, axis=-1).max()
    np.testing.assert_allclose(record.state.C.max(), max(longest, scale), rtol=1e-12)
    assert_stated(oracle, arena, record)  # whether the promise is kept or not
    kept = CoinBetting(arena.set, endowment=endowment, scale=longest + 1e-9)
    assert_stated(kept, arena, crowd(kept, name, seed, min(T, 9))[1])


@pytest.mark.parametrize("arena", [INTERVAL, MATRIX], ids=["box", "spectral-ball"])
def test_coin_betting_loses_its_endowment_and_no_more(arena):
    """Against the identity, where it starts: each coin is followed by its opposite, so that every bet is lost."""
    oracle = CoinBetting(arena.set, endowment=0.5, scale=1.0)
    record, _ = against(oracle, arena, [hold([1.0], 40)])
    terms = [term.item() for term in coin_betting_bound(record, arena.identity, arena.diameter, 0.5, 1.0)]
    assert terms[1:] == [0, 0]
    assert 0.99 < record.regret(arena.identity)[0] / terms[0] <= 1


@pytest.mark.parametrize(("endowment", "away", "share"), [(0.01, 125, 0.88), (0.1, 110, 0.86), (1.0, 95, 0.83)])
def test_coin_betting_against_a_far_point(endowment, away, share):
    """Held at the start until most of the money is gone, then driven across: unit coins in one dimension."""
    oracle = CoinBetting(INTERVAL.set, endowment=endowment, scale=1.0)
    record, best = against(oracle, INTERVAL, [hold([1.0], 300), drive([1.0], away)])
    assert best.item() == -1
    regret, terms = record.regret(best)[0], coin_betting_bound(record, best, INTERVAL.diameter, endowment, 1.0)
    assert share < regret / sum(terms) <= 1
    assert regret > sum(terms) - terms[1] / 4  # even three quarters of the main term would be too little


def test_a_first_gradient_that_nobody_expected():
    oracle = CoinBetting(INTERVAL.set, endowment=1e3)
    record, best = against(oracle, INTERVAL, [drive([7.0], 1)])
    terms = coin_betting_bound(record, best, INTERVAL.diameter, 1e3, 0.0, record.state.A[:, 0])
    assert record.regret(best)[0] == pytest.approx(terms[2].item(), rel=1e-12) == pytest.approx(14.0, rel=1e-12)
    assert 0.99 < record.regret(best)[0] / sum(terms) <= 1


def test_the_bound_of_coin_betting_against_the_identity():
    """Small gradients drive it away from the identity, and one large gradient finds it there."""
    oracle = CoinBetting(INTERVAL.set, endowment=0.1)
    record, _ = against(oracle, INTERVAL, [drive([1e-3], 60), drive([-1.0], 1)])
    assert 0.9 < share_of_regret_bound(oracle, INTERVAL, record) <= 1
