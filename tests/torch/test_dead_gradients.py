"""Where gradients end, steps end: what a parameter still moves is of the order of AdamW's drift."""

import numpy as np
import pytest
import torch

from o2nc import Blocks
from o2nc.conversions import PracticalConversion
from o2nc.torch import Hedged

LR, ALIVE, DEAD = 1e-3, 100, 2000
NAMES = ("polar", "sign", "shampoo", "muon", "soap")
ORDER = 10  # times AdamW

pytestmark = pytest.mark.slow


def drift(make, gradient, shape=(8, 6)):
    """How far the entries of a parameter go after round ALIVE, at most; ``gradient`` of t and a generator."""
    torch.manual_seed(0)
    x = torch.nn.Parameter(torch.randn(shape))
    opt = make([x])
    for t in range(ALIVE + DEAD):
        if t == ALIVE:
            before = x.detach().clone()
        x.grad = gradient(t)
        opt.step()
    return x.detach() - before


def adamw(params):
    return torch.optim.AdamW(params, LR, weight_decay=0.0)


def dead_layer(t):
    return 0.01 * torch.randn(8, 6) + 0.01 if t < ALIVE else torch.zeros(8, 6)


def frozen_gate(t):
    """One column is dead; the others are alive."""
    g = 0.01 * torch.randn(8, 6) + 0.01
    g[:, 0] *= t < ALIVE
    return g


def rare_rows(t):
    """The rows of an embedding: the first was seen last in round ALIVE - 1."""
    g = torch.zeros(8, 6)
    seen = t % 7 + 1
    g[seen] = 0.01 * torch.randn(6)
    if t < ALIVE and t % 20 == 19:
        g[0] = 0.01 * torch.randn(6)
    return g


@pytest.mark.parametrize("name", NAMES)
def test_a_dead_layer_stops(name):
    own = drift(lambda p: Hedged(p, LR, (name,)), dead_layer).abs().max()
    assert 0 < own < ORDER * drift(adamw, dead_layer).abs().max()


@pytest.mark.parametrize("options", [{}, {"foreach": False}], ids=str)
def test_a_dead_entry_of_a_live_tensor_stops(options):
    own = drift(lambda p: Hedged(p, LR, ("sign",), **options), frozen_gate)
    assert own[:, 0].abs().max() < ORDER * drift(adamw, frozen_gate)[:, 0].abs().max()
    assert own[:, 1:].abs().min() > 0.05


def test_a_row_that_is_rarely_seen_stops():
    own = drift(lambda p: Hedged(p, LR, ("sign",)), rare_rows)[0]
    assert own.abs().max() < ORDER * drift(adamw, rare_rows)[0].abs().max()


def test_the_core_stops_too():
    experts, x, rng = ("polar", "sign", "muon", "soap"), np.zeros((8, 6)), np.random.default_rng(0)
    conversion, x = PracticalConversion(experts, lr=LR), Blocks((x,))
    state = conversion.init(x)
    for t in range(600):
        if t == ALIVE:
            before = x
        s = 0.01 * rng.normal(size=(8, 6)) + 0.01 if t < ALIVE else np.zeros((8, 6))
        dx, state = conversion.update(Blocks((s,)), state, x)
        x = x + dx
    assert np.abs((x - before).arrays[0]).max() < 40 * LR
    assert np.abs(dx.arrays[0]).max() < 1e-12
