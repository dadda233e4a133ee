"""What a step costs besides the entries of tensors, which have one here."""

from collections.abc import Mapping, Sequence

from o2nc.torch import Hedged

from .methods import PAIR
from .phases import BOOKKEEPING, phases
from .timing import parameters

COUNTS = (100, 1_000, 10_000, 50_000)
SHARINGS = ("shared", "tensor")
STEPS = 5
Times = dict[int, dict[str, float]]


def bookkeeping(weights: str, counts: Sequence[int] = COUNTS, steps: int = STEPS) -> Times:
    """Milliseconds a step of the learner, for each number of tensors; "rest" is all else that a step does."""
    found = {}
    for n in counts:
        opt = Hedged(parameters([(1,)] * n), experts=PAIR, weights=weights)
        found[n] = phases(opt, steps if n >= 10_000 else 10 * steps, BOOKKEEPING)
    return found


def of_learner(times: Mapping[str, float]) -> float:
    """The milliseconds of the learner alone.

    >>> of_learner({"numbers": 1.0, "coefficients": 2.0, "learn": 3.0, "rest": 90.0})
    6.0
    """
    return sum(times[name] for name in BOOKKEEPING)


def lines(found: Times) -> list[str]:
    """A line a number of tensors: the learner's time, in all and a tensor, and that of the whole step."""
    text = []
    for n, times in found.items():
        parts = ", ".join(f"{name} {times[name]:.3f}" for name in BOOKKEEPING)
        whole, mine = sum(times.values()), of_learner(times)
        each = f"{1e3 * mine / n:.3f} us a tensor; the whole step {whole:.2f} ms, {1e3 * whole / n:.2f} us a tensor"
        text.append(f"  {n:6d} tensors: learner {mine:.3f} ms ({parts}), {each}")
    return text
