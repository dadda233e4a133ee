"""Shampoo's direction."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..operators import inverse_root
from ..vectors import Vector
from .adam import Adam
from .base import FLOOR, registry
from .matrices import OnMatrices


class ShampooState(NamedTuple):
    """What `Shampoo` remembers."""

    L: tuple[Array, ...]  # for each matrix block, the sum of S S^T over the samples, (..., p, p)
    R: tuple[Array, ...]  # the sum of S^T S, (..., q, q)
    other: Any  # the state of the fallback


@dataclass(frozen=True)
class Shampoo(OnMatrices):
    r"""Shampoo's direction: $L^{-1/4}MR^{-1/4}$ of each matrix block M, at a root mean square of 0.2.

    $L=\epsilon I+\sum SS^\top$ and $R=\epsilon I+\sum S^\top S$ over the samples before this round, so that it is
    predictable. To each a ridge is added, $10^{-4}$ of its mean eigenvalue, so that the direction is a continuous
    function of the samples. The roots are by products of matrices, `o2nc.operators.inverse_root`, in every round: there
    is no factorisation that might fail. A block with two axes is a matrix, one with more is flattened to (first axis,
    the rest), one with fewer takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        stacks: whether a block with three axes is a stack of matrices; if not, it is flattened too.
        eps: the start of L and R, times the identity.

    Reference: Gupta, Koren and Singer (2018), Algorithm 1, with the tracker in the place of the gradient, and a ridge.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Shampoo(), Blocks((np.asarray([[3.0, 0.0], [0.0, 4.0]]),))
    >>> expert.direction(expert.learn(expert.init(m), m), m).arrays[0].round(4)
    array([[0.2828, 0.    ],
           [0.    , 0.2828]])
    """

    eps: float = 1e-8
    name: ClassVar[str] = "shampoo"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("Shampoo(eps=...)", self.eps, positive=True)

    def init(self, x: Vector) -> ShampooState:
        """No sample so far."""
        other = super().init(x)
        zero = [_grams(_xp.namespace(A).zeros_like(A)) for A in self.as_matrices(x) if A is not None]
        return ShampooState(L=tuple(L for L, _ in zero), R=tuple(R for _, R in zero), other=other)

    def direction(self, state: ShampooState, m: Vector) -> Vector:
        """L^{-1/4} M R^{-1/4}."""
        sums = iter(zip(state.L, state.R, strict=True))
        found = [None if M is None else self._between(M, *next(sums)) for M in self.as_matrices(m)]
        return self.assembled(found, m, self.fallback.direction(state.other, m))

    def learn(self, state: ShampooState, s: Vector) -> ShampooState:
        """Add the products of the sample."""
        new = [_grams(S) for S in self.as_matrices(s) if S is not None]
        return ShampooState(
            L=tuple(L + G for L, (G, _) in zip(state.L, new, strict=True)),
            R=tuple(R + G for R, (_, G) in zip(state.R, new, strict=True)),
            other=self.fallback.learn(state.other, s),
        )

    def _between(self, M: Array, L: Array, R: Array) -> Array:
        matmul = _xp.namespace(M).matmul
        return matmul(matmul(self._root(L), M), self._root(R))

    def _root(self, A: Array) -> Array:
        return inverse_root(A + self.eps * _xp.eye(A.shape[-1], A), 4)


def _grams(S: Array) -> tuple[Array, Array]:
    """S S^T and S^T S."""
    xp = _xp.namespace(S)
    T = xp.matrix_transpose(S)
    return xp.matmul(S, T), xp.matmul(T, S)


registry.add(
    "shampoo",
    lambda eps=FLOOR, **options: Shampoo(fallback=Adam(eps=eps, **options), floor=eps),
    "the matrix between inverse roots of its past",
)
