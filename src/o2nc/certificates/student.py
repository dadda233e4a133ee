"""Confidence intervals for the mean of a few replications."""

import math
from collections.abc import Iterable
from statistics import fmean, stdev

from .arguments import replicated


def check_confidence(confidence: float) -> None:
    """Raise unless ``confidence`` lies strictly between 0 and 1.

    >>> check_confidence(95)
    Traceback (most recent call last):
    ValueError: `confidence` must lie strictly between 0 and 1; got 95.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"`confidence` must lie strictly between 0 and 1; got {confidence}.")


def student_quantile(confidence: float, df: int) -> float:
    r"""The t with $\Pr(|X|\le t)=$ ``confidence`` for Student's law with ``df`` degrees of freedom.

    With $\theta=\arctan(t/\sqrt\nu)$ that probability is a finite sum,

    $$\sin\theta\Bigl(1+\tfrac12\cos^2\theta+\tfrac{1\cdot3}{2\cdot4}\cos^4\theta+\dots\Bigr)\ (\nu\text{ even}),\qquad
      \tfrac2\pi\Bigl(\theta+\sin\theta\bigl(\cos\theta+\tfrac23\cos^3\theta+\dots\bigr)\Bigr)\ (\nu\text{ odd}),$$

    the last power being $\nu-2$; theta is found by bisection.

    Reference: Abramowitz and Stegun, 26.7.3 and 26.7.4.

    >>> round(student_quantile(0.95, df=7), 4)
    2.3646
    """
    check_confidence(confidence)
    if df < 1:
        raise ValueError(f"`df` must be at least 1; got {df}.")
    low, high = 0.0, math.pi / 2
    while low < (theta := (low + high) / 2) < high:
        low, high = (theta, high) if _central_mass(theta, df) < confidence else (low, theta)
    return math.sqrt(df) * math.tan(low)


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> tuple[float, float]:
    r"""Student's interval $\bar v\pm t\,s/\sqrt n$ for the mean; exact for Gaussian values, else for large n.

    Reference: not in the paper, whose inequalities are between expectations.

    >>> low, high = mean_interval([1.0, 2.0, 3.0], confidence=0.9)
    >>> print(f"{low:.4f} {high:.4f}")
    0.3141 3.6859
    """
    numbers = replicated("values", values)
    if len(numbers) < 2:
        raise ValueError("`values` must hold at least 2 replications for an interval; got 1.")
    mean = fmean(numbers)
    half = student_quantile(confidence, len(numbers) - 1) * stdev(numbers) / math.sqrt(len(numbers))
    return mean - half, mean + half


def _central_mass(theta: float, df: int) -> float:
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = df % 2
    term = cosine if odd else 1.0
    total = term if df > 1 else 0.0
    for power in range(2 + odd, df - 1, 2):
        term *= cosine**2 * (power - 1) / power
        total += term
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
