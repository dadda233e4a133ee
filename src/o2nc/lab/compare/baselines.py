"""Baselines and conversions of other papers, each with a grid from which its rate is chosen afterwards."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...conversions import Conversion
from ...rivals import (
    SGD,
    Adam,
    BallOGD,
    DoublyOptimisticConversion,
    EpisodicConversion,
    HeavyBall,
    ScheduleFreeSGD,
    SurrogateSGD,
    UpdatesConversion,
)
from ..objectives.smooth import Objective
from ..runner.paired import HORIZON, Method

# The grids, the same for all objectives: factors of what each baseline multiplies by them, and the rates of Adam.
FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
B = 0.9  # the discount of Adam as discounted FTRL


class Baseline(NamedTuple):
    """What it is, its grid, and how it is made of an entry of it, an objective and a number of rounds."""

    label: str
    grid: Sequence[float]
    make: Callable[[float, Objective, int], Conversion]


def _eta(f: Objective) -> float:
    return f.constants(HORIZON).eta


def _doubly_optimistic(factor: float, f: Objective, rounds: int) -> Conversion:
    gap = f.first_gap
    rho = f.beta**1.5 / math.sqrt(gap) / factor
    return DoublyOptimisticConversion.tuned(gap, f.beta, f.sigma, rho, max(rounds, 2))


def _episodic(factor: float, f: Objective, rounds: int) -> Conversion:
    learner = BallOGD(D=math.sqrt(f.first_gap / f.beta), eta=factor * _eta(f))
    return EpisodicConversion(learner, epoch=math.isqrt(rounds), T=rounds, beta=f.beta)


BASELINES = {
    "sgd-best": Baseline("SGD, best rate", FACTORS, lambda k, f, T: SGD(k * _eta(f))),
    "heavy-ball": Baseline("heavy ball, best rate", FACTORS, lambda k, f, T: HeavyBall(k * _eta(f))),
    "adam": Baseline("Adam, best rate", RATES, lambda rate, f, T: Adam(rate)),
    "adam-ftrl": Baseline(
        "Adam as discounted FTRL, best rate", RATES, lambda rate, f, T: UpdatesConversion.adam(rate, B, T)
    ),
    "schedule-free": Baseline(
        "schedule-free SGD, best rate", FACTORS, lambda k, f, T: ScheduleFreeSGD(k * _eta(f))
    ),
    "doubly-optimistic": Baseline("doubly optimistic, best 1/rho", FACTORS, _doubly_optimistic),
    "surrogate": Baseline(
        "surrogate losses, best alpha", FACTORS, lambda k, f, T: SurrogateSGD(f.beta, k * 2 * f.beta * f.first_gap)
    ),
    "episodic": Baseline("convex episodes, best rate", FACTORS, _episodic),
}  # fmt: skip


def baselines() -> dict[str, dict[float, Method]]:
    r"""The baselines whose learning rate is chosen afterwards, by name and by entry of their grid.

    What is multiplied by `FACTORS`: for SGD, heavy ball, schedule-free SGD and the learner of convex episodes the
    paper's step size $\eta$; for surrogate losses $\alpha=2\beta D$, with D the first gap. The doubly optimistic
    conversion is tuned for $\rho=\beta^{3/2}/\sqrt D$ over a factor: the larger that is, the longer are its steps.
    Adam, also as discounted FTRL, has `RATES`. The choice is made by the mean gap at the last iteration of the very
    runs that are reported, which favours the baselines. All take as many samples as the others; two a step those with
    surrogate losses and double optimism.

    Reference: not in the paper; the controls of this library.

    >>> {name: len(grid) for name, grid in baselines().items() if name in ("sgd-best", "adam", "surrogate")}
    {'sgd-best': 10, 'adam': 11, 'surrogate': 10}
    """

    def method(name: str, entry: float) -> Method:
        label, _, make = BASELINES[name]
        return Method(f"{name} {entry:g}", label, None, baseline=lambda f, rounds: make(entry, f, rounds))

    return {name: {entry: method(name, entry) for entry in one.grid} for name, one in BASELINES.items()}
