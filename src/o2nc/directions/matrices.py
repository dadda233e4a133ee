"""What directions of matrices share: finding the matrices, and putting the directions back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from .. import _xp
from .._xp import Array
from ..operators.polar_factor import check_steps
from ..vectors import Blocks, Vector, check_shapes, join, leaf
from ..vectors import split as cut
from .adam import Adam
from .base import FLOOR, LENGTH, Direction, State, check_floor, faded

LONG = 8  # times as many rows as columns has a table


@dataclass(frozen=True)
class OnMatrices:
    """A direction of each matrix among the blocks; the other blocks take the direction of ``fallback``.

    A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer is none. A
    direction of your own is a frozen dataclass that derives from this one, with a ``name`` and `matrix`.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of a matrix below which its direction fades, so that it ends when gradients do;
            above it nothing is changed.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut: 3 for queries, keys and
            values in one tensor of shape (3p, q). One number, or one for each block.
        stacks: whether a block with three axes is a stack of matrices; if not, it is a convolution.

    Reference: none.

    >>> import numpy as np
    >>> class Plain(OnMatrices):
    ...     name = "plain"
    ...     def matrix(self, M):
    ...         return M
    >>> expert, m = Plain(), Blocks((np.asarray([[3.0, 0.0], [0.0, 4.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0]
    array([[0.24, 0.  ],
           [0.  , 0.32]])
    >>> expert = Plain(split=2)
    >>> expert.direction(expert.init(m), m).arrays[0].round(4)
    array([[0.2828, 0.    ],
           [0.    , 0.2828]])
    """

    shapes: Sequence[tuple[int, ...]] | None = None
    fallback: Direction = field(default_factory=Adam)
    matrices: Sequence[bool] | None = None
    floor: float = field(default=FLOOR, kw_only=True)
    split: int | Sequence[int] = field(default=1, kw_only=True)
    stacks: bool = field(default=False, kw_only=True)
    name: ClassVar[str]
    scale_free: ClassVar[bool] = True
    whole: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes(f"{name}(shapes=...)", self.shapes))
        check_floor(f"{name}(floor=...)", self.floor)
        for n in self.split if isinstance(self.split, Sequence) else (self.split,):
            check_steps(f"{name}(split=...)", n)
        if not isinstance(self.fallback, Direction):
            raise TypeError(f"`{name}(fallback=...)` must be a direction; got {self.fallback!r}.")

    def matrix(self, M: Array) -> Array:
        """The direction of one matrix, of shape (..., p, q), if that is all there is to it; any length will do."""
        raise NotImplementedError

    def init(self, x: Vector) -> State:
        """The state of the fallback; raise if ``x`` is an array, and there are no shapes to cut it or a split."""
        if not isinstance(x, Blocks):
            if self.shapes is None:
                raise ValueError(f"`{type(self).__name__}(shapes=...)` must be given to act on an array; got none.")
            if self.split != 1:
                raise ValueError(f"`{type(self).__name__}(split=...)` must be 1 to act on an array; got {self.split}.")
        self.as_matrices(x)  # raises if a split does not divide
        return self.fallback.init(x)

    def direction(self, state: State, m: Vector) -> Vector:
        """The directions of the matrices, and those of the fallback."""
        found = [None if A is None else self.matrix(A) for A in self.as_matrices(m)]
        return self.assembled(found, m, self.fallback.direction(state, m))

    def learn(self, state: State, s: Vector) -> State:
        """That of the fallback."""
        return self.fallback.learn(state, s)

    def on(self, x: Vector) -> tuple[Direction, ...]:
        """The direction that each block takes: this one, or the fallback."""
        return tuple(self.fallback if A is None else self for A in self.as_matrices(x))

    def as_matrices(self, v: Vector) -> list[Array | None]:
        """Each block as a matrix of shape (..., p, q), or None."""
        blocks = self._blocks(v)
        may = self.matrices if isinstance(v, Blocks) and self.matrices is not None else [True] * len(blocks)
        pairs = zip(may, blocks, strict=True)  # a block without entries is no matrix
        may_be = [(a, axes) if yes and axes >= 2 and 0 not in a.shape else None for yes, (a, axes) in pairs]
        found = [None if each is None else _as_matrix(*each, self.stacks) for each in may_be]
        if self.split == 1 or not isinstance(v, Blocks):
            return found
        parts = [self.split] * len(found) if isinstance(self.split, int) else self.split
        return [None if A is None else self._cut(A, n) for A, n in zip(found, parts, strict=True)]

    def batch(self, v: Array) -> Array:
        """Blocks of one shape, stacked along a first axis, as matrices of shape (..., p, q), if there is one split."""
        return self._cut(_as_matrix(v, v.ndim - 1, self.stacks), cast(int, self.split))

    def _cut(self, A: Array, n: int) -> Array:
        """Matrices of shape (..., n p, q) as (..., n, p, q)."""
        if n == 1:
            return A
        *batch, rows, columns = A.shape
        if rows % n:
            raise ValueError(
                f"`{type(self).__name__}(split=...)` must divide the rows of a matrix; got {n} for shape "
                f"{(rows, columns)}."
            )
        return _xp.namespace(A).reshape(A, (*batch, n, rows // n, columns))

    def assembled(self, directions: Sequence[Array | None], m: Vector, other: Vector) -> Vector:
        """The vector of the matrices, each at its length, with the blocks of ``other`` for None.

        A matrix below the floor is shorter.
        """
        reshape = _xp.namespace(leaf(m)).reshape
        both = zip(directions, self.as_matrices(m), strict=True)
        found = [Z if Z is None or M is None else self.played(Z, M) for Z, M in both]
        triples = zip(found, self._blocks(m), self._blocks(other), strict=True)
        blocks = Blocks(tuple(b if Z is None else reshape(Z, a.shape) for Z, (a, _), (b, _) in triples))
        return blocks if isinstance(m, Blocks) else join(blocks, self.shapes or ())

    def played(self, Z: Array, M: Array) -> Array:
        """The direction Z of a matrix M at its length; if M is below the floor, it is shorter."""
        return self.lengthened(Z) * faded(root_mean_square(M), self.floor)

    def seen(self, matrices: Vector, others: Vector) -> Vector:
        """The matrices of one vector and the other blocks of another."""
        triples = zip(self.as_matrices(matrices), self._blocks(matrices), self._blocks(others), strict=True)
        blocks = Blocks(tuple(b if A is None else a for A, (a, _), (b, _) in triples))
        return blocks if isinstance(matrices, Blocks) else join(blocks, self.shapes or ())

    def lengthened(self, Z: Array) -> Array:
        """The direction of a matrix at the length at which it is played: a root mean square of 0.2."""
        return at_length(Z)

    def _blocks(self, v: Vector) -> list[tuple[Array, int]]:
        """The blocks, each with the number of its own axes; those of an array have leading axes as well."""
        if isinstance(v, Blocks):
            return [(a, a.ndim) for a in v.arrays]
        shapes = self.shapes or ()
        return list(zip(cut(v, shapes).arrays, map(len, shapes), strict=True))


def _as_matrix(a: Array, axes: int, stacks: bool) -> Array:
    batch = a.shape[: a.ndim - (2 if stacks and axes == 3 else axes)]
    first, size = a.shape[len(batch)], math.prod(a.shape[len(batch) :])
    return _xp.namespace(a).reshape(_xp.gathered(a), (*batch, first, size // first if first else 0))


def is_table(shape: Sequence[int]) -> bool:
    """Whether a tensor has the shape of a table: two axes, and at least 8 times as many rows as columns.

    Rows of a table are looked up one by one, so that it is no matrix for Muon and its like. Fused queries, keys and
    values have 3 times as many rows as columns, and layers of feed-forward networks 4, or 5.4 where two are fused;
    vocabularies have tens of times the width. So the border is between. It is a guess: a factor of LoRA is as long,
    and so are the widest feed-forward layers, those of Gemma with 8. Who knows better tells, as `o2nc.torch.groups`.

    Reference: the widths of GPT-2, Llama and Gemma.

    >>> is_table((50257, 768)), is_table((3072, 768)), is_table((8,))
    (True, False, False)
    """
    return len(shape) == 2 and shape[0] >= LONG * shape[1] > 0


def at_length(Z: Array, length: float = LENGTH) -> Array:
    """A matrix, of shape (..., p, q), at a root mean square of ``length``; 0 stays 0.

    Reference: Liu et al., Muon is scalable for LLM training (2025).

    >>> import numpy as np
    >>> at_length(np.asarray([[3.0, -3.0], [0.0, 0.0]])).round(4)
    array([[ 0.2828, -0.2828],
           [ 0.    ,  0.    ]])
    """
    return Z * (length * _xp.inverse(root_mean_square(Z)))


def root_mean_square(M: Array) -> Array:
    """The root mean square of a matrix, of shape (..., p, q); 0 if the squares of its entries underflow.

    >>> import numpy as np
    >>> root_mean_square(np.asarray([[3.0, 4.0], [3.0, 4.0]])).round(4)
    array([[3.5355]])
    """
    xp = _xp.namespace(M)
    return xp.sqrt(xp.mean(M * M, axis=(-2, -1), keepdims=True))
