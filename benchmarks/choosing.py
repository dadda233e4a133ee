"""Choose the learners of `o2nc reproduce` on random objectives: python benchmarks/choosing.py [--jobs 2].

Every candidate is compared with the tracker with U = I, in two settings: the paper's rate and step, judged by the gap
after 3000 rounds, and those of the sharp theorem, judged by the average squared gradient. Chosen is the smallest
geometric mean of the ratios among those that are safe: where P is of no use, their average squared gradient is at most
a limit times the reference.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from development import HORIZON, Development, Floats, family
from plain import Diagonal, Fixed, Gradient, Mixed, Newton, Pair, Scalar

from o2nc.certificates import sharp_rate, sharp_step

ROUNDS = 3000
REPLICATIONS = 4
FLOOR = 0.01  # a ratio below counts as this, so that no objective alone decides
LIMIT, BLIND_LIMIT = 1.05, 1.15  # of the worst ratio; no learner that is not told P meets 1.05


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
    """(I + P)/2, in the place of the paper's Hedge, which does not move from it."""

    def __init__(self, basis: Floats) -> None:
        self.P = Fixed(basis)

    def play(self, m: Floats) -> Floats:
        """(m + P m)/2."""
        return (m + self.P.play(m)) / 2

    def learn(self, s: Floats) -> None:
        """Nothing."""


def of_noise(ks: Sequence[float], f: Development, share: float = 1.0) -> list[float]:
    """The lambdas k v, with v = sigma^2 times a share."""
    return [k * f.sigma**2 * share for k in ks]


PAIR = (0.0001, 0.001, 0.01, 0.1, 1, 10, 100)
BOX = (0.001, 0.01, 0.1, 1, 10, 100, 1000)
BOX_ALL = (0.1, 1, 10)
NEWTON = (0.01, 0.1, 1, 10, 100)
HIGHS = (1, 2, 10)
BOTH = (0.01, 0.1, 1)
CONTROLS = (
    Group(["tracker with I"], lambda f: Fixed()),
    Group(["SGD, the same step"], lambda f: None),
    Group(["(I + P)/2"], lambda f: Half(f.basis)),
    Group(["tracker with P"], lambda f: Fixed(f.basis)),
)
TOLD_P = (
    Group([f"LeastSquares [I, P], {k} v" for k in PAIR], lambda f: Pair(of_noise(PAIR, f), f.basis)),
    Group(["PredictionHedge [I, P]"], lambda f: Mixed([Fixed(), Fixed(f.basis)], fast=True)),
    Group(["AdaHedge [I, P]"], lambda f: Mixed([Fixed(), Fixed(f.basis)])),
    Group([f"AdaHedge over I, P and LeastSquares [I, P], {k} v" for k in BOTH],
          lambda f: Mixed([Fixed(), Fixed(f.basis), Pair(of_noise(BOTH, f), f.basis)])),
    Group([f"AdaHedge over LeastSquares [I, P], {k} v and Box, {k} v/d" for k in BOTH],
          lambda f: Mixed([Pair(of_noise(BOTH, f), f.basis), Diagonal(of_noise(BOTH, f, 1 / f.d))])),
    Group([f"AdaHedge over LeastSquares [I, P], {k} v and OnlineNewtonStep WideBox(0, 10), {k} v/d" for k in BOTH],
          lambda f: Mixed([Pair(of_noise(BOTH, f), f.basis), Newton(of_noise(BOTH, f, 1 / f.d), [10.0] * 3)])),
)  # fmt: skip
BLIND = (
    Group([f"LeastSquares Box, {k} v/d" for k in BOX], lambda f: Diagonal(of_noise(BOX, f, 1 / f.d))),
    Group([f"LeastSquares Box, {k} v" for k in BOX_ALL], lambda f: Diagonal(of_noise(BOX_ALL, f))),
    Group([f"OnlineNewtonStep WideBox(0, {b}), {k} v/d" for b in HIGHS for k in NEWTON],
          lambda f: Newton(of_noise(NEWTON, f, 1 / f.d) * len(HIGHS), np.repeat(HIGHS, len(NEWTON)))),
    Group(["AdaGrad Box"], lambda f: Gradient()),
    Group(["LeastSquares [I], 1 v"], lambda f: Scalar(of_noise((1,), f))),
    Group([f"AdaHedge over I and LeastSquares Box, {k} v/d" for k in BOTH],
          lambda f: Mixed([Fixed(), Diagonal(of_noise(BOTH, f, 1 / f.d))])),
)  # fmt: skip
GROUPS = (*CONTROLS, *TOLD_P, *BLIND)
NAMES = [name for group in GROUPS for name in group.names]


class Measured(NamedTuple):
    """Of each variant, the means over the replications."""

    gap: Floats  # of the last point
    square: Floats  # the average squared gradient


def play(f: Development, rates: Rates, groups: Sequence[Group], rounds: int, replications: int) -> Measured:
    """Algorithm 1 with every variant and the same noise; |m| stays far below G0, so its projection is left out."""
    rng = np.random.default_rng(1)
    sizes = np.cumsum([0] + [len(group.names) for group in groups])
    parts = [slice(*ends) for ends in pairwise(sizes)]
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


SETTINGS = {"the paper's a and eta, judged by the gap": paper, "sharp a and eta, judged by the average square": sharp}


def measure(f: Development, rounds: int, replications: int) -> list[Measured]:
    """In each setting."""
    return [play(f, rates(f, rounds), GROUPS, rounds, replications) for rates in SETTINGS.values()]


def mean(ratios: Floats) -> Floats:
    """The geometric mean over the objectives, the last axis."""
    return np.exp(np.mean(np.log(np.maximum(ratios, FLOOR)), axis=-1))


class Scores(NamedTuple):
    """A row of the table for each variant; ratios to the tracker with I but for ``hedge`` and ``safe``."""

    mean: Floats  # the criterion
    worst: Floats
    hedge: Floats  # the criterion over that of (I + P)/2, from which the paper's Hedge hardly moves
    square: Floats  # the mean ratio of the average squared gradients
    safe: Floats  # the worst ratio of the average squared gradient where P is of no use


def scores(runs: Sequence[Measured], useful: Sequence[bool], sharp: bool) -> Scores:
    """Of the runs on all objectives. With the paper's step the safe ratio is to the better of SGD and the tracker."""
    gap, square = (np.stack(each, axis=-1) for each in zip(*runs, strict=True))
    judged = square if sharp else gap
    base = square[0] if sharp else np.minimum(square[0], square[1])
    ratios = judged / judged[0]
    safe = np.where(useful, 0.0, square / base).max(axis=-1)
    return Scores(mean(ratios), ratios.max(axis=-1), mean(judged / judged[2]), mean(square / square[0]), safe)


def chosen(found: Scores, groups: Sequence[Group], limit: float) -> str:
    """The variant of these groups with the smallest mean among those within the limit."""
    of = [NAMES.index(name) for group in groups for name in group.names]
    safe = [k for k in of if found.safe[k] <= limit]
    return NAMES[min(safe or of, key=lambda k: found.mean[k])]


def table(found: Scores) -> str:
    """Markdown."""
    rows = [
        "| | " + " | ".join(["mean", "worst", "over (I + P)/2", "mean square", "worst square"]) + " |",
        "|---" * 6 + "|",
    ]
    for name, *values in zip(NAMES, *found, strict=True):
        rows.append(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all and print a table for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (
        ("objectives", 24),
        ("rounds", ROUNDS),
        ("replications", REPLICATIONS),
        ("jobs", 1),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    run = partial(measure, rounds=given.rounds, replications=given.replications)
    objectives = family(given.objectives, given.seed)
    if given.jobs > 1:
        with ProcessPoolExecutor(given.jobs) as pool:
            results = list(pool.map(run, objectives))
    else:
        results = [run(f) for f in objectives]
    count = len(NAMES) - len(CONTROLS)
    print(
        f"{count} candidates, {given.objectives} objectives, {given.replications} replications, {given.rounds} rounds"
    )
    for (title, rates), runs in zip(SETTINGS.items(), zip(*results, strict=True), strict=True):
        found = scores(runs, [f.useful for f in objectives], rates is sharp)
        print(f"\n{title}\n\n{table(found)}\n")
        print(f"told P: {chosen(found, TOLD_P, LIMIT)}\nnot told P: {chosen(found, BLIND, BLIND_LIMIT)}")


if __name__ == "__main__":
    main()
