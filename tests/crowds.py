"""Many adversaries at once against one oracle, and the assertions that its regret is below a bound."""

import math

import numpy as np
from hypothesis import strategies as st

import games
from games import ARENAS
from o2nc.learners.hints import last

RUNS = 128  # sequences of losses in one example
COMMON = {"deadline": None, "derandomize": True, "database": None}
UNIFORM, PRIOR = (0.25,) * 4, (0.05, 0.15, 0.3, 0.5)
HULLS = ["hull", "varying-hull"]
MATRICES = ["spectral-ball", "positive-contractions", "varying-spectral"]
BOXES = [name for name in ARENAS if name.endswith("box")]
POSITIVE = [name for name in BOXES if name != "signed-box"]
seeds, rounds = st.integers(0, 2**32 - 1), st.integers(1, 60)
rates = st.floats(-2.5, 1.0).map(lambda p: 10**p)


def crowd(oracle, name, seed, T, runs=RUNS):
    """Many adversaries against the oracle, and comparators: the best in hindsight, the identity, a random point."""
    arena = ARENAS[name]
    k = arena.best(np.zeros((1, arena.d ** (2 if name in MATRICES else 1)))).shape[-1]
    record = games.play(oracle, arena, games.adversary(seed, runs, k), T, runs, seed)
    rng = np.random.default_rng(seed)
    best = arena.best(record.g.sum(axis=0))
    weight = rng.random((runs, 1))
    somewhere = weight * arena.best(rng.normal(size=best.shape)) + (1 - weight) * best
    comparators = [best, somewhere]
    if arena.identity is not None:
        comparators.append(np.broadcast_to(arena.identity, best.shape))
    return arena, record, comparators


def assert_below(record, u, terms):
    bound, size = sum(terms), np.sum(np.abs(record.g), axis=(0, 2))
    assert np.all(np.isfinite(bound))
    assert np.all(record.regret(u) <= bound + 1e-11 * (1 + size)), np.max(record.regret(u) - bound)


def assert_stated(oracle, arena, record):
    """regret_bound(x, energy) is a bound too, on the regret against the identity, when the identity is there."""
    x = np.zeros((1, arena.d))
    for run in range(0, record.energy.shape[1], 16):
        bound = oracle.regret_bound(x, float(record.energy[:, run].sum()))
        if arena.identity is None:
            assert bound == math.inf
        else:
            assert bound < math.inf
            assert record.regret(arena.identity)[run] <= bound + 1e-9


HINTS = {
    "last": last,
    "mean": lambda seen, h, t: 0.8 * h + 0.2 * seen,
    "wrong": lambda seen, h, t: -3.0 * seen,
    "trend": lambda seen, h, t: 2.0 * seen - 0.5 * h,
}
hints = st.sampled_from(sorted(HINTS))
