"""What a learner may ask of a convex set of operators.

A set turns coordinates u (weights, a diagonal, a symmetric matrix) into an operator, and a gradient in v = U m into one
in u. The inner product of coordinates is the Euclidean one (Frobenius for matrices).
"""

from typing import Any, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..operators import Operator
from ..registry import Registry
from ..vectors import Vector, leaf

Coordinates = Any  # an array (..., K), a vector, or an array (..., d, d)

# ``make(experts, x)`` is a set for vectors like x; ``experts`` are operators, the identity first, for sets that mix.
# Facts: what it is ``over``, "weights", a "diagonal", a "matrix" or "factors" of one; ``cli`` if `o2nc` offers it.
registry = Registry("set")


@runtime_checkable
class OperatorSet(Protocol):
    """A compact convex set of operators: of contractions, but for a set that says ``any_size = True``.

    Reference: the matrix class U_t of Algorithm 1.

    >>> from o2nc.sets import SpectralBall
    >>> isinstance(SpectralBall(), OperatorSet)
    True
    """

    def at(self, t: Array) -> "OperatorSet":
        """The set of round t: itself unless it changes."""
        ...

    def start(self, x: Vector) -> Coordinates:
        """Where a learner starts: the point nearest to the identity, or the centre of a simplex."""
        ...

    def identity(self, x: Vector) -> Coordinates | None:
        """The coordinates of the identity, or None if it is not in the set."""
        ...

    def operator(self, u: Coordinates) -> Operator:
        """The operator with coordinates u."""
        ...

    def pullback(self, p: Vector, m: Vector) -> Coordinates:
        """The gradient in u of <p, U m>."""
        ...

    def project(self, u: Coordinates) -> Coordinates:
        """The nearest point of the set in the Euclidean norm."""
        ...

    def minimize(self, g: Coordinates) -> Coordinates:
        """A point of the set that minimises <g, u>."""
        ...

    def diameter(self, x: Vector) -> float:
        """The largest Euclidean distance between two points of the set, for vectors like x."""
        ...

    def gradient_factor(self, x: Vector) -> float:
        """The smallest c known with |pullback(p, m)| <= c |p| |m|."""
        ...

    @property
    def axes(self) -> int:
        """How many of the last axes of an array of coordinates are coordinates: 1, or 2 for matrices."""
        ...

    @property
    def holds_identity(self) -> bool:
        """Whether the identity is in the set."""
        ...


def first_set(operators: Any, x: Vector) -> Any:
    """The set of round 1."""
    return operators.at(_xp.first_round(leaf(x)))


def lasts(operators: Any) -> bool:
    """Whether what a set says of itself is true of every round: not of a `Varying` with nothing around it."""
    return not hasattr(operators, "lasting") or operators.within is not None


def lasting_set(operators: Any, x: Vector) -> Any:
    """The set that bounds are about: the one around a sequence, or the only one."""
    return operators.lasting(x) if hasattr(operators, "lasting") else first_set(operators, x)


class Static:
    """A set that does not change with t."""

    def at(self, t: Array) -> Any:
        """Itself."""
        return self
