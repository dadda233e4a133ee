"""Traces: how far back they see, and how often a direction without weight counts in them."""

from typing import Any

from .. import _xp
from .._xp import Array

SHORTEST = 10.0  # steps that a trace sees at least
SLEEPY, PERIOD = 0.01, 10  # the weight below which a direction sleeps, to the largest; and how often it wakes


def discount(sight: Any, n: Any) -> Any:
    r"""The discount $\gamma=1-1/(10+\mathrm{sight}\cdot n)$ of a trace in step n: it sees a part of all steps so far.

    Without sight it is 0: the trace is the last direction.

    >>> round(discount(0.5, 180), 4), discount(None, 180)
    (0.99, 0)
    """
    return 0 * n if sight is None else 1 - 1 / (SHORTEST + sight * n)


def counts(shares: Array, n: Array) -> Array:
    """How often directions count in step n of a block: 1, or 0 and every tenth time 10 for those that sleep.

    A direction whose share of the weight is below a hundredth of the largest need not be computed in other steps.

    >>> import numpy as np
    >>> counts(np.asarray([0.999, 0.001]), np.asarray([19.0])), counts(np.asarray([0.999, 0.001]), np.asarray([20.0]))
    (array([1., 0.]), array([ 1., 10.]))
    """
    xp, one = _xp.namespace(shares), 0 * shares + 1
    asleep = one * PERIOD * _xp.indicator(n % PERIOD == 0, n)
    return xp.where(shares >= SLEEPY * _xp.largest(shares), one, asleep)
