"""Online least squares over structured matrices: block-diagonal ones, and Kronecker products with the identity."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..sets.kronecker import check_shape, squarest
from ..vectors import Blocks, Vector, check_vector, leaf, shape_of, zero_scalar
from .base import registry


class FactorState(NamedTuple):
    """What least squares over factors remembers."""

    A: Array  # sum of X X^T, without lambda, (..., n, p, p) for n factors of size p
    H: Array  # sum of X (S - X)^T, like A
    spent: Array  # sum over rounds and factors of tr(B^T A_t^{-1} B) / 2 with B = X (S - X)^T, (..., 1)


class FactorLeastSquares(ABC):
    """Least squares for matrices W that all columns of a matrix X share: the vector is n such X, or one."""

    lam: float

    @abstractmethod
    def columns(self, x: Vector) -> Array:
        """The matrices X on whose columns the factors act, (..., n, p, q)."""

    @abstractmethod
    def back(self, X: Array, x: Vector) -> Vector:
        """The vector like x with these matrices."""

    @abstractmethod
    def total(self, v: Array) -> Array:
        """The sum over the factors of one number each, (..., 1)."""

    def init(self, x: Vector) -> FactorState:
        """Nothing seen."""
        check_vector("x", x)
        X = self.columns(x)
        zero = _xp.zeros((*X.shape[:-1], X.shape[-2]), X)
        return FactorState(A=zero, H=zero, spent=zero_scalar(x))

    def play(self, state: FactorState, m: Vector) -> "Factored":
        """I + W_t."""
        W = self._solved(state.A + _product(X := self.columns(m), X), state.H)
        return Factored(self, _xp.namespace(W).matrix_transpose(W))

    def learn(self, state: FactorState, loss: Loss) -> FactorState:
        """Add the direction and what the identity missed."""
        X, R = self.columns(loss.m), self.columns(loss.s - loss.m)
        A = state.A + _product(X, X)
        return FactorState(A=A, H=state.H + _product(X, R), spent=state.spent + 0.5 * self.total(self._cost(A, X, R)))

    def spent_bound(self, state: FactorState) -> Array:
        """The bound on the regret against the identity so far, in multiples of the scale of the loss, (..., 1)."""
        return state.spent - 0.5 * self.total(_sum(state.H * self._solved(state.A, state.H)))

    def expected_bound(self, x: Vector, error: float, sigma: float, N: float) -> float:
        r"""As that of `LeastSquares`: $\frac12[error+\sigma^2p\log(1+N/(p\lambda))]$, with the variance $\sigma^2$."""
        for name, value in (("error", error), ("sigma", sigma), ("N", N)):
            check_number(name, value)
        variance, lam = self.regret_moments(x, sigma)
        return (error + variance * math.log1p(N / lam)) / 2

    def regret_moments(self, x: Vector, sigma: float) -> tuple[float, float]:
        r"""The numbers $\sigma^2p$ and $p\lambda$ of `expected_bound`, with p the size of a factor."""
        p = self.columns(x).shape[-2]
        return sigma**2 * p, p * self.lam

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: see `expected_bound`; the energy does not tell how well the identity predicts."""
        return math.inf

    def _solved(self, A: Array, B: Array) -> Array:
        return _xp.namespace(A).linalg.solve(A + self.lam * _xp.eye(A.shape[-1], A), B)

    def _cost(self, A: Array, X: Array, R: Array) -> Array:
        """tr(B^T A^{-1} B) with B = X R^T, by the smaller of X and B, one number for each factor."""
        if X.shape[-1] >= X.shape[-2]:
            B = _product(X, R)
            return _sum(B * self._solved(A, B))
        xp = _xp.namespace(X)
        share = xp.matmul(xp.matrix_transpose(X), self._solved(A, X))
        return _sum(R * xp.matmul(R, share))


@dataclass(frozen=True, eq=False)
class Factored:
    """I + W, with W on the columns of the matrices that a vector is made of."""

    of: FactorLeastSquares
    W: Array  # (..., n, p, p)

    def __matmul__(self, v: Vector) -> Vector:
        X = self.of.columns(v)
        return self.of.back(X + _xp.namespace(X).matmul(self.W, X), v)


class _Grouped(FactorLeastSquares):
    """An array of n p q numbers, as n matrices of shape (p, q); or `Blocks` of one such matrix."""

    shape: tuple[int, int]

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "shape", check_shape(f"{name}(shape=...)", self.shape))
        check_number(f"{name}(lam=...)", self.lam, positive=True)

    def columns(self, x: Vector) -> Array:
        """The matrices, each from consecutive entries, column by column."""
        p, q = self.shape
        xp = _xp.namespace(leaf(x))
        if isinstance(x, Blocks):
            if shape_of(x) != (self.shape,):
                raise ValueError(f"The vector must be one block of shape {self.shape}; got {shape_of(x)}.")
            return self._side(x.arrays[0][None, ...])
        if x.shape[-1] % (p * q):
            name, d = type(self).__name__, x.shape[-1]
            raise ValueError(f"`{name}(shape=...)` must divide the {d} entries of `x`; got {self.shape}.")
        return self._side(xp.matrix_transpose(xp.reshape(x, (*x.shape[:-1], x.shape[-1] // (p * q), q, p))))

    def back(self, X: Array, x: Vector) -> Vector:
        """The inverse of `columns`."""
        xp, X = _xp.namespace(X), self._side(X)
        return Blocks((X[0, ...],)) if isinstance(x, Blocks) else xp.reshape(xp.matrix_transpose(X), x.shape)

    def total(self, v: Array) -> Array:
        """The sum over the last axis."""
        return _xp.namespace(v).sum(v, axis=-1, keepdims=True)

    def _side(self, X: Array) -> Array:
        """X with the vectors on which the factor acts as its columns; done twice, X itself."""
        return X


@dataclass(frozen=True, eq=False)
class LeftLeastSquares(_Grouped):
    r"""Predicts the next sample matrix by matrix, from the left: $X\mapsto(I+W_t)X$ with $W_t^\top=A_t^{-1}H_{t-1}$.

    The vector is cut into n matrices X of shape (p, q), each with a factor of its own.
    $A_t=\lambda I+\sum_{i\le t}X_iX_i^\top$ over the directions and $H_t=\sum_{i\le t}X_i(S_i-X_i)^\top$ are p x p.
    Each row of W is `LeastSquares` of a row of S - X on the rows of X. Operators may have **any size** and need not be
    symmetric. With q = 1 they are **block-diagonal** with n blocks of size p; with n = 1 a **Kronecker product**
    $I\otimes(I+W)$; with p = 1 a factor for each block. A round costs $d\,(p+p^2/q)$ and the state $2dp/q$ numbers:
    linear in d while p is fixed.

    Regret against $I+W$ with any matrices W on `PredictionLoss`, in multiples of its scale, for every sequence: the sum
    over the n matrices of $\frac\lambda2\|W\|_F^2+\frac12\sum_t\mathrm{tr}(B_t^\top A_t^{-1}B_t)-\frac12\mathrm{tr}
    [(H_T-A_TW^\top)^\top A_T^{-1}(H_T-A_TW^\top)]$ with $B_t=X_t(S_t-X_t)^\top$: that of `LeastSquares`, whose proof
    holds for each row with $G_t=X_tX_t^\top$.

    Args:
        shape: (p, q); p q must divide the number of coordinates. `Blocks` must be one matrix of this shape.
        lam: lambda, in the units of $\|m_t\|^2$.

    Reference: Vovk (2001); Azoury and Warmuth (2001), section 5.

    >>> import numpy as np
    >>> from o2nc.losses import PredictionLoss
    >>> oracle, m = LeftLeastSquares((2, 1)), np.asarray([1.0, 0.0, 2.0, 0.0])
    >>> state = oracle.learn(oracle.init(m), PredictionLoss(s=np.asarray([1.0, 3.0, 2.0, 0.0]), m=m))
    >>> oracle.play(state, m) @ m
    array([1., 1., 2., 0.])
    """

    shape: tuple[int, int]
    lam: float = 1.0


@dataclass(frozen=True, eq=False)
class RightLeastSquares(LeftLeastSquares):
    r"""`LeftLeastSquares` from the right: $X\mapsto X(I+W_t)$, with factors of size q x q.

    It is `LeftLeastSquares` of the transposed matrices, with its regret; for one matrix a Kronecker product
    $(I+W)^\top\otimes I$.

    Args:
        shape: (p, q); p q must divide the number of coordinates. `Blocks` must be one matrix of this shape.
        lam: lambda, in the units of $\|m_t\|^2$.

    Reference: Vovk (2001); Azoury and Warmuth (2001), section 5.

    >>> import numpy as np
    >>> from o2nc.losses import PredictionLoss
    >>> oracle, m = RightLeastSquares((1, 2)), np.asarray([1.0, 0.0])
    >>> state = oracle.learn(oracle.init(m), PredictionLoss(s=np.asarray([1.0, 3.0]), m=m))
    >>> oracle.play(state, m) @ m
    array([1., 1.])
    """

    def _side(self, X: Array) -> Array:
        return _xp.namespace(X).matrix_transpose(X)


def _product(X: Array, Y: Array) -> Array:
    """X Y^T."""
    xp = _xp.namespace(X)
    return xp.matmul(X, xp.matrix_transpose(Y))


def _sum(A: Array) -> Array:
    """The sum of the entries of each matrix."""
    xp = _xp.namespace(A)
    return xp.sum(xp.sum(A, axis=-1), axis=-1)


def _add(name: str, kind: Any, side: str) -> None:
    registry.add(
        name, lambda S, rate, C, x: kind(squarest(x)), f"least squares over factors from the {side}; any size",
        circuit=True, sees_x=True, static=False, any_size=True,
    )  # fmt: skip


_add("left-least-squares", LeftLeastSquares, "left")
_add("right-least-squares", RightLeastSquares, "right")
