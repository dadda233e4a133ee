"""Kronecker operators of a matrix block with learned factors: linear in what is learned.

A product A X B is not linear in (A, B), so it is no set of operators for an online learner; A X, X B and their average
(A X + X B) / 2 are, at p^2, q^2 and p^2 + q^2 coordinates instead of (p q)^2.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .. import _xp
from .._xp import Array
from ..checks import brief
from ..operators import Blockwise, LeftFactor, Operator, RightFactor, trusted
from ..vectors import Blocks, Vector, leaf, mat, shape_of
from .base import OperatorSet, Static, registry
from .spectral import SpectralBall


@dataclass(frozen=True)
class _OneSided(Static):
    """What the factors of the two sides share: the set of the factor, in whose coordinates the factor is."""

    shape: tuple[int, int]
    factors: OperatorSet = field(default_factory=SpectralBall)
    kind: ClassVar[type]
    axes = 2

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "shape", check_shape(f"{name}(shape=...)", self.shape))
        check_factors(f"{name}(factors=...)", self.factors)

    def start(self, x: Vector) -> Array:
        """Where a learner of the factor starts."""
        return self.factors.start(self._side(x))

    def operator(self, u: Array) -> Operator:
        """The operator with the factor u."""
        return trusted(Blockwise, operators=(trusted(self.kind, matrix=u),), shapes=(self.shape,))

    def pullback(self, p: Vector, m: Vector) -> Array:
        """The symmetric part of P M^T; from the right, of P^T M, which is that of M^T P."""
        P, M = self._columns(p), self._columns(m)
        xp = _xp.namespace(P)
        return _xp.symmetric(xp.matmul(P, xp.matrix_transpose(M)))

    def project(self, u: Array) -> Array:
        """The projection of the factor."""
        return self.factors.project(u)

    def minimize(self, g: Array) -> Array:
        """The minimiser over the factors."""
        return self.factors.minimize(g)

    @property
    def from_ball(self) -> Callable[[Array], Array]:
        """That of the factors, if they are a ball."""
        return self.factors.from_ball  # type: ignore[attr-defined]

    @property
    def radius(self) -> float:
        """That of the factors, if they are a ball."""
        return self.factors.radius  # type: ignore[attr-defined]

    def diameter(self, x: Vector) -> float:
        """That of the factors."""
        return self.factors.diameter(self._side(x))

    def gradient_factor(self, x: Vector) -> float:
        """1: a product of matrices has a Frobenius norm of at most the product of theirs."""
        return 1.0

    def identity(self, x: Vector) -> Array | None:
        """The identity as the factor, where it is one."""
        return self.factors.identity(self._side(x))

    @property
    def holds_identity(self) -> bool:
        """Whether the identity is one of the factors."""
        return self.factors.holds_identity

    def _side(self, x: Vector) -> Array:
        """A vector on which the factor acts."""
        return self._columns(x)[..., :, 0]

    def _columns(self, x: Vector) -> Array:
        """X with the vectors on which the factor acts as its columns."""
        return matrix(x, self.shape)


@dataclass(frozen=True)
class LeftFactors(_OneSided):
    r"""$\{X\mapsto AX : A\in\mathcal A\}$ for one matrix X of shape (p, q), in the coordinates A.

    The gradient of $\langle P,AM\rangle$ in A is the symmetric part of $PM^\top$.

    Args:
        shape: (p, q); an array of shape (..., p q) is X column by column, as the paper's vec, and `Blocks` are X.
        factors: the set of the matrices A: `SpectralBall` (the default), `PositiveContractions` or `Fantope`.

    Reference: the set-up of Algorithm 1, with $U=I\otimes A$.

    >>> import numpy as np
    >>> S = LeftFactors((2, 1))
    >>> S.pullback(np.asarray([1.0, 0.0]), np.asarray([0.0, 1.0]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """

    kind = LeftFactor


@dataclass(frozen=True)
class RightFactors(_OneSided):
    r"""$\{X\mapsto XB : B\in\mathcal B\}$ for one matrix X of shape (p, q), in the coordinates B.

    The gradient of $\langle P,MB\rangle$ in B is the symmetric part of $M^\top P$.

    Args:
        shape: (p, q); an array of shape (..., p q) is X column by column, as the paper's vec, and `Blocks` are X.
        factors: the set of the matrices B: `SpectralBall` (the default), `PositiveContractions` or `Fantope`.

    Reference: the set-up of Algorithm 1, with $U=B\otimes I$.

    >>> import numpy as np
    >>> S = RightFactors((1, 2))
    >>> S.operator(np.asarray([[0.0, 1.0], [1.0, 0.0]])) @ np.asarray([3.0, 4.0])
    array([4., 3.])
    """

    kind = RightFactor

    def _columns(self, x: Vector) -> Array:
        return _xp.namespace(leaf(x)).matrix_transpose(matrix(x, self.shape))


def matrix(x: Vector, shape: tuple[int, int]) -> Array:
    """The matrix of the only block of ``x``, or of its last axis."""
    if not isinstance(x, Blocks):
        return mat(x, *shape)
    if shape_of(x) != (shape,):
        raise ValueError(f"The vector must be one block of shape {shape}; got {shape_of(x)}.")
    return x.arrays[0]


def check_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape as a tuple; raise unless it is (p, q) with positive p and q."""
    if not isinstance(shape, Sequence) or len(shape) != 2 or not all(isinstance(n, int) and n > 0 for n in shape):
        raise ValueError(f"`{name}` must be (p, q) with whole numbers of at least 1; got {brief(shape)}.")
    return tuple(shape)


def check_factors(name: str, factors: Any) -> None:
    """Raise unless ``factors`` is a set of matrices, in the coordinates of the matrix itself."""
    if isinstance(factors, (type, _OneSided)) or not isinstance(factors, OperatorSet) or factors.axes != 2:
        raise TypeError(f"`{name}` must be a set of matrices, as SpectralBall(); got {factors!r}.")
    if not getattr(factors, "symmetric", True):
        raise TypeError(f"`{name}` must be a set of symmetric matrices, as SpectralBall(); got {factors!r}.")


def squarest(x: Vector) -> tuple[int, int]:
    """The shape of x as a matrix: that of its block, or of an array the most square one, with as many rows or more."""
    if isinstance(x, Blocks):
        p, q = x.arrays[0].shape
        return p, q
    d = x.shape[-1]
    q = next(n for n in range(math.isqrt(d), 0, -1) if d % n == 0)
    return d // q, q


registry.add("left-factors", lambda experts, x: LeftFactors(squarest(x)), "X -> A X, A symmetric", over="factors")
registry.add("right-factors", lambda experts, x: RightFactors(squarest(x)), "X -> X B, B symmetric", over="factors")
