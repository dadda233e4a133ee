"""Online least squares over all matrices."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import Dense, Operator, trusted
from ..vectors import Blocks, Vector, check_vector, inner, zero_scalar
from .base import registry


class FullLeastSquaresState(NamedTuple):
    """What least squares over all matrices remembers."""

    A: Array  # sum of m m^T, without lambda, (..., d, d)
    H: Array  # sum of m (s - m)^T, (..., d, d)
    spent: Array  # sum of |s - m|^2 <m, A_t^{-1} m> / 2, (..., 1)


@dataclass(frozen=True, eq=False)
class FullLeastSquares:
    r"""Predicts the next sample by a matrix: $U_t=I+W_t$ with $W_t^\top=A_t^{-1}H_{t-1}$.

    $A_t=\lambda I+\sum_{i\le t}m_im_i^\top$, $H_t=\sum_{i\le t}m_i(s_i-m_i)^\top$: each row of W is `LeastSquares` of a
    coordinate of $s_t-m_t$ on $m_t$. Operators may have **any size** and need not be symmetric. A round costs $d^3$.

    Regret against I + W on `PredictionLoss`, in multiples of its scale, for every sequence and every matrix W:
    $\frac\lambda2\|W\|_F^2+\frac12\sum_t\|s_t-m_t\|^2m_t^\top A_t^{-1}m_t-\frac12\mathrm{tr}[(H_T-A_TW^\top)^\top
    A_T^{-1}(H_T-A_TW^\top)]$: the sum over the rows of that of `LeastSquares`, whose proof holds for each.

    Args:
        lam: lambda, in the units of $\|m_t\|^2$.

    Reference: Vovk (2001); Azoury and Warmuth (2001), section 5.

    >>> import numpy as np
    >>> from o2nc.losses import PredictionLoss
    >>> oracle, m = FullLeastSquares(), np.asarray([1.0, 0.0])
    >>> state = oracle.learn(oracle.init(m), PredictionLoss(s=np.asarray([1.0, 3.0]), m=m))
    >>> oracle.play(state, m) @ m
    array([1., 1.])
    """

    lam: float = 1.0

    def __post_init__(self) -> None:
        check_number("FullLeastSquares(lam=...)", self.lam, positive=True)

    def init(self, x: Vector) -> FullLeastSquaresState:
        """Nothing seen."""
        check_vector("x", x)
        if isinstance(x, Blocks):
            raise TypeError("`FullLeastSquares` keeps one matrix for all coordinates and needs one array; got Blocks.")
        zero = _xp.zeros((*x.shape, x.shape[-1]), x)
        return FullLeastSquaresState(A=zero, H=zero, spent=zero_scalar(x))

    def play(self, state: FullLeastSquaresState, m: Array) -> Operator:
        """I + W_t."""
        W = self._solved(state.A + _outer(m, m), state.H)
        return trusted(Dense, matrix=_xp.eye(m.shape[-1], m) + _xp.namespace(W).matrix_transpose(W))

    def learn(self, state: FullLeastSquaresState, loss: Loss) -> FullLeastSquaresState:
        """Add the direction and what the identity missed."""
        m, r = loss.m, loss.s - loss.m
        A = state.A + _outer(m, m)
        share = inner(m, self._solved(A, m[..., None])[..., 0])
        return FullLeastSquaresState(A=A, H=state.H + _outer(m, r), spent=state.spent + 0.5 * share * inner(r, r))

    def spent_bound(self, state: FullLeastSquaresState) -> Array:
        """The bound on the regret against the identity so far, in multiples of the scale of the loss, (..., 1)."""
        xp, fit = _xp.namespace(state.H), state.H * self._solved(state.A, state.H)
        return state.spent - 0.5 * xp.sum(xp.sum(fit, axis=-1), axis=-1, keepdims=True)

    def expected_bound(self, x: Vector, error: float, sigma: float, N: float) -> float:
        r"""As that of `LeastSquares`: $\frac12[error+\sigma^2d\log(1+N/(d\lambda))]$, with the variance $\sigma^2$."""
        for name, value in (("error", error), ("sigma", sigma), ("N", N)):
            check_number(name, value)
        variance, lam = self.regret_moments(x, sigma)
        return (error + variance * math.log1p(N / lam)) / 2

    def regret_moments(self, x: Vector, sigma: float) -> tuple[float, float]:
        r"""The numbers $\sigma^2d$ and $d\lambda$ of `expected_bound`."""
        d = x.shape[-1]
        return sigma**2 * d, d * self.lam

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: see `expected_bound`; the energy does not tell how well the identity predicts."""
        return math.inf

    def _solved(self, A: Array, B: Array) -> Array:
        return _xp.namespace(A).linalg.solve(A + self.lam * _xp.eye(A.shape[-1], A), B)


def _outer(u: Array, v: Array) -> Array:
    return u[..., :, None] * v[..., None, :]


registry.add(
    "full-least-squares", lambda S, rate, C: FullLeastSquares(), "least squares over all matrices; any size",
    circuit=True, static=False, any_size=True,
)  # fmt: skip
