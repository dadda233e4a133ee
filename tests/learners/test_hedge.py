"""Hedge: regret below the bound for every rate, and instances that nearly reach it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, UNIFORM, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS
from o2nc import learners
from o2nc.operators import Identity
from o2nc.oracles import Hedge
from reached import (
    EXPERTS,
    HULL4,
    against,
    assert_reached,
    drive,
    hold,
    lock_hit_drive,
    played,
    share_of_regret_bound,
)


def self_tuned_bound(record, u, prior, gamma0):
    l, E, peak = math.log(1 / min(prior)), stated.peaks(record).sum(axis=0), stated.peaks(record).max(axis=0)
    root = np.sqrt(1 + E)
    return [
        stated.log_inverse(prior, u) * root / (gamma0 * math.sqrt(2 * l)),
        gamma0 * math.sqrt(l / 2) * (2 * (root - 1) + peak * (1 - 1 / root)),
    ]


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates)
def test_hedge_with_a_constant_rate(name, prior, seed, T, gamma):
    oracle = Hedge(ARENAS[name].set, gamma=gamma, prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, stated.hedge(record, u, prior or UNIFORM, gamma))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, fall=st.sampled_from(["root", "linear", "steps", "short"]))
def test_hedge_with_nonincreasing_rates(name, prior, seed, T, gamma, fall):
    t = np.arange(1, T + 1)
    given = gamma * {"root": t**-0.5, "linear": 1 / t, "steps": 0.5 ** (t // 10), "short": t[:3] ** -0.5}[fall]
    oracle = Hedge(ARENAS[name].set, gamma=given.tolist(), prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    rates = np.concatenate([given, np.full(T - len(given), given[-1])])
    for u in (best, identity):
        assert_below(record, u, stated.hedge(record, u, prior or UNIFORM, rates))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma0=rates)
def test_hedge_with_the_self_tuned_rate(name, prior, seed, T, gamma0):
    oracle = Hedge(ARENAS[name].set, prior=prior, gamma0=gamma0)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, self_tuned_bound(record, u, prior or UNIFORM, gamma0))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize("rate", ["constant", "sequence"])
def test_hedge_reaches_its_bound(name, rate):
    arena, prior, shake, way = EXPERTS[name]
    gamma, last = 0.08, 0.08 if rate == "constant" else 0.03
    l = math.log(1 / prior[0])
    pairs, rounds = round(l / gamma**2), round((l + 1.5) / last)
    rates = [gamma] * 2 * pairs + [last] * rounds
    oracle = Hedge(arena.set, gamma=gamma if rate == "constant" else rates, prior=prior)
    record, best = against(oracle, arena, [hold(shake, pairs), drive(way, rounds)])
    assert np.argmax(best) == 0  # the first expert is the identity
    assert_reached(record, best, stated.hedge(record, best, prior, np.asarray(rates)), ratio=0.95)
    if name == "two":
        assert 0.88 < share_of_regret_bound(oracle, arena, record) <= 1


@pytest.mark.parametrize("name", EXPERTS)
@pytest.mark.parametrize("gamma0", [1.0, 0.5**0.5])
def test_the_self_tuned_rate_of_hedge_reaches_its_bound(name, gamma0):
    arena, prior, shake, way = EXPERTS[name]
    pairs = 700
    rounds = round((math.log(1 / prior[0]) + 1) / (gamma0 * math.sqrt(math.log(1 / min(prior)) / pairs)))
    oracle = Hedge(arena.set, prior=prior, gamma0=gamma0)
    record, best = against(oracle, arena, [hold(shake, pairs), drive(way, rounds)])
    assert_reached(record, best, self_tuned_bound(record, best, prior, gamma0), ratio=0.94)


@pytest.mark.parametrize("prior", [None, (0.05, 0.15, 0.3, 0.5)])
def test_the_a_priori_bound_of_the_self_tuned_rate(prior):
    """It knows no largest loss."""
    E, gamma0 = 50.0, 0.7
    l, kl = math.log(1 / min(prior or [0.25])), math.log(1 / (prior or [0.25])[0])
    root, g = math.sqrt(1 + E), gamma0 * math.sqrt(l / 2)
    bound = kl / (gamma0 * math.sqrt(2 * l)) * root + (g + math.sqrt(g**2 + 4)) * (root - 1)
    oracle = Hedge(HULL4.set, prior=prior, gamma0=gamma0)
    assert oracle.regret_bound(np.zeros((1, 4)), E) == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize(("K", "tot"), [(2, 0.5), (4, 1.0), (16, 1.0), (64, 1.0)])
def test_six_tenths_of_the_a_priori_bound_are_reached(K, tot):
    """Lock the weights on the second expert, hit it with a loss that dwarfs all before, drive to the first."""
    learner, losses = learners.Hedge(), lock_hit_drive(K, 12, 1e-4, tot, 40) * 1e5
    regret, energy = played(learner, losses)
    share = regret / learner.regret_bound([True] + [False] * (K - 1), energy)
    assert 0.62 < share < 0.7


def test_one_expert_has_no_regret():
    assert Hedge([Identity()]).regret_bound(np.zeros((1, 4)), 50.0) == 0


@pytest.mark.parametrize("gamma", [None, 0.5, [0.5, 0.25]])
def test_without_a_bound_on_the_energy_there_is_none_on_the_regret(gamma):
    assert learners.Hedge(gamma=gamma).regret_bound([True, False], math.inf) == math.inf
    assert learners.Hedge(gamma=gamma).regret_bound([True, False], 1e6) < math.inf
