"""Where gradients end, steps end: what a parameter still moves is of the order of AdamW's drift, at the same rate."""

import math

import numpy as np
import pytest
import torch

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.directions.base import LENGTH
from o2nc.torch import Hedged

LR, ALIVE, DEAD = 1e-3, 100, 2000
NAMES = ("polar", "sign", "shampoo", "leon", "muon", "soap")
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
    return torch.optim.AdamW(params, LR, betas=(0.95, 0.999), weight_decay=0.0)  # those of `Hedged`


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
    own = drift(lambda p: Hedged(p, LR, (name,), scale="fixed"), dead_layer).abs().max()
    assert 0 < own < ORDER * drift(adamw, dead_layer).abs().max()


@pytest.mark.parametrize("options", [{}, {"foreach": False}], ids=str)
def test_a_dead_entry_of_a_live_tensor_stops(options):
    own = drift(lambda p: Hedged(p, LR, ("sign",), scale="fixed", **options), frozen_gate)
    assert own[:, 0].abs().max() < ORDER * drift(adamw, frozen_gate)[:, 0].abs().max()
    assert own[:, 1:].abs().min() > 0.05


def test_a_row_that_is_rarely_seen_stops():
    own = drift(lambda p: Hedged(p, LR, ("sign",), scale="fixed"), rare_rows)[0]
    assert own.abs().max() < ORDER * drift(adamw, rare_rows)[0].abs().max()


def test_a_dead_model_stops_with_the_default_experts():
    """The scale has learned that the slope goes on; of its last average it learns a factor more, and no more."""
    rates, scale = [], LearnedScale()
    root = math.sqrt(scale.b)
    more = math.exp(scale.step * root / (1 - root))  # the averages decay by b, their ratio by its root, from 1 at most

    def make(params):
        opt = Hedged(params, LR)
        opt.register_step_post_hook(lambda opt, *_: rates.append(opt.report()["groups"][0]["rate"]))
        return opt

    own = drift(make, dead_layer).abs().max()
    before, after = rates[ALIVE - 1], rates[-1]
    assert before > 10 * LR
    assert before <= after < more * before
    assert 0 < own < ORDER * drift(adamw, dead_layer).abs().max() * after / LR
    assert rates[ALIVE + DEAD // 2] == pytest.approx(after, rel=1e-12)


def test_a_dead_layer_stops_while_another_learns():
    """With the default experts; the scale is that of both. After 500 steps the tracker is far below eps, and fades."""
    torch.manual_seed(0)
    dead, alive = (torch.nn.Parameter(torch.randn(8, 6).double()) for _ in range(2))
    opt, rates = Hedged([dead, alive], LR), []
    for t in range(ALIVE + 600):
        if t == ALIVE + 500:
            before = dead.detach().clone(), alive.detach().clone()
        dead.grad = dead_layer(t).double()
        alive.grad = 0.01 * (alive.detach() + torch.randn(8, 6))
        opt.step()
        rates.append(opt.report()["groups"][0]["rate"])
    assert max(rates[-100:]) > 1.01 * min(rates[-100:])
    faded = 0.02 * 0.95**500 / 1e-8 / (1 - 0.95)  # the sum of what is left of a length
    assert (dead - before[0]).square().mean().sqrt() < LENGTH * max(rates[-100:]) * faded
    assert (alive - before[1]).abs().max() > 0.01


def test_the_core_stops_too():
    """A mixture fades where the tracker is below eps, which takes log(size / eps) / -log(b1) steps."""
    experts, x, rng = ("polar", "sign", "muon", "soap"), np.zeros((8, 6)), np.random.default_rng(0)
    conversion, x = PracticalConversion(experts, lr=LR), Blocks((x,))
    state = conversion.init(x)
    for t in range(800):
        if t == ALIVE:
            before = x
        s = 0.01 * rng.normal(size=(8, 6)) + 0.01 if t < ALIVE else np.zeros((8, 6))
        dx, state = conversion.update(Blocks((s,)), state, x)
        x = x + dx
    steps = math.log(0.02 / conversion.eps) / -math.log(conversion.b1) + 1 / (1 - conversion.b1)
    assert np.sqrt(np.mean((x - before).arrays[0] ** 2)) < LENGTH * LR * steps
    assert np.abs(dx.arrays[0]).max() < 1e-12
