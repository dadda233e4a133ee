"""Squint: regret below the bound."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, RUNS, UNIFORM, assert_below, rates, rounds, seeds
from games import ARENAS
from o2nc.oracles import Squint


def squint_bound(record, u, prior, scale, rates):
    """The best of S [log(n / pi_k) / eta_i + eta_i V_k], for comparators u that are vertices."""
    r = (np.sum(record.u * record.g, axis=-1) - np.sum(record.g * u, axis=-1)) / scale
    V, log = np.sum(r**2, axis=0), stated.log_inverse(prior, u) + math.log(rates)
    return [scale * np.min([log * 2.0**i + V / 2.0**i for i in range(1, rates + 1)], axis=0)]


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds, scale=rates, n=st.integers(1, 8))
def test_squint(name, prior, seed, T, scale, n):
    arena, wishes = ARENAS[name], games.adversary(seed, RUNS, 4)
    bounded = lambda *position: scale * np.clip(wishes(*position), -0.5, 0.5)  # no range above the scale
    record = games.play(Squint(arena.set, scale=scale, rates=n, prior=prior), arena, bounded, T, RUNS, seed)
    for u in (arena.best(record.g.sum(axis=0)), np.broadcast_to(arena.identity, (RUNS, 4))):
        assert_below(record, u, squint_bound(record, u, prior or UNIFORM, scale, n))
