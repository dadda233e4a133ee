"""Nothing that a function of the user does to what it is given, or has returned, changes a run of `minimize`."""

import contextlib

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import o2nc
from conftest import numpy_of
from o2nc import Blocks, sets
from o2nc.constants import VarianceReduced
from o2nc.conversions import StormConversion
from o2nc.operators import Dense, Identity
from o2nc.oracles import OptimisticOMD, registry
from o2nc.oracles.base import example
from o2nc.rivals import SGD, OnlineScaled
from o2nc.sets import Box
from o2nc.states import leaves

ROUNDS = 12
SMOOTH = o2nc.Smooth(gap=2.0, M=4.0, beta=1.0, sigma=0.2, T=ROUNDS)
NONSMOOTH = o2nc.Nonsmooth(L=1.7, M=6.0, sigma=0.5, lam=0.1, T=ROUNDS)
STORM = VarianceReduced(gap=2.0, beta=1.0, sigma=0.2, T=ROUNDS)
CONVERSIONS = {
    "smooth": lambda oracle: o2nc.SmoothConversion(oracle, SMOOTH),
    "segment": lambda oracle: o2nc.SegmentConversion(oracle, SMOOTH),
    "nonsmooth": lambda oracle: o2nc.NonsmoothConversion(oracle, NONSMOOTH),
    "storm": lambda oracle: StormConversion(oracle, STORM),
    "SGD": lambda oracle: SGD(eta=0.1),
}
LIBRARIES = {"numpy": (np.asarray, np.sin), "torch": (torch.asarray, torch.sin), "jax": (jnp.asarray, jnp.sin)}
STARTS = {
    "array": lambda make: make(np.full(3, 1.5)),
    "blocks": lambda make: Blocks((make(np.full((2, 2), 1.5)), make(np.ones(3)))),
}


def arrays(x):
    return x.arrays if isinstance(x, Blocks) else (x,)


def spoil(value):
    """Write into every array of a vector or a state that can be written to."""
    for _, a in leaves(value):
        if isinstance(a, (np.ndarray, torch.Tensor)):
            a[...] = 7


def run(conversion, library, start, spoils):
    make, sin = LIBRARIES[library]
    x1, kept = STARTS[start](make), []

    def gradient(x, rng):
        noise = [make(0.1 * rng.choice([-1.0, 1.0], size=tuple(a.shape))) for a in arrays(x)]
        s = tuple(sin(a) + n for a, n in zip(arrays(x), noise, strict=True))
        if spoils:
            for before in kept:  # what was returned, and where: memory of theirs
                spoil(before)
            spoil(x)
            spoil(x1)
            kept.append(s)
        return Blocks(s) if isinstance(x, Blocks) else s[0]

    def callback(t, x, state):
        spoil(x)
        spoil(state)

    return o2nc.minimize(
        gradient, x1, conversion, rounds=ROUNDS, callback=callback if spoils else None, record=start == "array"
    )


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_functions_that_write_everywhere_change_nothing(name, library, start):
    conversion = CONVERSIONS[name](OptimisticOMD(Box(), eta=0.1))
    honest, spoiled = (run(conversion, library, start, spoils) for spoils in (False, True))
    for one, other in ((honest.x, spoiled.x), (honest.last, spoiled.last), (honest.state, spoiled.state)):
        for (path, a), (_, b) in zip(leaves(one), leaves(other), strict=True):
            np.testing.assert_array_equal(numpy_of(a), numpy_of(b), err_msg=path)
    if honest.trajectory is not None:
        np.testing.assert_array_equal(numpy_of(honest.trajectory), numpy_of(spoiled.trajectory))
    assert str(honest.certificate) == str(spoiled.certificate)
    assert str(honest.tight) == str(spoiled.tight)


def over_some_set(name):
    """A registered oracle, over the first set that it takes."""
    for entry in sets.registry.values():
        with contextlib.suppress(TypeError):
            oracle = example(name, entry.make((Identity(), Dense(0.5 * np.eye(3))), np.zeros(3)), np.zeros(3), T=ROUNDS)
            oracle.init(np.zeros(3))
            return oracle
    raise AssertionError(name)


@pytest.mark.parametrize("name", registry)
def test_no_oracle_keeps_memory_of_the_user(name):
    oracle = over_some_set(name)
    conversion = o2nc.PredictionConversion(oracle, SMOOTH)
    honest, spoiled = (run(conversion, "numpy", "array", spoils) for spoils in (False, True))
    np.testing.assert_array_equal(honest.last, spoiled.last)


def test_a_value_that_writes_changes_nothing():
    def result(spoils):
        def value(x, rng):
            f = 1 - np.cos(x).sum(-1, keepdims=True)
            if spoils:
                spoil(x)
                for before in kept:
                    spoil(before)
                kept.append(f)
            return f

        kept = []
        return o2nc.minimize(lambda x, rng: np.sin(x), np.ones(3), OnlineScaled(alpha=0.2), rounds=5, value=value)

    np.testing.assert_array_equal(result(False).last, result(True).last)
