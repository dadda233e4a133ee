"""Coins of a caller are coins, states are of the conversion that made them, and sums in float32 do not drift."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from o2nc import Nonsmooth, NonsmoothConversion, SegmentConversion, Smooth, SmoothConversion
from o2nc._xp import floats
from o2nc.constants import VarianceReduced
from o2nc.conversions import DoublingConversion, PredictionConversion, StormConversion
from o2nc.conversions.compensated import add
from o2nc.oracles import OGD, Constant
from o2nc.rivals import ClippedFTRL, ExponentiatedConversion
from o2nc.sets import Box
from sentences import check

T = 6
SMOOTH = Smooth(gap=9.0, beta=1.0, sigma=0.1, T=T)
NONSMOOTH = Nonsmooth(L=3.0, M=9.0, sigma=0.1, lam=0.5, T=T)
WITH_COINS = {
    "segment": SegmentConversion(Constant(), SMOOTH, r=None),
    "nonsmooth": NonsmoothConversion(Constant(), NONSMOOTH),
}
RIVAL = ExponentiatedConversion(ClippedFTRL(D=0.1, b=0.9), T=T)
OTHER = Smooth(gap=1.0, beta=1.0, sigma=0.1, T=T)
PAIRS = {
    "gap": (SmoothConversion(Constant(), SMOOTH), SmoothConversion(Constant(), OTHER)),
    "kappa": (SmoothConversion(Constant(), SMOOTH), SmoothConversion(Constant(), SMOOTH, kappa=1.0)),
    "kind": (SmoothConversion(Constant(), SMOOTH), PredictionConversion(Constant(), SMOOTH)),
    "r": (SegmentConversion(Constant(), SMOOTH, r=1.0), SegmentConversion(Constant(), SMOOTH, r=0.5)),
    "lam": (WITH_COINS["nonsmooth"], NonsmoothConversion(Constant(), Nonsmooth(L=3.0, M=9.0, sigma=0.1, lam=0.4, T=T))),
    "storm": tuple(
        StormConversion(Constant(), VarianceReduced(gap=9.0, beta=1.0, sigma=sigma, T=T)) for sigma in (0.1, 1.0)
    ),
    "doubling": tuple(
        DoublingConversion(Constant(), Smooth.paper(M=9.0, beta=beta, sigma=0.1, T=3)) for beta in (1.0, 2.0)
    ),
}  # fmt: skip
FOREIGN = "the state was made, or used, by another conversion or with other constants"


def played(conversion, state=None, rounds=T, x=None, coin=0.3):
    """Rounds of a conversion from a state on."""
    x = np.ones(3) if x is None else x
    state = conversion.init(x, tau=T if "tau" in conversion.needs else None) if state is None else state
    for _ in range(rounds):
        s = np.sin(x)
        more = {"again": s} if "again" in conversion.needs else {}
        dx, state = conversion.update(s, state, x, r=coin if "r" in conversion.needs else None, **more)
        x = x + dx
    return x, state


@pytest.mark.parametrize("name", WITH_COINS)
@pytest.mark.parametrize("coin", [7, -3, 1.0 + 1e-9, float("nan"), np.asarray([2.0]), torch.tensor([0.5, 2.0])])
def test_what_is_no_coin_is_refused(name, coin):
    rows = torch.ones(2, 3, dtype=torch.float64) if isinstance(coin, torch.Tensor) else np.ones(3)
    if isinstance(coin, torch.Tensor):
        coin = coin[:, None].double()
    conversion = WITH_COINS[name]
    state = conversion.init(rows, tau=T if name == "nonsmooth" else None)
    check(lambda: conversion.update(0.1 * rows, state, rows, r=coin), ValueError, "`r` must be uniform on [0, 1]; got")


def test_rivals_refuse_it_too():
    check(lambda: played(RIVAL, coin=7), ValueError, "`r` must be uniform on [0, 1]; got 7")


@pytest.mark.parametrize("name", WITH_COINS)
@pytest.mark.parametrize("coin", [0.0, 0.3, 1.0])
def test_coins_are_taken(name, coin):
    _, state = played(WITH_COINS[name], coin=coin)
    assert not isinstance(WITH_COINS[name].certificate(state), str)


@pytest.mark.parametrize("name", WITH_COINS)
def test_a_compiled_loop_that_was_given_no_coins_has_no_certificate(name):
    conversion = WITH_COINS[name]

    @jax.jit
    def run(coins):
        x = jnp.ones(3)

        def one(carry, r):
            x, state = carry
            dx, state = conversion.update(jnp.sin(x), state, x, r=r)
            return (x + dx, state), None

        carry = (x, conversion.init(x, tau=T if name == "nonsmooth" else None))
        return jax.lax.scan(one, carry, coins)[0][1]

    coins = np.full((T, 1), 0.3)
    assert not isinstance(conversion.certificate(run(coins)), str)
    coins[2:4, 0] = 7.0, np.nan
    assert conversion.certificate(run(coins)) == "the coin r was not in [0, 1] in 2 rounds"


@pytest.mark.parametrize("pair", PAIRS)
def test_a_state_has_the_certificates_of_its_own_conversion_only(pair):
    one, other = PAIRS[pair]
    _, state = played(one)
    assert FOREIGN not in (one.certificate(state), one.objection(state))
    assert other.certificate(state) == FOREIGN


@pytest.mark.parametrize("pair", PAIRS)
def test_a_state_that_two_conversions_have_moved_has_none(pair):
    one, other = PAIRS[pair]
    x, state = played(one, rounds=2)
    x, state = played(other, state, rounds=2, x=x)
    x, state = played(one, state, rounds=2, x=x)
    assert one.certificate(state) == other.certificate(state) == FOREIGN


def test_an_oracle_may_be_exchanged_since_its_regret_is_measured():
    one, other = (SmoothConversion(OGD(Box(), eta=eta), SMOOTH) for eta in (0.1, 0.2))
    x, state = played(one, rounds=3)
    assert not isinstance(one.certificate(played(other, state, rounds=3, x=x)[1]), str)
    assert one.mark == SmoothConversion(Constant(), Smooth(gap=9, beta=1, sigma=np.float64(0.1), T=T)).mark


TERMS = (0.04 * np.random.default_rng(0).random((60_000, 1))).astype(np.float32)


def in_jax(terms):
    one = lambda carry, term: (add(*carry, term), None)
    return jax.jit(lambda terms: jax.lax.scan(one, (jnp.zeros(1, jnp.float32),) * 2, terms)[0][0])(terms)


def in_a_loop(make):
    def total(terms):
        found = lost = make(np.zeros(1, np.float32))
        for term in make(terms):
            found, lost = add(found, lost, term)
        return found

    return total


LOOPS = {"numpy": in_a_loop(np.asarray), "torch": in_a_loop(torch.asarray), "jax": in_jax}


@pytest.mark.parametrize("library", LOOPS)
def test_sums_in_float32_do_not_drift(library):
    exact = TERMS.astype(float).sum()
    assert abs(np.cumsum(TERMS, dtype=np.float32)[-1] - exact) > 1e-3  # what a plain sum does
    assert floats(LOOPS[library](TERMS))[0] == pytest.approx(exact, rel=1e-7)


def test_the_sums_of_a_run_in_float32_are_those_of_its_rounds():
    conversion = SmoothConversion(OGD(Box(), eta=0.1), Smooth(gap=9.0, beta=1.0, sigma=0.1, T=8000), kappa=1.0)
    x, rng = np.ones(2, np.float32), np.random.default_rng(0)
    state, sums = conversion.init(x), {"Q": [], "N": [], "W": []}
    for noise in rng.choice([-0.1, 0.1], size=(8000, 2)).astype(np.float32):
        s, m = np.float32(0.3) + noise, state.m.astype(float)
        dx, state = conversion.update(s, state, x)
        Um = dx.astype(float) / -conversion.constants.eta
        for name, u, v in (("Q", s, m), ("N", m, m), ("W", Um, Um)):
            sums[name].append(np.dot(u.astype(float), v))
    for name, terms in sums.items():
        assert getattr(state, name)[0] == pytest.approx(np.sum(terms), rel=2e-7), name


KINDS = {name: pair[0] for name, pair in PAIRS.items()}


@pytest.mark.parametrize("made", KINDS)
@pytest.mark.parametrize("asked", KINDS)
def test_the_state_of_another_kind_is_a_sentence(made, asked):
    """Never an AttributeError of a field."""
    state = KINDS[made].init(np.ones(2), tau=1)
    if type(state) is type(KINDS[asked].init(np.ones(2), tau=1)):
        assert isinstance(KINDS[asked].certificate(state), str)
        return
    with pytest.raises(TypeError, match=f"`state` must be what `{type(KINDS[asked]).__name__}.init` makes"):
        KINDS[asked].certificate(state)
