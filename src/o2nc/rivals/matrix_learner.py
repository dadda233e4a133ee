"""What learners of displacements on balls of the operator norm share: the blocks as matrices, and the sums."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..constants import Nonsmooth
from ..operators import shorter_square
from ..vectors import Blocks, Vector, check_shapes, check_vector, join, leaf, split, zeros_like
from .displacement import discount_and_radius


class MatrixState(NamedTuple):
    """What a learner on balls of the operator norm remembers."""

    M: Vector  # the sum of b^{t-i} s_i
    V: Blocks  # for each block as a matrix S the sum of b^{2(t-i)} S_i S_i^T, or of S_i^T S_i if that is smaller


@dataclass(frozen=True)
class MatrixLearner(ABC):
    r"""A learner of displacements whose blocks have norm at most D, on the losses $\langle b^{-t}s_t,\Delta\rangle$.

    A block with two axes is a matrix, one with fewer a matrix of one row, one with more is flattened to (first axis,
    the rest). V is of the shorter side of a matrix.
    """

    D: float
    b: float
    shapes: Sequence[tuple[int, ...]] | None = None
    tuning: ClassVar[float]  # what its regret is a multiple of D tr(V^{1/2}) by, for `tuned`

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_number(f"{name}(D=...)", self.D, positive=True)
        check_share(f"{name}(b=...)", self.b)
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes(f"{name}(shapes=...)", self.shapes))

    @classmethod
    def tuned(cls, constants: Nonsmooth, shapes: Sequence[tuple[int, ...]]) -> Any:
        r"""The learner whose b and D minimise the leading terms of the bound on the measure with the weight $\lambda$.

        $$\frac M{DT}+(c+1)\sqrt r\,B\sqrt{1-b}+\frac{12\lambda rD^2}{(1-b)^2},\qquad B=\sqrt{L^2+\sigma^2},$$

        with $R_t\le cD\sum\mathrm{tr}V^{1/2}$ and r the sum over the blocks of the number of rows or columns, whichever
        is smaller: a displacement has a norm of at most $\sqrt rD$, and the comparators bound the nuclear norms of the
        blocks of the averaged gradient, which add up to its norm at least.

        >>> from o2nc.rivals import Leon
        >>> learner = Leon.tuned(Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000), [(4, 2), (3,)])
        >>> print(f"{learner.D:.5f} {learner.b:.4f}")
        0.00204 0.9753
        """
        r = sum(min(shape) if len(shape) > 1 else 1 for shape in check_shapes(f"{cls.__name__}(shapes=...)", shapes))
        b, D = discount_and_radius(constants, noise=(cls.tuning + 1) * math.sqrt(r), spread=r)
        return cls(D=D, b=b, shapes=shapes)

    @abstractmethod
    def leader(self, M: Array, V: Array, k: int, state: Any) -> Array:
        """Minus the displacement of block k for D = 1, from its sums."""

    def init(self, x: Vector) -> Any:
        """Nothing seen."""
        check_vector("x", x)
        return MatrixState(M=zeros_like(x), V=zeros_like(Blocks(tuple(shorter_square(A) for A in self.matrices(x)))))

    def play(self, state: Any) -> Vector:
        """The displacement, block by block."""
        pairs = zip(self.matrices(state.M), state.V.arrays, strict=True)
        return self.assembled([-self.D * self.leader(M, V, k, state) for k, (M, V) in enumerate(pairs)], state.M)

    def learn(self, state: Any, s: Vector) -> Any:
        """The discounted sums with the new sample."""
        squares = Blocks(tuple(shorter_square(S) for S in self.matrices(s)))
        return state._replace(M=self.b * state.M + s, V=self.b**2 * state.V + squares)

    def matrices(self, v: Vector) -> list[Array]:
        """The blocks as matrices, of shape (..., p, q)."""
        return [_as_matrix(a, axes) for a, axes in self._blocks(v)]

    def assembled(self, matrices: Sequence[Array], v: Vector) -> Vector:
        """The vector like v with these matrices."""
        reshape, pairs = _xp.namespace(leaf(v)).reshape, zip(matrices, self._blocks(v), strict=True)
        blocks = Blocks(tuple(reshape(A, a.shape) for A, (a, _) in pairs))
        return blocks if isinstance(v, Blocks) else join(blocks, self.shapes or ())

    def _blocks(self, v: Vector) -> list[tuple[Array, int]]:
        """The blocks, each with the number of its own axes; those of an array have leading axes as well."""
        if isinstance(v, Blocks):
            return [(a, a.ndim) for a in v.arrays]
        if self.shapes is None:
            raise ValueError(f"`{type(self).__name__}(shapes=...)` must be given to act on an array; got none.")
        return list(zip(split(v, self.shapes).arrays, map(len, self.shapes), strict=True))


def _as_matrix(a: Array, axes: int) -> Array:
    batch, own = a.shape[: a.ndim - axes], a.shape[a.ndim - axes :]
    rows = own[0] if axes > 1 else 1
    return _xp.namespace(a).reshape(a, (*batch, rows, math.prod(own) // rows))
