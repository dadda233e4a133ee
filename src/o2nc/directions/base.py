"""What a direction is, and how long it is."""

from typing import Any, Protocol, runtime_checkable

from .. import _xp
from ..vectors import Vector, inner


@runtime_checkable
class Direction(Protocol):
    """A predictable direction.

    Reference: the sets U_t of Algorithm 1, which may change with t and depend on the past.

    >>> from o2nc.directions import RMS
    >>> isinstance(RMS(), Direction)
    True
    """

    def init(self, x: Vector) -> Any:
        """The state before round 1, a NamedTuple of arrays, for vectors like x."""
        ...

    def direction(self, state: Any, m: Vector) -> Vector:
        """The direction of this round, from the state and the tracker."""
        ...

    def learn(self, state: Any, s: Vector) -> Any:
        """The state after the sample of this round."""
        ...


def with_length(d: Vector, m: Vector) -> Vector:
    """d scaled to the length of m; 0 if d = 0.

    >>> import numpy as np
    >>> with_length(np.asarray([3.0, 4.0]), np.asarray([0.0, 10.0]))
    array([6., 8.])
    """
    square = inner(d, d)
    xp = _xp.namespace(square)
    return d * xp.sqrt(inner(m, m) / xp.where(square > 0, square, xp.ones_like(square)))


def shortened(d: Vector, m: Vector) -> Vector:
    """d scaled down to the length of m where it is longer: the cap of certified use.

    >>> import numpy as np
    >>> shortened(np.asarray([3.0, 4.0]), np.asarray([0.0, 1.0]))
    array([0.6, 0.8])
    """
    square, limit = inner(d, d), inner(m, m)
    xp = _xp.namespace(square)
    safe = xp.where(square > 0, square, xp.ones_like(square))
    return d * xp.where(square > limit, xp.sqrt(limit / safe), xp.ones_like(square))
