"""What the conversions by discounted regret share: a learner with a discount, and a discounted average as output."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .._xp import Array
from ..checks import check_horizon
from ..conversions.average import Average
from ..conversions.base import Conversion
from ..vectors import Vector
from .displacement import DisplacementLearner, check_is_learner


@runtime_checkable
class DiscountedLearner(DisplacementLearner, Protocol):
    """A `DisplacementLearner` whose losses are discounted: its discount ``b`` is that of the average as well."""

    @property
    def b(self) -> float:
        """The discount, at least 0 and less than 1."""
        ...


@dataclass(frozen=True)
class DiscountedConversion(Conversion):
    r"""A learner of displacements with a small $\sum_{i\le t}b^{t-i}\langle s_i,\Delta_i-u\rangle$ for every t.

    The output is the discounted average of the points of the samples after the round tau, uniform on 1, ..., T:
    $$\bar x_t=\frac{1-b}{1-b^t}\sum_{i\le t}b^{t-i}x_i.$$
    """

    learner: DiscountedLearner
    T: int

    def __post_init__(self) -> None:
        check_is_learner(self.learner)
        if not isinstance(self.learner, DiscountedLearner):
            raise TypeError(f"`learner` must have a discount `b`; got {self.learner!r}.")
        check_horizon(self.T)

    @property
    def needs(self) -> frozenset[str]:
        """The point, and the coins tau and r."""
        return frozenset({"tau", "x", "r"})

    @property
    def horizon(self) -> int | None:
        """T."""
        return self.T

    def output(self, state: Any, x: Vector) -> Vector:
        """x_bar_tau once round tau is over, x_bar_t before."""
        return state.average.output

    def averaged(self, c: Array, average: Average, x: Vector) -> tuple[Array, Average]:
        """c_t = 1 - b^t from c_{t-1}, and the average with the point x of round t."""
        b = self.learner.b
        c = (1 - b) + b * c
        return c, average.add(x, (1 - b) / c)
