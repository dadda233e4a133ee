"""Follow the regularized leader, whatever the scale of the losses."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import Operator
from ..sets import OperatorSet, Varying
from ..sets.base import Coordinates
from ..vectors import Vector, leaf, zero_scalar, zeros_like
from . import base
from .mirrors import Euclidean, start_divergence


class SoloFTRLState(NamedTuple):
    """What scale-free follow the regularized leader remembers."""

    u: Coordinates  # the point to play
    start: Coordinates  # the point of round 1
    L: Coordinates  # sum of the gradients
    E: Array  # sum of their squared norms, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class SoloFTRL:
    r"""Scale-free follow the regularized leader: $u_{t+1}=\Pi(u_1-\eta L_t/\sqrt{E_t})$.

    $L_t=\sum_{s\le t}g_s$ and $E_t=\sum_{s\le t}\|g_s\|^2$: the leader with the regularizer
    $\frac{\sqrt{E_t}}{2\eta}\|u-u_1\|^2$. Losses that are all multiplied by a number give the same points.

    Regret against every u of a set that does not change, with D its diameter and $\Lambda=\max_t\|g_t\|$:
    $\frac{\|u-u_1\|^2}{2\eta}\sqrt{E_T}+\eta\sqrt{E_T}+\min\{\frac{D^2}{4\eta}\sqrt{E_T},\,
    (\frac\eta2+\frac{D^2}{2\sqrt2\,\eta})\Lambda\}$, which is at most $\sqrt3D\sqrt{E_T}$ for the default
    $\eta=\frac{\sqrt3}2D$.

    Proof: with $\sigma=\sqrt{E_{t-1}}$ and $\tau=\sqrt{E_t}$ a round costs at most
    $\|g_t\|\Delta-\sigma\Delta^2/(2\eta)$, where $\Delta\le D$ is the way to the next point, and all rounds
    together $\|u-u_1\|^2\sqrt{E_T}/(2\eta)$ more (the lemma of `FTRL`). Put $a=\Delta/(2\eta)$:
    $(1-a^2)\sigma+2a\|g_t\|\le(1+a^2)\tau$ (Cauchy) says that this is at most
    $(\eta+\frac{\Delta^2}{4\eta})(\tau-\sigma)$, and the sum telescopes. A round with $\sigma\ge\Lambda$ also costs at
    most $\frac{\eta\|g_t\|^2}{2\sigma}\le\eta(\tau-\sigma)+\frac\eta2\Lambda^2(\frac1\sigma-\frac1\tau)$; the others
    end with $\tau\le\sqrt2\Lambda$.

    Args:
        set: the operators to choose from.
        eta: the factor of the steps, or None for $\frac{\sqrt3}2D$.

    Reference: Orabona and Pál (2018), SOLO FTRL; their Theorem 1 has 2.75 $\eta$ and 3.5 D where this has $\eta$ and
    the minimum.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = SoloFTRL(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> losses = [LinearLoss(s=np.asarray([0.6, -0.8]), m=m, scale=c) for c in (1.0, 2.0**20)]
    >>> [oracle.learn(oracle.init(m), loss).u.tolist() for loss in losses]
    [[1.0, 0.6], [1.0, 0.6]]
    """

    set: OperatorSet
    eta: float | None = None

    def __post_init__(self) -> None:
        base.check_set("SoloFTRL", self.set)
        if self.eta is not None:
            check_number("SoloFTRL(eta=...)", self.eta, positive=True)

    def init(self, x: Vector) -> SoloFTRLState:
        """The set's starting point."""
        u = base.start("SoloFTRL", self.set, x)
        return SoloFTRLState(u=u, start=u, L=zeros_like(u), E=zero_scalar(x), t=_xp.first_round(leaf(x)))

    def play(self, state: SoloFTRLState, m: Vector) -> Operator:
        """The operator at the current point."""
        return base.play(self.set, state)

    def learn(self, state: SoloFTRLState, loss: Loss) -> SoloFTRLState:
        """Add the gradient, and step from the start."""
        S, g = self.set.at(state.t + 1), base.gradient(self.set, state, loss)
        L, E = state.L + g, state.E + base.square(S, g)
        xp = _xp.namespace(E)
        step = self._factor(loss.m) / xp.sqrt(xp.where(E > 0, E, xp.ones_like(E)))
        u = S.project(state.start - base.scaled(S, step, L))
        return SoloFTRLState(u=u, start=state.start, L=L, E=E, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``; inf if the set varies."""
        if isinstance(self.set, Varying) or not self.set.holds_identity:
            return math.inf
        D, eta = self.set.diameter(x), self._factor(x)
        if D == 0:
            return 0.0
        factor = start_divergence(Euclidean(), self.set, x) / eta + eta + D**2 / (4 * eta)
        return factor * self.set.gradient_factor(x) * math.sqrt(energy)

    def _factor(self, x: Vector) -> float:
        return self.eta if self.eta is not None else math.sqrt(3) / 2 * self.set.diameter(x)
