"""Stochastic gradient descent, the baseline, with the interface of the conversions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..checks import check_number
from ..conversions.base import Conversion, registry
from ..vectors import Vector, check_vector


class SGDState(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True)
class SGD(Conversion):
    r"""$x_{t+1}=x_t-\eta s_t$.

    Args:
        eta: the step size.

    Reference: the baseline of the numerical section.

    >>> import numpy as np
    >>> sgd = SGD(eta=0.5)
    >>> sgd.update(np.asarray([2.0]), sgd.init(np.asarray([1.0])))
    (array([-1.]), SGDState())
    """

    eta: float

    def __post_init__(self) -> None:
        check_number("SGD(eta=...)", self.eta, positive=True)

    def init(self, x: Vector, *, tau: Any = None) -> SGDState:
        """The empty state."""
        check_vector("x", x)
        return SGDState()

    def update(
        self, s: Vector, state: SGDState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, SGDState]:
        """One step against the sample."""
        return -self.eta * s, state


registry.add("sgd", lambda oracle: SGD(eta=0.1), "stochastic gradient descent")
