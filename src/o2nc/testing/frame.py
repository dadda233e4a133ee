"""Flat NumPy numbers as vectors of any kind."""

import math
from typing import Any

import numpy as np

from .. import _xp
from ..vectors import Blocks, Vector, apply, check_vector, leaf

Numbers = np.ndarray  # float64, the coordinates of a vector on the last axis


class Frame:
    """Flat NumPy numbers as vectors in the shape, library, dtype and device of an example, and back."""

    def __init__(self, x: Vector):
        check_vector("x", x)
        self.x, self.leaf, self.is_blocks = x, leaf(x), isinstance(x, Blocks)
        self.batch: tuple[int, ...] = () if self.is_blocks else tuple(x.shape[:-1])
        self.shapes = [tuple(a.shape) for a in x.arrays] if self.is_blocks else [(x.shape[-1],)]
        self.d = sum(math.prod(shape) for shape in self.shapes)
        self.tolerance = math.sqrt(_xp.machine_eps(self.leaf))

    def vector(self, values: Numbers) -> Vector:
        """The vector with these coordinates."""
        if not self.is_blocks:
            return self.scalar(values)
        parts = np.split(values, np.cumsum([math.prod(shape) for shape in self.shapes])[:-1], axis=-1)
        pairs = zip(parts, self.x.arrays, strict=True)
        return Blocks(tuple(_xp.from_numpy(np.array(part.reshape(a.shape)), a) for part, a in pairs))

    def scalar(self, values: Numbers) -> Any:
        """The scalar, of shape (..., 1), with this value."""
        return _xp.from_numpy(np.array(values), self.leaf)  # a copy, since a broken class may write into it

    def numbers(self, v: Vector) -> Numbers:
        """The coordinates of a vector."""
        if not self.is_blocks:
            return np.asarray(_xp.to_numpy(v), dtype=float)
        return np.concatenate([np.asarray(_xp.to_numpy(a), dtype=float).ravel() for a in v.arrays])

    def draw(self, count: int, seed: int = 0) -> Numbers:
        """``count`` standard normal vectors, the same for the same seed."""
        return np.random.default_rng(seed).standard_normal((count, *self.batch, self.d))

    def rows(self, *batch: int) -> "Frame":
        """The frame of batches of this shape; without one, of a single run."""
        return Frame(self.vector(np.zeros((*batch, self.d))))

    def in_float32(self) -> "Frame":
        """The same frame in single precision."""
        return Frame(apply(lambda a: _xp.namespace(a).astype(a, _xp.namespace(a).float32), self.x))
