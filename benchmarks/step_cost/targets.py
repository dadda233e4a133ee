"""What was aimed at, beside what was found."""

from collections.abc import Mapping
from typing import NamedTuple

from .bookkeeping import Times, of_learner
from .methods import FOREACH, FUSED, MUON
from .shapes import WIDEST
from .sleep import EXPERTS, default, only
from .timing import Costs, ratio

NARROWEST = 32  # of the widths that have a target
LINEAR = 1.5  # a tensor among 50,000 may cost this many times what it does among 10,000


class Target(NamedTuple):
    """A number that should be at most ``most``; if it is a ratio of times, it has one of CPU time beside it."""

    words: str
    found: float
    most: float
    cpu: float | None = None

    @property
    def is_met(self) -> bool:
        return self.found <= self.most

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "MISSED"
        beside = "" if self.cpu is None else f" (CPU {self.cpu:.2f})"
        return f"  {self.words}: {self.found:.2f}{beside}, target at most {self.most:g}: {verdict}"


class Goal(NamedTuple):
    """A ratio of two methods."""

    name: str
    base: str
    most: float

    def judge(self, title: str, costs: Costs) -> list[Target]:
        """The target, if both were timed."""
        found = ratio(costs, self.name, self.base)
        words = f"{title}: {self.name} / {self.base}"
        return [Target(words, found.wall, self.most, found.cpu)] if found else []


ELEMENTWISE = Goal("Hedged momentum+adam", FOREACH, 1.5)
WITH_MUON = Goal("Hedged muon+adam", MUON, 1.2)
GPT = (
    Goal("Hedged momentum+adam plain", FOREACH, 1.0),
    Goal("Hedged momentum+adam plain compiled", FUSED, 2.0),
    Goal("Hedged momentum+adam plain compiled", FOREACH, 0.5),
    Goal("Hedged momentum+adam compiled", FUSED, 3.0),
    Goal("Hedged muon+adam", MUON, 1.1),
)
ASLEEP = tuple(Goal(default(winner), only(winner), 1.15) for winner in EXPERTS)
TEMPORARIES = 1.2
MILLISECONDS = 0.2  # of the learner with 100 tensors


def of_curve(curve: Mapping[int, Costs]) -> list[Target]:
    """The targets over widths; beyond some, directions of matrices are not timed."""
    found = []
    for width, costs in curve.items():
        found += ELEMENTWISE.judge(f"width {width}", costs)
        if NARROWEST <= width <= WIDEST:
            found += WITH_MUON.judge(f"width {width}", costs)
    return found


def of_models(models: Mapping[str, Costs]) -> list[Target]:
    """The targets of the GPT; other models have none."""
    return [target for goal in GPT for target in goal.judge("GPT", models.get("GPT", {}))]


def of_sleep(asleep: Mapping[str, Costs]) -> list[Target]:
    """The targets of the default once one expert has the weight."""
    return [target for title, costs in asleep.items() for goal in ASLEEP for target in goal.judge(title, costs)]


def of_memory(found: Mapping[str, float]) -> list[Target]:
    """The targets of temporaries; AdamW has none."""
    return [
        Target(f"tiny: temporaries of {name} / parameters", value, TEMPORARIES)
        for name, value in found.items()
        if name != FOREACH
    ]


def of_bookkeeping(weights: str, times: Times) -> list[Target]:
    """The learner's time for few tensors, and whether it is linear in their number."""
    first, *_, before, last = times
    few, (less, more) = of_learner(times[first]), (of_learner(times[n]) / n for n in (before, last))
    words = f"weights={weights!r}, a tensor among {last} / among {before}: time of the learner"
    found = [Target(f"weights={weights!r}, {first} tensors: ms of the learner", few, MILLISECONDS)]
    return [*found, Target(words, more / less, LINEAR)]
