"""AdaGrad with a diagonal and with a full metric: regret below the bounds, which are nearly reached."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowds import BOXES, COMMON, HULLS, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS
from o2nc.oracles import AdaGrad, FullAdaGrad
from reached import ONE_DIMENSION, TUNING, assert_reached, hold_then_cross, share_of_regret_bound


def adagrad_bound(record, u, D, eta, floor=1.0):
    total = floor * np.sum(np.sqrt(np.sum(record.g**2, axis=0)), axis=-1)
    return [D**2 / (2 * eta) * total, eta * total]


def full_adagrad_bound(record, u, D, eta):
    V = np.einsum("tri,trj->rij", record.g, record.g)
    w = np.clip(np.linalg.eigvalsh(V), 0, None)
    trace = np.sum(np.sqrt(w), axis=-1) + 1e-3 * w.shape[-1] * np.sqrt(np.sum(w, axis=-1))
    return [D**2 / (2 * eta) * trace, eta * trace]


@pytest.mark.parametrize("name", [*HULLS, *BOXES])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, eta=st.none() | rates)
def test_adagrad(name, seed, T, eta):
    oracle = AdaGrad(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    floor = 1 + 1e-4 * 4 if name in HULLS else 1.0
    D = arena.sup_diameter
    for u in comparators:
        assert_below(record, u, adagrad_bound(record, u, D, eta or D / math.sqrt(2), floor))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", ARENAS)
@settings(max_examples=3, **COMMON)
@given(seed=seeds, T=st.integers(1, 10), eta=st.none() | rates)
def test_full_adagrad(name, seed, T, eta):
    oracle = FullAdaGrad(ARENAS[name].set, eta=eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    D = arena.diameter
    for u in comparators:
        assert_below(record, u, full_adagrad_bound(record, u, D, eta or D / math.sqrt(2)))
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", [name for name in TUNING if "hull" in name or "box" in name])
def test_adagrad_reaches_its_bound(name):
    arena = TUNING[name][0]
    oracle, D = AdaGrad(arena.set), arena.sup_diameter
    record, identity = hold_then_cross(oracle, *TUNING[name], held=800 if name == "hull-4" else 400, size=0.3)
    floor = 1 + 1e-4 * record.u.shape[-1] if "hull" in name else 1.0
    terms = adagrad_bound(record, identity, D, D / math.sqrt(2), floor)
    assert_reached(record, identity, terms, ratio=0.85)
    if name in ONE_DIMENSION:
        assert 0.9 < share_of_regret_bound(oracle, arena, record) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hull-2", "box-3", "spectral-ball-1"])
def test_full_adagrad_reaches_its_bound(name):
    """With all gradients on one line; in d dimensions the bound is up to sqrt(d) larger than need be."""
    arena = TUNING[name][0]
    oracle, D = FullAdaGrad(arena.set), arena.diameter
    record, identity = hold_then_cross(oracle, *TUNING[name], held=110, size=0.5)
    assert_reached(record, identity, full_adagrad_bound(record, identity, D, D / math.sqrt(2)), ratio=0.8)
    if name.endswith("-1"):
        assert 0.8 < share_of_regret_bound(oracle, arena, record) <= 1
