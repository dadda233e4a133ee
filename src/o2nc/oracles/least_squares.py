"""Online least squares, centred at the identity."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import Operator
from ..sets import Hull
from ..sets.base import Coordinates, first_set
from ..vectors import Vector, leaf, zero_scalar, zeros_like
from .base import registry
from .coordinates import dot
from .over_set import OverSet


class LeastSquaresState(NamedTuple):
    """What online least squares remembers."""

    A: Coordinates  # sum of the Gram matrices so far, without lambda: like u for boxes, (..., K, K) for hulls
    H: Coordinates  # sum of the products b_t of the features with s_t - m_t, like u
    spent: Array  # sum of <b_t, A_t^{-1} b_t> / 2, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class LeastSquares(OverSet):
    r"""Predicts the next sample by least squares: $U_t=I+\sum_kw_{t,k}U_k$ with $w_t=A_t^{-1}H_{t-1}$.

    $A_t=\lambda I+\sum_{i\le t}G_i$ with $G_{t,jk}=\langle U_jm_t,U_km_t\rangle$, and $H_t=\sum_{i\le t}b_i$ with
    $b_{t,k}=\langle U_km_t,s_t-m_t\rangle$. $A_t$ counts the direction of this round, which is known before $U_t$ is
    played. The $U_k$ are the operators of a `Hull` (one identity: a scalar factor $\theta_t=1+H_{t-1}/A_t$), the
    coordinates of a `Box`, or the blocks of a `BlockBox`, where A is diagonal. Of a set only these are used: every
    linear combination may be played, so that operators may have **any size**. It learns from the sample, whatever the
    loss and its scale.

    Regret against $I+\sum_kw_kU_k$ on `PredictionLoss`, in multiples of its scale, for every sequence and every w:
    $\frac\lambda2\|w\|^2+\frac12\sum_tb_t^\top A_t^{-1}b_t-\frac12\|H_T-A_Tw\|_{A_T^{-1}}^2$. Against the identity,
    w = 0, that is `spent_bound`.

    Proof. In w the loss is $\ell_t(w)=\frac12w^\top G_tw-w^\top b_t$ up to a constant. From $H_t=H_{t-1}+b_t$,
    $\frac12H_t^\top A_t^{-1}H_t=\frac12H_{t-1}^\top A_t^{-1}H_{t-1}+w_t^\top b_t+\frac12b_t^\top A_t^{-1}b_t$. And
    $A_{t-1}^{-1}-A_t^{-1}=A_t^{-1}(G_t+G_tA_{t-1}^{-1}G_t)A_t^{-1}\succeq A_t^{-1}G_tA_t^{-1}$, so
    $\frac12w_t^\top G_tw_t\le\frac12H_{t-1}^\top(A_{t-1}^{-1}-A_t^{-1})H_{t-1}$. Together
    $\ell_t(w_t)\le\frac12b_t^\top A_t^{-1}b_t-\frac12H_t^\top A_t^{-1}H_t+\frac12H_{t-1}^\top A_{t-1}^{-1}H_{t-1}$;
    sum, and subtract $\sum_t\ell_t(w)=\frac12w^\top(A_T-\lambda I)w-w^\top H_T$.

    Args:
        set: operators, a `Hull` that holds the identity, a `Box` or a `BlockBox`; or a set of these that varies.
        lam: lambda, in the units of $\|m_t\|^2$.

    Reference: Vovk (2001); Azoury and Warmuth (2001), section 5.

    >>> import numpy as np
    >>> from o2nc.losses import PredictionLoss
    >>> from o2nc.operators import Identity
    >>> oracle, m = LeastSquares([Identity()]), np.asarray([1.0])
    >>> state = oracle.learn(oracle.init(m), PredictionLoss(s=3.0 * m, m=m))
    >>> oracle.play(state, m) @ m  # 1 + 2 / (1 + 1 + 1)
    array([1.66666667])
    """

    lam: float = 1.0
    needs: ClassVar[tuple[str, ...]] = ("gram", "solve")

    def __post_init__(self) -> None:
        if isinstance(self.set, (list, tuple)):
            object.__setattr__(self, "set", Hull(tuple(self.set)))
        super().__post_init__()
        check_number("LeastSquares(lam=...)", self.lam, positive=True)

    def init(self, x: Vector) -> LeastSquaresState:
        """Nothing seen."""
        H, S = self.start(x), first_set(self.set, x)
        if S.identity(x) is None:
            raise ValueError(f"`LeastSquares(set=...)` must hold the identity, at which it is centred; got {S!r}.")
        return LeastSquaresState(S.gram(zeros_like(x)), zeros_like(H), zero_scalar(x), _xp.first_round(leaf(x)))

    def play(self, state: LeastSquaresState, m: Vector) -> Operator:
        """I and the least-squares combination of the operators of the set."""
        S: Any = self.set.at(state.t)
        return S.operator(S.identity(m) + S.solve(state.A + S.gram(m), self.lam, state.H))

    def learn(self, state: LeastSquaresState, loss: Loss) -> LeastSquaresState:
        """Add the features and their products with what the identity missed."""
        S: Any = self.set.at(state.t)
        A, b = state.A + S.gram(loss.m), S.pullback(loss.s - loss.m, loss.m)
        spent = state.spent + 0.5 * dot(S, b, S.solve(A, self.lam, b))
        return LeastSquaresState(A=A, H=state.H + b, spent=spent, t=state.t + 1)

    def spent_bound(self, state: LeastSquaresState) -> Array:
        """The bound on the regret against the identity so far, in multiples of the scale of the loss, (..., 1)."""
        S: Any = self.set.at(state.t)
        return state.spent - 0.5 * dot(S, state.H, S.solve(state.A, self.lam, state.H))

    def expected_bound(self, x: Vector, error: float, sigma: float, N: float) -> float:
        r"""A bound on $E[Reg(I)]$ from second moments alone: $\frac12[error+\sigma^2k\log(1+N/\lambda)]$.

        k = 1 for boxes and K for a hull of K contractions. ``error`` bounds $\sum_tE\|m_t-g_t\|^2$, with $g_t$ the
        mean of $s_t$ given the past; $\sigma^2$ the variance of $s_t$ (for a hull, its largest in one direction
        serves); N bounds $\sum_tE\|m_t\|^2$. In multiples of the scale of the loss.

        Proof. $A_t$ is known before $s_t$, so $E\,b_t^\top A_t^{-1}b_t$ is that of $g_t-m_t$ and that of the noise.
        The first is at most $\|g_t-m_t\|^2$, since $V^\top V=G_t\preceq A_t$ for the matrix V of the $U_km_t$. The
        second is at most $\sigma^2\mathrm{tr}(A_t^{-1}G_t)$, for boxes $\sum_i\sigma_i^2G_{t,i}/A_{t,i}$; sums of
        $\mathrm{tr}(A_t^{-1}G_t)$ are at most $\log\det(A_T/\lambda)$, and log is concave.
        """
        for name, value in (("error", error), ("sigma", sigma), ("N", N)):
            check_number(name, value)
        variance, lam = self.regret_moments(x, sigma)
        return (error + variance * math.log1p(N / lam)) / 2

    def regret_moments(self, x: Vector, sigma: float) -> tuple[float, float]:
        r"""The numbers $\sigma^2k$ and $\lambda$ of `expected_bound`."""
        return sigma**2 * self.set.gradient_factor(x) ** 2, self.lam

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: see `expected_bound`; the energy does not tell how well the identity predicts."""
        return math.inf


registry.add(
    "least-squares", lambda S, rate, C: LeastSquares(S), "least squares, for the prediction loss; any size",
    static=False, any_size=True,
)  # fmt: skip
