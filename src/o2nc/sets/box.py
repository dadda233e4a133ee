"""Diagonal operators with bounded factors."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from .. import _xp
from .._xp import Array
from ..operators import Diagonal, Operator, trusted
from ..vectors import Vector, apply, dimension
from .base import Static, registry


@dataclass(frozen=True)
class Box(Static):
    r"""$\{\mathrm{diag}(u) : low\le u_i\le high\}$ with $-1\le low\le high\le 1$, in the coordinates u.

    Works on arrays and on `Blocks`.

    Args:
        low: smallest factor.
        high: largest factor.

    Reference: the set-up of Algorithm 1.

    >>> import numpy as np
    >>> Box(0.0, 1.0).project(np.asarray([-1.0, 0.5, 2.0]))
    array([0. , 0.5, 1. ])
    """

    low: float = 0.0
    high: float = 1.0
    axes = 1
    rule: ClassVar[tuple[float, str]] = (1.0, "a number in [-1, 1], so that operators are contractions")

    def __post_init__(self) -> None:
        check_bounds(type(self).__name__, self.low, self.high, *self.rule)

    def start(self, x: Vector) -> Vector:
        """The point nearest to the identity."""
        return self.project(apply(lambda a: _xp.namespace(a).ones_like(a), x))

    def operator(self, u: Vector) -> Operator:
        """diag(u)."""
        return trusted(Diagonal, diagonal=u)

    def pullback(self, p: Vector, m: Vector) -> Vector:
        """The products p_i m_i."""
        return apply(lambda a, b: a * b, p, m)

    def gram(self, m: Vector) -> Vector:
        """The squares m_i^2, the diagonal of the second derivative in u of |U m|^2/2; the rest of it is 0."""
        return self.pullback(m, m)

    def solve(self, gram: Vector, lam: float, g: Vector) -> Vector:
        """(gram + lam I)^{-1} g, factor by factor."""
        return apply(lambda a, b: b / (a + lam), gram, g)

    def project(self, u: Vector) -> Vector:
        """Each factor clipped."""
        return apply(lambda a: _xp.namespace(a).clip(a, min=self.low, max=self.high), u)

    def factorwise(self, function: Callable[[Array], Array], u: Vector) -> Vector:
        """``function`` on the factors."""
        return apply(function, u)

    def metric(self, h: Vector) -> Vector:
        """``h`` with 1 for 0: a coordinate that has seen no gradient does not move, whatever its weight."""
        return apply(lambda a: _xp.namespace(a).where(a > 0, a, _xp.namespace(a).ones_like(a)), h)

    def project_scaled(self, u: Vector, h: Vector) -> Vector:
        """Each factor clipped: the projection in every diagonal norm."""
        return self.project(u)

    def project_entropic(self, y: Vector) -> Vector:
        """exp(y), each factor clipped: the projection in every separable divergence."""
        top = math.log(self.high)
        return self.project(apply(lambda a: _xp.namespace(a).exp(_xp.namespace(a).clip(a, max=top)), y))

    def minimize(self, g: Vector) -> Vector:
        """high where g is negative, low elsewhere."""
        return apply(lambda a: _xp.namespace(a).where(a < 0, _xp.like(self.high, a), _xp.like(self.low, a)), g)

    def diameter(self, x: Vector) -> float:
        """(high - low) sqrt(d)."""
        return self.sup_diameter(x) * math.sqrt(dimension(x))

    def sup_diameter(self, x: Vector) -> float:
        """high - low, the largest change of one factor."""
        return self.high - self.low

    def gradient_factor(self, x: Vector) -> float:
        """1: the products p_i m_i have norm at most |p| |m|."""
        return 1.0

    def identity(self, x: Vector) -> Vector | None:
        """The vector of ones."""
        return self.start(x) if self.holds_identity else None

    @property
    def holds_identity(self) -> bool:
        """Whether 1 is between low and high."""
        return self.low <= 1 <= self.high


def check_bounds(kind: str, low: float, high: float, limit: float, rule: str) -> None:
    """Raise unless low and high keep the rule: they are at most ``limit``, and the first is not above the second."""
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not (isinstance(value, (int, float)) and -limit <= value <= limit):
            raise ValueError(f"`{kind}({name}=...)` must be {rule}; got {value!r}.")
    if low > high:
        raise ValueError(f"`{kind}(low=...)` must not exceed `high`; got {low} > {high}.")


registry.add("box", lambda experts, x: Box(), "diagonal matrices with entries in [0, 1]", over="diagonal", cli=True)
