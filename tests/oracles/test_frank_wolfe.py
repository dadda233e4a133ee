"""Online Frank-Wolfe: regret below the bound, and how near it comes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import games
from crowds import COMMON, assert_below, crowd, rates, rounds, seeds
from games import ARENAS, FIXED
from o2nc.oracles import FrankWolfe
from reached import against, drive


def frank_wolfe_bound(record, u, D, eta):
    norms = np.linalg.norm(record.g, axis=-1)
    cost = 2 * (D**2 * eta * norms.sum(axis=0)) ** (1 / 3) * np.sum(norms**1.5, axis=0) ** (2 / 3)
    return [np.sum((u - record.u[0]) ** 2, axis=-1) / (2 * eta), cost]


INTERVAL = games.box(-1.0, 1.0, d=1)


@pytest.mark.parametrize("name", FIXED)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_frank_wolfe(name, seed, T, eta):
    oracle = FrankWolfe(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    for u in comparators:
        assert_below(record, u, frank_wolfe_bound(record, u, arena.diameter, eta))
    assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


def test_frank_wolfe_far_away():
    """In one dimension it is FTRL: what it costs to be led across the set, 0.71 of the bound in 1000 steps."""
    record, best = against(FrankWolfe(INTERVAL.set, eta=0.002), INTERVAL, [drive([1.0], 1000)])
    regret, terms = record.regret(best)[0], frank_wolfe_bound(record, best, INTERVAL.diameter, 0.002)
    assert 0.7 < regret / sum(terms) <= 1
    assert regret > sum(terms) - terms[0] / 2


@pytest.mark.parametrize("d", [1, 3])
def test_frank_wolfe_against_its_start(d):
    """To a corner in one step and back: 0.284 is the largest share that a search over short sequences has found."""
    arena, ones = games.box(-1.0, 1.0, d=d), np.ones(d)
    oracle = FrankWolfe(arena.set, eta=1.0)
    record, _ = against(oracle, arena, [drive(2.0 * ones, 1), drive(-4.47 * ones, 1)])
    distance, cost = frank_wolfe_bound(record, arena.identity, arena.diameter, 1.0)
    assert distance == 0
    assert 0.28 < record.regret(arena.identity)[0] / cost.item() <= 1
