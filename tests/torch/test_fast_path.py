"""`Hedged` is a fast path of `PracticalConversion`, and its kernels are a second spelling of the directions."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import torch
from training import EVERY, NAMED, half, halved, tensors

from o2nc import Blocks
from o2nc.conversions import LearnedScale, PracticalConversion
from o2nc.directions import Adam, Function, Mask, Momentum, Muon, Polar, Shampoo, Sign, Soap, registry
from o2nc.learners import ShortMemoryHedge
from o2nc.torch import Hedged
from o2nc.torch.kernels import View, kernel_of
from o2nc.vectors import apply


class Both(NamedTuple):
    """The state of `Clipped`."""

    top: Blocks
    bottom: Blocks


@dataclass(frozen=True)
class Clipped:
    """A user's direction that is elementwise and has a state: the tracker between the extreme samples so far."""

    name: ClassVar[str] = "clipped"
    scale_free: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def init(self, x):
        return Both(apply(torch.zeros_like, x), apply(torch.zeros_like, x))

    def direction(self, state, m):
        return apply(lambda a, top, bottom: torch.maximum(torch.minimum(a, top), bottom), m, *state)

    def learn(self, state, s):
        return Both(apply(torch.maximum, state.top, s), apply(torch.minimum, state.bottom, s))


@dataclass(frozen=True)
class Centred:
    """A user's direction that needs the whole of a tensor and has a state: the mean of a mean is left out."""

    name: ClassVar[str] = "centred"
    scale_free: ClassVar[bool] = True
    whole: ClassVar[bool] = True

    def init(self, x):
        return (apply(torch.zeros_like, x),)

    def direction(self, state, m):
        return apply(lambda a, b: (a - b.mean()) / (1 + a.square().mean().sqrt()), m, *state)

    def learn(self, state, s):
        return (apply(lambda a, b: 0.9 * a + 0.1 * b, state[0], s),)


EXPERTS = {
    **{name: (name,) for name in NAMED},
    "every": EVERY,
    "objects": (Momentum(), Adam(b2=0.9, eps=1e-3), Polar(steps=None, fallback=Sign()), Shampoo()),
    "adam of two kinds": ("polar", Adam(b2=0.5)),
    "your own": ("adam", Clipped(), Centred(), Function(torch.tanh, whole=False)),
    "shampoo": ("momentum", "shampoo"),
    "muon and soap": ("momentum", "muon", Soap(every=3)),
    "others of them": (Muon(length="original", stacks=False), Soap(b1=None, every=1, limit=4, length=0.2)),
}


def model(seed):
    """Tensors of random shapes, a scalar and a matrix among them."""
    rng = np.random.default_rng(seed)
    shapes = [(), (3, 4), *(tuple(rng.integers(1, 6, size=rng.integers(1, 4))) for _ in range(4))]
    return rng, [torch.as_tensor(np.asarray(rng.normal(size=shape))) for shape in shapes]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", EXPERTS)
def test_hedged_is_the_practical_conversion(name, seed):
    """On random models, whose gradients grow and shrink; 0 at first for one of the tensors."""
    rng, values = model(seed)
    params = [torch.nn.Parameter(a.clone()) for a in values]
    options = {"eps": 1e-4, "weight_decay": 0.1}
    opt = Hedged(params, 0.02, EXPERTS[name], betas=(0.8, 0.95), rho=0.9, c=3.0, **options)
    learner = ShortMemoryHedge(rho=0.9, c=3.0)
    scale = LearnedScale()
    conversion = PracticalConversion(EXPERTS[name], lr=0.02, b1=0.8, b2=0.95, learner=learner, scale=scale, **options)
    x = Blocks(tuple(a.clone() for a in values))
    state = conversion.init(x)
    for t in range(10):
        s = [torch.as_tensor(np.asarray((1 + t % 3) * rng.normal(size=a.shape))) + a for a in x.arrays]
        s[2] = s[2] * (t > 1)
        for p, a in zip(params, s, strict=True):
            p.grad = a.clone()
        opt.step()
        dx, state = conversion.update(Blocks(tuple(s)), state, x)
        x = x + dx
        for p, a in zip(params, x.arrays, strict=True):
            torch.testing.assert_close(p.detach(), a, rtol=0, atol=1e-12)
    weights = list(opt.report()["groups"][0]["weights"].values())
    np.testing.assert_allclose(weights, conversion.weights(state).numpy().ravel(), rtol=0, atol=1e-12)
    if len(EXPERTS[name]) > 1:
        assert np.ptp(weights) > 1e-4  # it has learned something


@pytest.mark.parametrize("direction", [Momentum(), Adam(b2=0.8, eps=1e-3), Sign(), Mask(half)], ids=lambda d: d.name)
def test_a_kernel_is_the_pure_formula(direction):
    """With the factor of its tensor; on a flat tensor, and on a piece of it."""
    rng = np.random.default_rng(0)
    m, *samples = tensors(rng.normal(size=(6, 40)))
    state = direction.init(m)
    for s in samples:
        state = direction.learn(state, s)
    root = sum(0.2 * 0.8**k * s.square() for k, s in enumerate(reversed(samples))).sqrt()
    scale = (1 - 0.8**5) ** 0.5
    kernel = kernel_of(direction.name, direction, True)
    kept = {f"mask.{direction.name}": half(m).to(m.dtype)}
    view = View(m, root, 1e-3 * scale, kept)
    expected = direction.direction(state, m)
    factor = scale if kernel.factor == "adam" else 1.0
    torch.testing.assert_close(factor * kernel.of(view), expected, rtol=1e-13, atol=0)
    piece = slice(7, 19)
    kept = {key: a[piece] for key, a in kept.items()}
    view = View(m[piece], root[piece], 1e-3 * scale, kept)
    torch.testing.assert_close(factor * kernel.of(view), expected[piece], rtol=1e-13, atol=0)


def test_every_direction_of_the_registry_trains():
    """By its name, or as its example."""
    for name, entry in registry.items():
        expert = entry.facts["example"]() if "needs" in entry.facts else name
        p = torch.nn.Parameter(torch.tensor([[2.0, -1.0], [0.5, 1.5]]))
        opt = Hedged([p], 0.05, (expert,))
        for _ in range(20):
            p.grad = 2 * p.detach()
            opt.step()
        assert p.abs().max() < 1.9, name


@pytest.mark.parametrize("name", ["every", "your own", "objects", "muon and soap"])
def test_many_tensors_are_those_one_by_one(name):
    """Packed in buckets or not, with weights for each tensor."""
    _, values = model(5)
    params, others = ([torch.nn.Parameter(a.clone()) for a in values] for _ in range(2))
    opt = Hedged(params, 0.02, EXPERTS[name], weights="tensor", scale="fixed")
    alone = [Hedged([p], 0.02, EXPERTS[name], scale="fixed") for p in others]
    for t in range(5):
        rng = np.random.default_rng(t)
        for p, q in zip(params, others, strict=True):
            p.grad = torch.as_tensor(np.asarray(rng.normal(size=p.shape)))
            q.grad = p.grad.clone()
        opt.step()
        for each in alone:
            each.step()
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-13)


def test_a_function_may_change_what_it_is_given():
    params, others = ([torch.nn.Parameter(torch.ones(3, dtype=torch.float64))] for _ in range(2))
    one, two = Hedged(params, 0.1, (halved,)), Hedged(others, 0.1, (lambda u: u.mul_(0.5),))
    for _ in range(3):
        for (p,), opt in ((params, one), (others, two)):
            p.grad = torch.arange(3.0, dtype=torch.float64)
            opt.step()
    torch.testing.assert_close(params[0], others[0], rtol=0, atol=0)
