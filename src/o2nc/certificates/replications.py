"""Certificates from the sums of one run or of several: how they are labelled, and the intervals of their bounds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from .arguments import is_number, replicated
from .certificate import Certificate
from .student import check_confidence, mean_interval


def labelled(theorem: Callable[..., Certificate], regrets: Iterable[float]) -> Certificate:
    """A theorem with the regrets of some replications: its bound grows with the regret, so their interval is its own.

    Args:
        theorem: from a regret, and the details of the certificate, to the certificate.
        regrets: one a replication; that of a single run stands for its expectation, and the label says so.

    Reference: Theorems 1 and 2, which are about the expected regret.

    >>> from functools import partial
    >>> from o2nc import Smooth
    >>> from o2nc.certificates import theorem1
    >>> constants = Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=97)
    >>> found = labelled(partial(theorem1, constants), [1.0, 3.0])
    >>> found.label, found.replications, found.bound == theorem1(constants, 2.0).bound
    ('a-posteriori', 2, True)
    """
    numbers = replicated("regrets", regrets)
    if len(numbers) == 1:
        note = "the regret of one run stands for its expectation"
        return theorem(numbers[0], label="plug-in", replications=1, note=note)
    low, high = (theorem(end).bound for end in mean_interval(numbers))
    return theorem(fmean(numbers), label="a-posteriori", replications=len(numbers), interval=(low, high))


def beside(measured: float | Iterable[float] | None, confidence: float = 0.95) -> dict[str, Any]:
    """What a certificate says of its left side: a number that is known, or the mean of replications with its interval.

    Reference: Theorems 1 and 2, which are between expectations.

    >>> beside([1.0, 2.0, 3.0], confidence=0.9)["measured"]
    2.0
    """
    if measured is None or is_number(measured):
        return {"measured": measured}
    values = replicated("measured", measured)  # type: ignore[arg-type]
    interval = mean_interval(values, confidence) if len(values) > 1 else None
    return {"measured": fmean(values), "measured_interval": interval}


def estimated(
    name: str,
    linear: Mapping[str, Sequence[float]],
    growing: Sequence[Sequence[float]],
    rest: Callable[..., dict[str, float]],
    confidence: float,
    measured: float | Iterable[float] | None,
    T: int = 1,
    trivial: float | None = None,
) -> Certificate:
    """The certificate of a bound made of means over replications, with a Bonferroni interval.

    Args:
        name: of the certificate.
        linear: the terms that are means, by name, one number for each replication.
        growing: the numbers whose means the other terms grow with; a mean is at least 0.
        rest: from those means to the other terms by name.
        confidence: of the interval: Student's intervals of the linear total and of each of ``growing`` hold together.
        measured: the left side, where it is known, or for every replication an unbiased estimate of it.
        T: by which all is divided.
        trivial: what the left side is at most at every point, where that is known.

    >>> print(estimated("a bound", {"mean": [1.0, 2.0]}, [], lambda: {"constant": 3.0}, 0.9, measured=None, T=2))
    a bound (a-posteriori)
      mean             0.75
      constant         1.5
      bound            2.25
      bound, interval  [0.671562, 3.82844]
      replications     2
      the interval is Student's, of independent replications: exact for normal sums, too short if large noise is rare
    """
    check_confidence(confidence)
    replications = len([*linear.values(), *growing][0])
    terms = {part: fmean(values) for part, values in linear.items()} | rest(*map(fmean, growing))
    interval = None
    if replications > 1:
        totals = [[sum(row) for row in zip(*linear.values(), strict=True)]] if linear else []
        each = 1 - (1 - confidence) / (len(totals) + len(growing))
        (low, high), *_ = [mean_interval(values, each) for values in totals] or [(0.0, 0.0)]
        lows, highs = zip(*(mean_interval(values, each) for values in growing), strict=True) if growing else ((), ())
        low += sum(rest(*(max(end, 0.0) for end in lows)).values())
        interval = (low / T, (high + sum(rest(*highs).values())) / T)
    return Certificate(
        name,
        "plug-in" if replications == 1 else "a-posteriori",
        {part: value / T for part, value in terms.items()},
        **beside(measured, confidence),
        interval=interval,
        replications=replications,
        trivial=trivial,
    )
