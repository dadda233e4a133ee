"""Online Newton step, with the curvature of the prediction loss."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import act
from ..sets.base import Coordinates, first_set
from ..vectors import Vector, leaf, zero_scalar, zeros_like
from .base import registry
from .coordinates import dot
from .over_set import OverSet


class NewtonState(NamedTuple):
    """What online Newton step remembers."""

    u: Coordinates  # the point to play
    A: Coordinates  # sum of the curvatures so far, without lambda, like u
    spent: Array  # sum of <g_t, A_t^{-1} g_t> / 2, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class OnlineNewtonStep(OverSet):
    r"""Newton steps on the prediction loss, within a box: $u_{t+1}=\Pi(u_t-A_t^{-1}g_t)$.

    $g_t$ is the gradient of $\frac12\|Um_t-s_t\|^2$ at the point played, and $A_t=\lambda+\sum_{i\le t}h_i$ adds up its
    second derivatives: $m_{t,i}^2$ for each coordinate of a `Box`, $\|m_{t,i}\|^2$ for each block of a `BlockBox` (one
    block: a scalar factor). $\Pi$ clips. It learns from the sample, whatever the loss and its scale.

    Regret against every u of the set on `PredictionLoss`, in multiples of its scale, for every sequence:
    $\frac\lambda2\|u-u_1\|^2+\frac12\sum_t\sum_ig_{t,i}^2/A_{t,i}$. The learner starts at the point of the set nearest
    to the identity; if that is the identity, the second term alone bounds the regret against it (`spent_bound`). It is
    at most $\frac12\sum_iB_i^2\log(1+N_i/\lambda)$, of order log T, where $B_i$ bounds block i of $U_tm_t-s_t$ and
    $N_i=\sum_t\|m_{t,i}\|^2$.

    Proof. Factor by factor the loss is a parabola, $\ell_t(u_t)-\ell_t(u)=g_t(u_t-u)-\frac{h_t}2(u_t-u)^2$. Clipping
    brings $u_t-g_t/A_t$ nearer to u, so $2g_t(u_t-u)\le A_t(u_t-u)^2-A_t(u_{t+1}-u)^2+g_t^2/A_t$. Sum:
    $A_t-A_{t-1}=h_t$ cancels the squares but the first, $\lambda(u_1-u)^2$. And
    $g_t^2/A_t\le B^2h_t/A_t\le B^2\log(A_t/A_{t-1})$.

    The general step has $\sum_tg_tg_t^\top$, times what exp-concavity allows, for the curvature: where
    $\|Um-s\|\le B$ the loss is $B^{-2}$-exp-concave, and $g_t^2\le B^2h_t$. With the curvature itself B is not needed.

    Args:
        set: a `Box`, `WideBox`, `BlockBox` or `WideBlockBox`, or a sequence of them that varies.
        lam: lambda, in the units of $\|m_t\|^2$.

    Reference: Hazan, Agarwal and Kale (2007), sections 3.1 and 3.3.

    >>> import numpy as np
    >>> from o2nc.losses import PredictionLoss
    >>> from o2nc.sets import WideBox
    >>> oracle, m = OnlineNewtonStep(WideBox(0.0, 2.0)), np.asarray([1.0, 1.0])
    >>> oracle.learn(oracle.init(m), PredictionLoss(s=np.asarray([2.0, 9.0]), m=m)).u
    array([1.5, 2. ])
    """

    lam: float = 1.0
    needs: ClassVar[tuple[str, ...]] = ("gram", "factorwise")  # of the sets that have both, the curvature is diagonal

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("OnlineNewtonStep(lam=...)", self.lam, positive=True)

    def init(self, x: Vector) -> NewtonState:
        """The set's starting point."""
        u = self.start(x)
        A = first_set(self.set, x).gram(zeros_like(x))
        return NewtonState(u=u, A=A, spent=zero_scalar(x), t=_xp.first_round(leaf(x)))

    def learn(self, state: NewtonState, loss: Loss) -> NewtonState:
        """One clipped Newton step."""
        S: Any = self.set.at(state.t)
        m = loss.m
        g, A = S.pullback(act(S.operator(state.u), m) - loss.s, m), state.A + S.gram(m)
        step = S.solve(A, self.lam, g)
        u = self.set.at(state.t + 1).project(state.u - step)
        return NewtonState(u=u, A=A, spent=state.spent + 0.5 * dot(S, g, step), t=state.t + 1)

    def spent_bound(self, state: NewtonState) -> Array:
        """The bound on the regret against the point of the start so far, in multiples of the scale, (..., 1)."""
        return state.spent

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: the bound is about how well the factors predict, which the energy does not tell."""
        return math.inf


registry.add(
    "online-newton-step", lambda S, rate, C: OnlineNewtonStep(S), "online Newton step, for the prediction loss",
    static=False,
)  # fmt: skip
