"""One bounded factor for each block."""

import math
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..operators import Operator, Scalars, trusted
from ..operators.scalars import flat_shapes
from ..vectors import Blocks, Vector, check_shapes, inner, leaf, split
from .base import registry
from .box import Box


@dataclass(frozen=True)
class BlockBox(Box):
    r"""$\{c_1I\oplus\dots\oplus c_kI : low\le c_i\le high\}$, one factor for each block, in the coordinates c.

    On `Blocks`, each array is a block. On an array, ``shapes`` cut the last axis into consecutive blocks.

    Args:
        low: smallest factor.
        high: largest factor.
        shapes: the shapes of the blocks, needed for arrays only.

    Reference: the set-up of Algorithm 1; a step size for each layer.

    >>> import numpy as np
    >>> S = BlockBox(shapes=((1,), (2,)))
    >>> S.pullback(np.asarray([1.0, 2.0, 3.0]), np.asarray([1.0, 1.0, 1.0]))
    array([1., 5.])
    >>> S.operator(np.asarray([1.0, 0.5])) @ np.asarray([1.0, 1.0, 1.0])
    array([1. , 0.5, 0.5])
    """

    shapes: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes("BlockBox(shapes=...)", self.shapes))

    def start(self, x: Vector) -> Array:
        """The point nearest to the identity."""
        k = len(self._blocks(x).arrays)
        batch = () if isinstance(x, Blocks) else x.shape[:-1]
        return self.project(_xp.zeros((*batch, k), leaf(x)) + 1.0)

    def operator(self, u: Array) -> Operator:
        """The factors u, one a block."""
        return trusted(Scalars, scalars=u, shapes=self.shapes)

    def pullback(self, p: Vector, m: Vector) -> Array:
        """<p_i, m_i> for each block i: k numbers of norm at most |p| |m|."""
        pairs = zip(self._blocks(p).arrays, self._blocks(m).arrays, strict=True)
        alone = (lambda a: Blocks((a,))) if isinstance(m, Blocks) else (lambda a: a)
        return _xp.namespace(leaf(m)).concat([inner(alone(a), alone(b)) for a, b in pairs], axis=-1)

    def diameter(self, x: Vector) -> float:
        """(high - low) sqrt(k)."""
        return self.sup_diameter(x) * math.sqrt(len(self._blocks(x).arrays))

    def _blocks(self, x: Vector) -> Blocks:
        if isinstance(x, Blocks):
            return x
        if self.shapes is None:
            raise ValueError("`BlockBox(shapes=...)` must be given to act on an array; got none.")
        return split(x, flat_shapes(self.shapes))


def halves(x: Vector) -> tuple[tuple[int, ...], ...] | None:
    """The shapes that cut an array in two; `Blocks` are cut already."""
    return None if isinstance(x, Blocks) else ((x.shape[-1] // 2,), (-(-x.shape[-1] // 2),))


registry.add(
    "block-box", lambda experts, x: BlockBox(shapes=halves(x)), "a factor in [0, 1] for each block", over="diagonal"
)
