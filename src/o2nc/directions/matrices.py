"""What directions of matrix blocks share: finding the matrices, and putting the directions back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import _xp
from .._xp import Array
from ..vectors import Blocks, Vector, check_shapes, join, split
from .base import Direction, with_length
from .rms import RMS


@dataclass(frozen=True)
class OnMatrices:
    """A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer is none.

    An array is cut into blocks by ``shapes``.
    """

    shapes: Sequence[tuple[int, ...]] | None = None
    fallback: Direction = field(default_factory=RMS)

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes(f"{name}(shapes=...)", self.shapes))
        if not isinstance(self.fallback, Direction):
            raise TypeError(f"`{name}(fallback=...)` must have init, direction and learn; got {self.fallback!r}.")

    def check_blocks(self, x: Vector) -> None:
        """Raise if ``x`` is an array and there are no shapes to cut it."""
        if not isinstance(x, Blocks) and self.shapes is None:
            raise ValueError(f"`{type(self).__name__}(shapes=...)` must be given to act on an array; got none.")

    def matrices(self, v: Vector) -> list[Array | None]:
        """Each block as a matrix of shape (..., p, q), or None."""
        return [None if axes < 2 else _as_matrix(a, axes) for a, axes in self._blocks(v)]

    def assembled(self, directions: Sequence[Array | None], m: Vector, other: Vector) -> Vector:
        """The vector of the matrices, each at the length of its block of m, with the blocks of ``other`` for None."""
        triples = zip(directions, self._blocks(m), self._blocks(other), strict=True)
        blocks = Blocks(tuple(b if Z is None else _at_length(Z, a) for Z, (a, _), (b, _) in triples))
        return blocks if isinstance(m, Blocks) else join(blocks, self.shapes or ())

    def _blocks(self, v: Vector) -> list[tuple[Array, int]]:
        """The blocks, each with the number of its own axes; those of an array have leading axes as well."""
        if isinstance(v, Blocks):
            return [(a, a.ndim) for a in v.arrays]
        shapes = self.shapes or ()
        return list(zip(split(v, shapes).arrays, map(len, shapes), strict=True))


def _as_matrix(a: Array, axes: int) -> Array:
    batch = a.shape[: a.ndim - axes]
    first, size = a.shape[len(batch)], math.prod(a.shape[len(batch) :])
    return _xp.namespace(a).reshape(_xp.whole(a), (*batch, first, size // first if first else 0))


def _at_length(Z: Array, a: Array) -> Array:
    reshape, flat = _xp.namespace(a).reshape, (*Z.shape[:-2], Z.shape[-2] * Z.shape[-1])
    return reshape(with_length(reshape(Z, flat), reshape(_xp.whole(a), flat)), a.shape)
