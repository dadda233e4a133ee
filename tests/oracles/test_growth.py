"""Costs that do not grow where they need not: what is counted is memory and calls, never time."""

import itertools
import tracemalloc

import numpy as np
import pytest

from o2nc import Blocks
from o2nc.losses import LinearLoss
from o2nc.operators import Diagonal, Identity, Mixture
from o2nc.oracles import OGD, Product, product
from o2nc.sets import Box
from o2nc.vectors import apply

RNG = np.random.default_rng(0)


def mixture(K, x):
    factors = [apply(lambda a: RNG.uniform(-1, 1, a.shape), x) for _ in range(K - 1)]
    weights = RNG.uniform(size=K)
    return Mixture(weights / weights.sum(), (Identity(), *map(Diagonal, factors)))


def peak(function):
    tracemalloc.start()
    function()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("x", [RNG.normal(size=20), Blocks((RNG.normal(size=(2, 3)), RNG.normal(size=4)))])
def test_a_mixture_adds_from_left_to_right(x):
    U = mixture(9, x)
    total = (U.operators[0] @ x) * U.weights[:1]
    for k in range(1, 9):
        total = total + (U.operators[k] @ x) * U.weights[k : k + 1]
    mixed = U @ x
    for a, b in zip(getattr(mixed, "arrays", (mixed,)), getattr(total, "arrays", (total,)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_memory_of_a_mixture_does_not_grow_with_the_experts():
    v = RNG.normal(size=10_000)
    few, many = mixture(3, v), mixture(48, v)
    assert peak(lambda: many @ v) < 1.1 * peak(lambda: few @ v)


def test_a_product_cuts_an_array_once(monkeypatch):
    """And its blocks are the slices that they were: equal to the oracles alone, to the last bit."""
    stops = [0, 1, 4, 6, 10, 11, 16]
    cuts = [slice(*pair) for pair in itertools.pairwise(stops)]
    oracle = Product([OGD(Box()) for _ in cuts], [(cut.stop - cut.start,) for cut in cuts])
    monkeypatch.setattr(product, "accumulate", None)  # it would fail if it were called again
    x, m = RNG.normal(size=(2, 3, 16))
    state, alone = oracle.init(x), [OGD(Box()).init(x[:, cut]) for cut in cuts]
    for s in RNG.normal(size=(3, 3, 16)):
        played = oracle.play(state, m) @ m
        for part, cut in zip(alone, cuts, strict=True):
            np.testing.assert_array_equal(played[:, cut], OGD(Box()).play(part, m[:, cut]) @ m[:, cut])
        state = oracle.learn(state, LinearLoss(s, m, 1.0))
        own = [LinearLoss(s[:, cut], m[:, cut], 1.0) for cut in cuts]
        alone = [OGD(Box()).learn(part, loss) for part, loss in zip(alone, own, strict=True)]
