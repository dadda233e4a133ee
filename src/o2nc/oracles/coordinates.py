"""Arithmetic in the coordinates of a set, which have one axis or, for matrices, two."""

from .. import _xp
from .._xp import Array
from ..sets import OperatorSet
from ..sets.base import Coordinates
from ..vectors import Scalar, inner


def flat(operators: OperatorSet, u: Coordinates) -> Coordinates:
    """The coordinates with one axis."""
    return _xp.flatten_matrix(u) if operators.axes == 2 else u


def dot(operators: OperatorSet, g: Coordinates, h: Coordinates) -> Array:
    """<g, h> in the coordinates of the set, as a scalar of shape (..., 1)."""
    return inner(flat(operators, g), flat(operators, h))


def square(operators: OperatorSet, g: Coordinates) -> Array:
    """|g|^2 in the coordinates of the set, as a scalar of shape (..., 1)."""
    return dot(operators, g, g)


def scaled(operators: OperatorSet, scalar: Scalar, g: Coordinates) -> Coordinates:
    """``scalar`` times g, where the scalar has shape (..., 1) or is a number."""
    return g * (scalar[..., None] if operators.axes == 2 and not isinstance(scalar, (int, float)) else scalar)


def or_one(E: Array) -> Array:
    """E, and 1 where it is 0: for roots and quotients."""
    xp = _xp.namespace(E)
    return xp.where(E > 0, E, xp.ones_like(E))
