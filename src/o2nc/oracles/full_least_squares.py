"""Online least squares over all matrices."""

from dataclasses import dataclass

from .._xp import Array
from ..checks import check_number
from ..vectors import Blocks, Vector
from .base import registry
from .factor_least_squares import FactorLeastSquares


@dataclass(frozen=True, eq=False)
class FullLeastSquares(FactorLeastSquares):
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

    def columns(self, x: Vector) -> Array:
        """The vector as a matrix of one column."""
        if isinstance(x, Blocks):
            raise TypeError("`FullLeastSquares` keeps one matrix for all coordinates and needs one array; got Blocks.")
        return x[..., None]

    def back(self, X: Array, x: Vector) -> Array:
        """The only column."""
        return X[..., 0]

    def total(self, v: Array) -> Array:
        """The number itself: there is one matrix."""
        return v[..., None]


registry.add(
    "full-least-squares", lambda S, rate, C: FullLeastSquares(), "least squares over all matrices; any size",
    circuit=True, static=False, any_size=True,
)  # fmt: skip
