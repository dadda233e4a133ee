"""The output of conversions that average their points: the average in a round that is drawn before the first."""

from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..vectors import Scalar, Vector, leaf, where, zeros_like


class Average(NamedTuple):
    """An average of the points so far, and what it was in round tau; so only two points are kept."""

    mean: Vector  # the average of the points of the rounds that are over
    output: Vector  # the average after round tau once that is over, after the last round before
    tau: Array  # the round of the output, drawn before round 1, (..., 1)
    t: Array  # the round, counted from 1, (1,)

    def add(self, x: Vector, weight: Scalar) -> "Average":
        """Average in the point x of a round: mean <- (1 - weight) mean + weight x."""
        mean = self.mean * (1 - weight) + x * weight
        output = where(self.t <= self.tau, mean, self.output)
        return Average(mean=mean, output=output, tau=self.tau, t=self.t + 1)


def no_average(x: Vector, tau: Any, last: int, undrawn: int | None = None) -> Average:
    """The average before the first round; without ``tau`` its round is ``undrawn``, and if that is None ``last``.

    >>> import numpy as np
    >>> no_average(np.zeros(2), 11, 10)
    Traceback (most recent call last):
        ...
    ValueError: `tau` must be a round, from 1 to T = 10; got 11.
    """
    check_tau(tau, last)
    t, zeros = _xp.first_round(leaf(x)), zeros_like(x)
    return Average(mean=zeros, output=zeros, tau=t * 0 + ((undrawn or last) if tau is None else tau), t=t)


def check_tau(tau: Any, T: int) -> None:
    """Raise unless ``tau`` is None, a round from 1 to T, or an array of such rounds."""
    if tau is None or (_xp.is_array(tau) and _xp.is_traced(tau)):
        return
    if not _xp.is_array(tau) and (isinstance(tau, bool) or not isinstance(tau, int)):
        raise TypeError(f"`tau` must be a round or an array of rounds; got {tau!r}.")
    if not bool(_xp.to_numpy(tau).min() >= 1 and _xp.to_numpy(tau).max() <= T):
        raise ValueError(f"`tau` must be a round, from 1 to T = {T}; got {tau}.")
