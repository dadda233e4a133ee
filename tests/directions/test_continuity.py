"""A change in the last digits of the samples changes the direction in its last digits, for every direction but two."""

from dataclasses import replace

import numpy as np
import pytest

from degenerate import ROUNDS, samples
from o2nc import Blocks
from o2nc.directions import OnMatrices, Polar, Soap, registry

CHANGE, BOUND = 1e-12, 1e-5
B1 = 0.95
JUMPS = ("sign",)  # as its docstring says
CASES = {name: entry.facts.get("example", entry.make) for name, entry in registry.items() if name not in JUMPS}
CASES |= {"soap in every round": lambda: Soap(every=1), "soap of one side": lambda: Soap(limit=12)}
SHAPES = [(16, 16), (18, 7), (7, 18)]


def directions(direction, S):
    """Those of each round, beside the sequences, (rounds, sequences, p, q); the tracker has the factor 0.95."""
    if isinstance(direction, OnMatrices):
        direction = replace(direction, stacks=True)
    state, m, found = direction.init(Blocks((S[:, 0],))), np.zeros_like(S[:, 0]), []
    for t in range(S.shape[1]):
        s = S[:, t]
        m = B1 * m + (1 - B1) * s
        state = direction.learn(state, Blocks((s,)))
        seen = B1 * m + (1 - B1) * s if getattr(direction, "looks_ahead", False) else m
        found.append(direction.direction(state, Blocks((seen / (1 - B1 ** (t + 1)),))).arrays[0])
    return np.stack(found)


def changes(direction, S, seed):
    """How far an entrywise relative change of the samples changes the direction of each round and sequence."""
    shaken = S * (1 + CHANGE * np.random.default_rng(seed).choice([-1.0, 1.0], size=S.shape))
    one, two = directions(direction, S), directions(direction, shaken)
    norm = lambda d: np.sqrt(np.sum(d**2, axis=(-2, -1)))
    return norm(one - two) / np.maximum(norm(one), np.finfo(float).tiny)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_last_digits_stay_last_digits(name, shape, seed):
    """In each of 40 rounds of each sequence."""
    sequences = samples(*shape, seed=seed)
    found = changes(CASES[name](), np.stack(list(sequences.values())), seed)
    assert found.shape == (ROUNDS, len(sequences))
    assert {k: worst for k, worst in zip(sequences, found.max(axis=0), strict=True) if not worst <= BOUND} == {}


@pytest.mark.parametrize("name", ["sign", "polar"])
def test_two_jump(name):
    """The sign at an entry that is 0, the exact polar factor at such a singular value: so they are left out above."""
    direction = registry["sign"].make() if name == "sign" else Polar(steps=None)
    e, f = np.diag([1.0, 0.0]), np.diag([0.0, 1e-7])
    one, two = (direction.direction(direction.init(Blocks((m,))), Blocks((m,))).arrays[0] for m in (e + f, e - f))
    assert np.abs(one - two).max() > 0.1
