"""Muon's direction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _xp
from .._xp import Array
from ..operators import newton_schulz, polar
from ..vectors import Blocks, Vector, check_shapes, join, split
from .base import Direction, with_length
from .rms import RMS


@dataclass(frozen=True)
class Polar:
    r"""Muon's direction: the polar factor of each matrix block, at the length of the block; RMS on the other blocks.

    A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer has no polar
    factor and takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        steps: of `newton_schulz`, as Muon has it; None for the exact factor, by SVD.

    Reference: Jordan et al. (2024); polar as the paper defines it, with zero singular values masked.

    >>> import numpy as np
    >>> expert, m = Polar(), Blocks((np.asarray([[3.0, 0.0], [0.0, 0.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0]
    array([[3., 0.],
           [0., 0.]])
    """

    shapes: Sequence[tuple[int, ...]] | None = None
    fallback: Direction = field(default_factory=RMS)
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes("Polar(shapes=...)", self.shapes))
        if not isinstance(self.fallback, Direction):
            raise TypeError(f"`Polar(fallback=...)` must have init, direction and learn; got {self.fallback!r}.")
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            raise ValueError(f"`Polar(steps=...)` must be None or a whole number of at least 1; got {self.steps!r}.")

    def init(self, x: Vector) -> Any:
        """The state of the fallback."""
        if not isinstance(x, Blocks) and self.shapes is None:
            raise ValueError("`Polar(shapes=...)` must be given to act on an array; got none.")
        return self.fallback.init(x)

    def direction(self, state: Any, m: Vector) -> Vector:
        """The polar factors, each at the length of its block."""
        other = self.fallback.direction(state, m)
        if isinstance(m, Blocks):
            return Blocks(tuple(self._block(a, b, a.ndim) for a, b in zip(m.arrays, other.arrays, strict=True)))
        shapes = tuple(self.shapes or ())
        pieces = zip(split(m, shapes).arrays, split(other, shapes).arrays, shapes, strict=True)
        return join(Blocks(tuple(self._block(a, b, len(shape)) for a, b, shape in pieces)), shapes)

    def learn(self, state: Any, s: Vector) -> Any:
        """That of the fallback."""
        return self.fallback.learn(state, s)

    def _block(self, a: Array, other: Array, axes: int) -> Array:
        if axes < 2:
            return other
        xp, batch = _xp.namespace(a), a.shape[: a.ndim - axes]
        first, size = a.shape[len(batch)], math.prod(a.shape[len(batch) :])
        A = xp.reshape(a, (*batch, first, size // first if first else 0))
        Z = polar(A) if self.steps is None else newton_schulz(A, self.steps)
        flat = (*batch, size)
        return xp.reshape(with_length(xp.reshape(Z, flat), xp.reshape(a, flat)), a.shape)
