"""Estimates over replications with their Monte-Carlo errors."""

import math
from typing import NamedTuple

import numpy as np

from .records import Floats

Z = 1.96  # the normal quantile of 95% intervals
CONFIDENCE = 0.999  # of the intervals of what certificates and lemmas compare: a run has a hundred of them


class Estimate(NamedTuple):
    """A number with its standard error.

    >>> Estimate(1.0, 0.1).stderr
    0.1
    """

    value: float
    stderr: float


def _estimate(value: float, influence: Floats) -> Estimate:
    """An estimate whose error is, to first order, the mean of ``influence`` over the replications."""
    return Estimate(float(value), float(np.std(influence, ddof=1)) / math.sqrt(len(influence)))


def mean(x: Floats) -> Estimate:
    r"""The mean of the replications and $s/\sqrt R$.

    Reference: Numerical Experiments, the results at t = 3000.

    >>> mean(np.asarray([1.0, 3.0]))
    Estimate(value=2.0, stderr=1.0)
    """
    return _estimate(x.mean(), x)


def paired_interval(x: Floats, y: Floats) -> tuple[float, float]:
    r"""The paper's 95% interval $\bar\Delta\pm1.96\,s_\Delta/\sqrt R$ for the mean of x - y.

    Reference: Numerical Experiments, the paired confidence intervals.

    >>> paired_interval(np.asarray([1.0, 3.0]), np.asarray([0.0, 0.0]))
    (0.040000000000000036, 3.96)
    """
    value, stderr = mean(x - y)
    return value - Z * stderr, value + Z * stderr


def interval_ends(x: Floats, y: Floats, n: int) -> tuple[Estimate, Estimate]:
    r"""The two ends $\bar\Delta\mp1.96\,s_\Delta/\sqrt n$ of the interval of n replications, each with its own error.

    To first order $\bar\Delta$ moves by $\Delta_i-\bar\Delta$ and s by $((\Delta_i-\bar\Delta)^2-s^2)/2s$ with the
    share of replication i.

    Reference: Numerical Experiments, the paired confidence intervals.

    >>> low, high = interval_ends(np.asarray([1.0, 3.0]), np.zeros(2), n=2)
    >>> round(low.value, 2), round(high.value, 2)
    (0.04, 3.96)
    """
    delta = x - y
    centre, s = delta.mean(), float(np.std(delta, ddof=1))
    deviation = delta - centre
    spread = (deviation**2 - s**2) / (2 * s) if s else 0 * deviation
    factor = Z / math.sqrt(n)
    low, high = (_estimate(centre + sign * factor * s, deviation + sign * factor * spread) for sign in (-1, 1))
    return low, high


def reduction(x: Floats, y: Floats) -> Estimate:
    r"""The percentage $100(1-\bar x/\bar y)$ by which the mean of x is below that of y, the error by the delta method.

    Reference: Numerical Experiments, the closing summary.

    >>> reduction(np.asarray([1.0, 1.0]), np.asarray([2.0, 2.0]))
    Estimate(value=50.0, stderr=0.0)
    """
    ratio = x.mean() / y.mean()
    return _estimate(100 * (1 - ratio), -100 * (x - ratio * y) / y.mean())


def favourable(x: Floats, y: Floats, n: int) -> Estimate:
    r"""How many of n replications have x < y: n times their share p, with the error $n\sqrt{p(1-p)/R}$.

    Reference: Numerical Experiments, the closing summary.

    >>> favourable(np.asarray([1.0, 1.0]), np.asarray([2.0, 2.0]), n=128)
    Estimate(value=128.0, stderr=0.0)
    """
    p = float(np.mean(x < y))
    return Estimate(n * p, n * math.sqrt(p * (1 - p) / len(x)))
