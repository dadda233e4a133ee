"""One factor for each block."""

import math
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..vectors import Blocks, Vector, check_shapes, check_vector, join, split, spread
from .base import check_below_one


@dataclass(frozen=True, eq=False)
class Scalars:
    r"""$c_1I\oplus\dots\oplus c_kI$ with $|c_i|\le1$: one factor for each block.

    Args:
        scalars: array of shape (..., k), one entry a block.
        shapes: the shapes of the blocks, which cut the last axis of an array into slices; needed for arrays only.

    Reference: the paper's vec and mat; a step size for each layer.

    >>> import numpy as np
    >>> Scalars(np.asarray([1.0, 0.5]), shapes=((1,), (2,))) @ np.asarray([1.0, 1.0, 1.0])
    array([1. , 0.5, 0.5])
    """

    scalars: Array
    shapes: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scalars, Blocks):
            raise TypeError("`Scalars(scalars=...)` must be one array of shape (..., k); got Blocks.")
        check_vector("Scalars(scalars=...)", self.scalars)
        check_below_one("Scalars(scalars=...)", _xp.namespace(self.scalars).abs(self.scalars), self.scalars)
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes("Scalars(shapes=...)", self.shapes))
            check_count("Scalars(shapes=...)", len(self.shapes), self.scalars)

    contraction = True

    def __matmul__(self, v: Vector) -> Vector:
        if not isinstance(v, Blocks):
            if self.shapes is None:
                raise ValueError("`Scalars(shapes=...)` must be given to act on an array; got none.")
            slices = flat_shapes(self.shapes)
            pieces = zip(split(v, slices).arrays, factors(self.scalars, v), strict=True)
            return join(Blocks(tuple(x * c for x, c in pieces)), slices)
        check_count("v", len(v.arrays), self.scalars)
        pieces = zip(v.arrays, factors(self.scalars, v.arrays[0]), strict=True)
        return Blocks(tuple(x * spread(c, x) for x, c in pieces))


def factors(scalars: Array, like: Array) -> list[Array]:
    """The scalars one by one, each of shape (..., 1)."""
    c = _xp.like(scalars, like)
    return [c[..., k : k + 1] for k in range(c.shape[-1])]


def flat_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int], ...]:
    """Blocks of the same sizes with one axis: the slices of an array, in its own order."""
    return tuple((math.prod(shape),) for shape in shapes)


def check_count(name: str, count: int, scalars: Array) -> None:
    """Raise unless there are as many blocks as scalars."""
    if count != scalars.shape[-1]:
        raise ValueError(f"`{name}` must have one block a scalar, {scalars.shape[-1]}; got {count}.")
