"""Choose the learners of `o2nc reproduce` on random objectives: python benchmarks/choosing.py [--objectives 24]."""

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from development import HORIZON, Development, Floats, family
from plain import Diagonal, Fixed, Gradient, Mixed, Newton, Pair, Scalar

from o2nc.certificates import sharp_rate, sharp_step

ROUNDS = 3000
REPLICATIONS = 8
FLOOR = 0.01  # a ratio below counts as this, so that no objective alone decides
LIMIT = 1.05  # of the worst ratio


class Rates(NamedTuple):
    """The tracking rate and the step."""

    a: float
    eta: float


class Group(NamedTuple):
    """Variants of a learner that run together: their names, and the learner from the declared constants and P."""

    names: Sequence[str]
    make: Callable[[Development], Any]


def paper(f: Development, rounds: int) -> Rates:
    """Those of the paper, whatever the rounds, for T = 20000."""
    G = math.sqrt(f.M * f.beta)
    a = G / max(G, f.sigma * math.sqrt(HORIZON))
    return Rates(a, a / (64 * f.beta))


def sharp(f: Development, rounds: int) -> Rates:
    """Those of the sharp theorem, from the first gap."""
    a = sharp_rate(f.D, f.beta, f.sigma, rounds)
    return Rates(a, sharp_step(f.beta, a)[1])


class Half:
    """(I + P)/2, from which the paper's Hedge hardly moves."""

    def __init__(self, basis: Floats) -> None:
        self.P = Fixed(basis)

    def play(self, m: Floats) -> Floats:
        """(m + P m)/2."""
        return (m + self.P.play(m)) / 2

    def learn(self, s: Floats) -> None:
        """Nothing."""


def scaled(ks: Sequence[float], unit: float) -> list[float]:
    return [k * unit for k in ks]


HULL = (0.001, 0.01, 0.1, 1, 10, 100)
BOX = (0.001, 0.01, 0.1, 1, 10, 100, 1000)
BOTH = (0.01, 0.1, 1, 10)
NEWTON = (0.01, 0.1, 1, 10, 100)
GROUPS = (
    Group(["tracker with I"], lambda f: Fixed()),
    Group(["SGD"], lambda f: None),
    Group(["(I + P)/2"], lambda f: Half(f.basis)),
    Group(["tracker with P"], lambda f: Fixed(f.basis)),
    Group([f"P: LS [I, P], {k} v" for k in HULL], lambda f: Pair(scaled(HULL, f.sigma**2), f.basis)),
    Group(["P: PredictionHedge [I, P]"], lambda f: Mixed([Fixed(), Fixed(f.basis)], fast=True)),
    Group(["P: AdaHedge [I, P]"], lambda f: Mixed([Fixed(), Fixed(f.basis)])),
    Group([f"P: AdaHedge (I, LS [I, P]), {k} v" for k in BOTH], lambda f: Mixed([Fixed(), Pair(scaled(BOTH, f.sigma**2), f.basis)])),
    Group([f"P: AdaHedge (LS [I, P], LS Box), {k}" for k in BOTH], lambda f: Mixed([Pair(scaled(BOTH, f.sigma**2), f.basis), Diagonal(scaled(BOTH, f.sigma**2/f.d))])),
    Group([f"LS Box, {k} v/d" for k in BOX], lambda f: Diagonal(scaled(BOX, f.sigma**2 / f.d))),
    Group([f"LS Box, {k} v" for k in BOX[:-2]], lambda f: Diagonal(scaled(BOX[:-2], f.sigma**2))),
    Group([f"Newton [0, {b}], {k} v/d" for b in (1, 2) for k in NEWTON], lambda f: Newton(scaled(2 * NEWTON, f.sigma**2 / f.d), [1] * 5 + [2] * 5)),
    Group(["AdaGrad Box"], lambda f: Gradient()),
    Group([f"LS [I], {k} v" for k in (0.01, 1)], lambda f: Scalar(scaled((0.01, 1), f.sigma**2))),
    Group([f"AdaHedge (I, LS Box), {k} v/d" for k in BOTH], lambda f: Mixed([Fixed(), Diagonal(scaled(BOTH, f.sigma**2 / f.d))])),
    Group([f"AdaHedge (LS [I], LS Box), {k} v/d" for k in BOTH], lambda f: Mixed([Scalar(scaled(BOTH, f.sigma**2)), Diagonal(scaled(BOTH, f.sigma**2 / f.d))])),
)
NAMES = [name for group in GROUPS for name in group.names]


class Measured(NamedTuple):
    """Of each variant, the means over the replications."""

    gap: Floats  # of the last point
    square: Floats  # the average squared gradient


def play(f: Development, rates: Rates, groups: Sequence[Group], rounds: int, replications: int) -> Measured:
    """Algorithm 1 with every variant and the same noise; |m| stays far below G0, so its projection is left out."""
    rng = np.random.default_rng(1)
    sizes = np.cumsum([0] + [len(group.names) for group in groups])
    parts = [slice(*ends) for ends in zip(sizes[:-1], sizes[1:], strict=True)]
    learners = [group.make(f) for group in groups]
    x = np.broadcast_to(f.x, (sizes[-1], replications, f.d)).copy()
    m, square = np.zeros_like(x), np.zeros(x.shape[:-1])
    for t in range(rounds):
        g = f.value_and_gradient(x)[1]
        square += np.einsum("...i,...i->...", g, g)
        s = g + f.noise(rng, replications, late=2 * t >= rounds)
        for part, learner in zip(parts, learners, strict=True):
            if learner is None:
                x[part] -= rates.eta * s[part]
            else:
                x[part] -= rates.eta * learner.play(m[part])
                learner.learn(s[part])
        m = (1 - rates.a) * m + rates.a * s
    return Measured(np.mean(f.value_and_gradient(x)[0], axis=-1), np.mean(square, axis=-1) / rounds)
