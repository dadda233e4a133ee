"""Coin betting: nothing to tune, and against the identity next to no regret."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..sets import OperatorSet
from ..sets.base import Coordinates, lasts
from ..vectors import Scalar, Vector, leaf, zero_scalar, zeros_like
from .base import registry
from .coordinates import dot, scaled, square
from .over_set import OverSet

ROUNDING = 100  # a point is outside the set if it is farther from it than this many roundings of its own norm


class CoinBettingState(NamedTuple):
    """What coin betting remembers."""

    u: Coordinates  # the point to play, the projection of w
    w: Coordinates  # the point that the bettor wants, in the set or not
    start: Coordinates  # where it started: w - start is the bet
    X: Coordinates  # minus the sum of the gradients that were bet on
    A: Array  # sum of their norms, (..., 1)
    C: Array  # the largest norm of a gradient so far, (..., 1)
    M: Array  # the money, C times the endowment and all that was won, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class CoinBetting(OverSet):
    r"""Krichevsky-Trofimov betting: plays the projection $u_{t+1}$ of $w_{t+1}=u_1+M_tX_t/(C_t(A_t+C_t))$.

    $u_1$ is the identity, or the set's start if the identity is not there. With $C_t=\max(scale,\max_{s\le t}\|g_s\|)$
    the gradient $g_t$ is cut to the length $C_{t-1}$, and loses its component along $v=w_t-u_t$ if
    $\langle g_t,v\rangle<0$. With $\tilde g_t$ the rest, $X_t=-\sum_{s\le t}\tilde g_s$,
    $A_t=\sum_{s\le t}\|\tilde g_s\|$ and $M_t=\varepsilon C_t-\sum_{s\le t}\langle\tilde g_s,w_s-u_1\rangle$.

    Regret against every u of the set (of every set, if it varies), with $a=A_T/C_T$, $r=\|u-u_1\|$, D the diameter:
    $C_T\bigl[\varepsilon(1-b)+r\sqrt{(1+a)\log(1+(1+a)r^2/(\varepsilon b)^2)}\,\bigr]+D\,(C_T-scale)$ with
    $b=(1+\pi a/2)^{-1/2}$. Against the identity r = 0: whatever the rounds, no more than $(\varepsilon+D)C_T$. The
    proof is on the page "Learners: three proofs".

    Args:
        set: the operators to choose from.
        endowment: $\varepsilon$, what may be lost against the identity in units of the largest gradient.
        scale: a norm that you promise no gradient exceeds, or 0. If one does, it costs D times the excess, and no more;
            ``state.C`` is above ``scale`` then.

    Reference: Orabona and Pal (2016) for the bets; Cutkosky (2020) for the set. Here $A_t$ is that of the round t.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = CoinBetting(Box(), scale=1.0), np.asarray([1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([-1.0]), m=m, scale=1.0))
    >>> state.u
    array([0.5])
    """

    endowment: float = 1.0
    scale: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("CoinBetting(endowment=...)", self.endowment, positive=True)
        check_number("CoinBetting(scale=...)", self.scale)

    def init(self, x: Vector) -> CoinBettingState:
        """No bet: the identity, if it is there."""
        start, zero = self.start(x), zero_scalar(x)
        u = self.set.identity(x) if self.set.holds_identity else start
        C = zero + self.scale
        return CoinBettingState(
            u=u, w=u, start=u, X=zeros_like(u), A=zero, C=C, M=self.endowment * C, t=_xp.first_round(leaf(x))
        )

    def learn(self, state: CoinBettingState, loss: Loss) -> CoinBettingState:
        """Win or lose the bet, and bet again."""
        S, g = self.set.at(state.t + 1), self.gradient(state, loss)
        xp = _xp.namespace(state.C)
        C = xp.maximum(state.C, xp.sqrt(square(S, g)))
        g = inward(S, scaled(S, state.C * _xp.inverse(C), g), state)
        X, A = state.X - g, state.A + xp.sqrt(square(S, g))
        M = state.M - dot(S, g, state.w - state.start) + self.endowment * (C - state.C)
        w = state.start + scaled(S, M * _xp.inverse(C) * _xp.inverse(A + C), X)
        return CoinBettingState(u=S.project(w), w=w, start=state.start, X=X, A=A, C=C, M=M, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy`` = E, which bounds $E[C_T^2]$.

        $\varepsilon\sqrt{scale^2+E}+D\min\{\sqrt E,E/(4\,scale)\}$, whether the promise is kept or not: $C_T$ is at
        most the root of $scale^2+\max_t\|g_t\|^2$, and $(c-scale)_+\le c^2/(4\,scale)$. If it is, the regret is at most
        $\varepsilon\,scale$.
        """
        if not self.set.holds_identity or not lasts(self.set):
            return math.inf
        E = self.set.gradient_factor(x) ** 2 * energy
        excess = math.sqrt(E) if self.scale == 0 else min(math.sqrt(E), E / (4 * self.scale))
        return self.endowment * math.hypot(self.scale, math.sqrt(E)) + self.set.diameter(x) * excess

    def bound_against(self, x: Vector, r: float, sizes: Sequence[float]) -> float:
        """The stated bound against a point at distance r from the start, when the gradients had these norms."""
        C = max(self.scale, *sizes)
        if C == 0:
            return 0.0
        a = math.fsum(sizes) / C  # at least A_T / C_T, and the bound grows with it
        b = (1 + math.pi * a / 2) ** -0.5
        bet = r * math.sqrt((1 + a) * math.log1p((1 + a) * (r / (self.endowment * b)) ** 2))
        return C * (self.endowment * (1 - b) + bet) + self.set.diameter(x) * (C - self.scale)


def inward(S: OperatorSet, g: Coordinates, state: CoinBettingState) -> Coordinates:
    """g without its component along w - u if a step along -g would lead farther out of the set."""
    v = state.w - state.u
    along, far = dot(S, g, v), square(S, v)
    xp, noise = _xp.namespace(far), (ROUNDING * _xp.machine_eps(far)) ** 2 * square(S, state.w)
    back: Scalar = xp.where((far > noise) & (along < 0), along * _xp.inverse(far), xp.zeros_like(far))
    return g - scaled(S, back, v)


registry.add("coin-betting", lambda S, rate, C: CoinBetting(S), "coin betting, which has no rate")
