"""Directions that are functions of the tracker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from ..vectors import Vector, apply
from .base import with_length


class NoState(NamedTuple):
    """Nothing to remember."""


class _Memoryless:
    def init(self, x: Vector) -> Any:
        """Nothing to remember."""
        return NoState()

    def learn(self, state: Any, s: Vector) -> Any:
        """The same state."""
        return state


@dataclass(frozen=True)
class Momentum(_Memoryless):
    """The tracker itself: the identity among the experts, which an a-priori bound needs.

    Reference: Algorithm 1 with U = I.

    >>> import numpy as np
    >>> Momentum().direction(NoState(), np.asarray([1.0, 2.0]))
    array([1., 2.])
    """

    def direction(self, state: Any, m: Vector) -> Vector:
        """m."""
        return m


@dataclass(frozen=True)
class Sign(_Memoryless):
    """The sign of the tracker, at the length of the tracker.

    Reference: sign descent (Bernstein et al., 2018).

    >>> import numpy as np
    >>> Sign().direction(NoState(), np.asarray([3.0, -4.0])).round(4)
    array([ 3.5355, -3.5355])
    """

    def direction(self, state: Any, m: Vector) -> Vector:
        """sign(m) |m| / |sign(m)|."""
        return with_length(apply(_xp.sign, m), m)


@dataclass(frozen=True, eq=False)
class Mask(_Memoryless):
    """The tracker on the coordinates of a mask, 0 elsewhere.

    Args:
        mask: factors in [0, 1], an array or `Blocks` in the shapes of the vector.

    Reference: the projectors of the numerical section.

    >>> import numpy as np
    >>> Mask(np.asarray([1.0, 0.0])).direction(NoState(), np.asarray([3.0, -4.0]))
    array([ 3., -0.])
    """

    mask: Vector

    def direction(self, state: Any, m: Vector) -> Vector:
        """m times the mask."""
        return apply(lambda a, b: a * _xp.like(b, a), m, self.mask)


@dataclass(frozen=True, eq=False)
class Function(_Memoryless):
    """Any function of the tracker.

    Args:
        function: from the tracker to a direction of the same shapes.

    Reference: none; for your own ideas.

    >>> import numpy as np
    >>> Function(np.tanh).direction(NoState(), np.asarray([0.0, 1.0])).round(4)
    array([0.    , 0.7616])
    """

    function: Callable[[Vector], Vector]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"`Function(function=...)` must be callable; got {self.function!r}.")

    def direction(self, state: Any, m: Vector) -> Vector:
        """function(m)."""
        return self.function(m)
