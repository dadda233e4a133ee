"""Finite samples give finite directions, for every direction, where decompositions are arbitrary or fail."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from conftest import BACKENDS, numpy_of
from degenerate import samples
from o2nc import Blocks
from o2nc.directions import Leon, OnMatrices, Polar, Shampoo, Soap, registry

torch = pytest.importorskip("torch")

from o2nc.torch import Hedged  # noqa: E402

CASES = {name: entry.facts.get("example", entry.make) for name, entry in registry.items()}
CASES |= {"exact polar factor": lambda: Polar(steps=None), "soap in every round": lambda: Soap(every=1)}
LIBRARIES = [  # JAX takes seconds to compile each
    pytest.param(b, id=b.name, marks=pytest.mark.slow if b.name == "jax-jit" else ())
    for b in BACKENDS
    if b.name in ("numpy", "torch", "jax-jit")
]
SHAPES = [(12, 12), (15, 6)]
SCALES = [1e-20, 1.0, 1e15]


@pytest.mark.parametrize("lib", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_on_degenerate_sequences(lib, dtype, name):
    """Of all sizes, side by side, in 20 rounds; the tracker is the sample."""
    direction = CASES[name]()
    if isinstance(direction, OnMatrices):
        direction = replace(direction, stacks=True)
    S = [np.stack([c * a for a in samples(*shape, rounds=20).values() for c in SCALES]) for shape in SHAPES]
    S = [np.where(np.abs(a) < 1e-30, 0.0, a) for a in S]

    def run(*rows):
        s = Blocks(rows)
        return direction.learn(state, s), direction.direction(state, s)

    state = direction.init(Blocks(tuple(lib.array(a[:, 0], dtype) for a in S)))
    step = lib.transform(lambda state, s: ((new := direction.learn(state, s)), direction.direction(new, s)))
    for t in range(20):
        state, d = step(state, Blocks(tuple(lib.array(a[:, t], dtype) for a in S)))
        for found in d.arrays:
            assert np.isfinite(numpy_of(found)).all(), t


def dense(*sizes):
    layers = [torch.nn.Linear(p, q) for p, q in pairwise(sizes)]
    return torch.nn.Sequential(*(each for layer in layers for each in (layer, torch.nn.ReLU())))


def sparse_rows(width=1000):
    """2,000 x 1,000 inputs of which one in a hundred is not 0, batch 8."""
    X = torch.randn(2000, width) * (torch.rand(2000, width) < 0.01)
    return torch.nn.Sequential(dense(width, 32, 32), torch.nn.Linear(32, 1)), X, 8


def padded_images():
    """Images of digits with borders of zeros, batch 1."""
    images = torch.zeros(50, 16, 16)
    images[:, 4:12, 4:12] = torch.rand(50, 8, 8)
    return torch.nn.Sequential(dense(256, 48, 48), torch.nn.Linear(48, 10)), images.flatten(1), 1


def deep():
    """16 layers of 64 with ReLUs, batch 64: gradients hardly reach the first."""
    return dense(*[64] * 17), torch.randn(256, 64), 64


NETWORKS = {"sparse rows": (lambda: sparse_rows(200), 4), "padded images": (padded_images, 12), "deep": (deep, 6)}
EXPERTS = {
    "the default": ("muon", "soap"),
    "shampoo": ("shampoo", "adam"),
    "leon": ("leon", "adam"),
    "each alone": tuple(name for name, entry in registry.items() if "needs" not in entry.facts),
    "others": (Soap(every=1), Shampoo(eps=1e-30), Leon(eta=0.0)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("experts", EXPERTS)
@pytest.mark.parametrize("network", NETWORKS)
def test_on_networks(network, experts, dtype):
    """In torch, where a direction that is not finite is an error, and so is a decomposition that fails."""
    build, steps = NETWORKS[network]
    train(build, steps, EXPERTS[experts], dtype)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("experts", ["the default", "shampoo"])
def test_on_a_thousand_sparse_columns(experts, seed):
    train(sparse_rows, 4, EXPERTS[experts], torch.float32, seed)


def train(build, steps, experts, dtype, seed=0):
    """Some steps, after which all parameters are finite."""
    torch.manual_seed(seed)
    model, X, batch = build()
    model, X = model.to(dtype), X.to(dtype)
    opt = Hedged(model.parameters(), experts=experts)
    for _ in range(steps):
        opt.zero_grad()
        model(X[torch.randint(len(X), (batch,))]).square().mean().backward()
        opt.step()
    assert all(p.isfinite().all() for p in model.parameters())
