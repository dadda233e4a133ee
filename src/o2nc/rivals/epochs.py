"""What the conversions by epochs share: a learner that starts afresh, and the average of an epoch as output."""

from typing import Any

from .._xp import Array
from ..checks import check_horizon
from ..conversions.average import Average
from ..conversions.base import Conversion, uniform_round
from ..vectors import Vector, where


class EpochConversion(Conversion):
    """T samples in epochs of equal length; the output is the average of an epoch, which is drawn uniformly.

    Samples after the last whole epoch are taken and not used.
    """

    epoch: int
    T: int

    def __post_init__(self) -> None:
        check_horizon(self.T)
        if isinstance(self.epoch, bool) or not isinstance(self.epoch, int):
            raise TypeError(f"`epoch` must be a whole number; got {self.epoch!r}.")
        if not 1 <= self.epoch <= self.T:
            raise ValueError(f"`epoch` must be at least 1 and at most T = {self.T}; got {self.epoch}.")

    @property
    def needs(self) -> frozenset[str]:
        """The point, and the coin tau."""
        return frozenset({"tau", "x"})

    @property
    def horizon(self) -> int | None:
        """T."""
        return self.T

    @property
    def last(self) -> int:
        """The last round of the last whole epoch."""
        return self.T // self.epoch * self.epoch

    def tau(self, u: float, rounds: int) -> int:
        """The last round of an epoch drawn uniformly, from ``u`` uniform on [0, 1)."""
        return self.epoch * uniform_round(u, self.T // self.epoch)

    def output(self, state: Any, x: Vector) -> Vector:
        """The average of the epoch that ends in round tau once that is over, of the epoch so far before."""
        average: Average = state.average
        return average.output


def restarted(ends: Array, fresh: Any, learned: Any) -> Any:
    """The state of a learner after a round: ``fresh`` where an epoch ends, else ``learned``."""
    return type(learned)(*(where(ends, u, v) for u, v in zip(fresh, learned, strict=True)))
