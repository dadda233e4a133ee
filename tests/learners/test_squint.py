"""Squint: regret below the bound."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import o2nc
import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, RUNS, UNIFORM, assert_below, rates, rounds, seeds
from games import ARENAS
from o2nc.operators import Diagonal, Identity
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


def test_a_scale_below_the_range_of_the_losses_objects():
    experts = [Identity(), Diagonal(np.asarray([1.0, 0.0]))]
    constants = o2nc.Smooth(gap=9.0, M=18.0, beta=1.0, sigma=0.0, T=40)

    def result(scale):
        oracle = Squint(experts, scale=scale)
        return o2nc.minimize(lambda x, rng: np.sin(x), 1.5 * np.ones(2), oracle=oracle, constants=constants)

    assert result(40.0).a_priori is not None
    with pytest.warns(UserWarning, match=r"There is no certificate: `Squint\(scale=0.001\)` is smaller than the range"):
        found = result(1e-3)
    assert found.a_priori is None
    assert re.match(r"`Squint\(scale=0.001\)` is smaller than the range of the losses in \d+ rounds$", found.reason)
