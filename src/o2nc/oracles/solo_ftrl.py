"""Follow the regularized leader, whatever the scale of the losses."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import OPTIONAL
from ..losses import Loss
from ..sets import Varying
from ..sets.base import Coordinates
from ..vectors import Vector, leaf, zero_scalar, zeros_like
from .base import registry
from .coordinates import or_one, scaled, square
from .mirrors import Euclidean, start_divergence
from .over_set import WithFactor


class SoloFTRLState(NamedTuple):
    """What scale-free follow the regularized leader remembers."""

    u: Coordinates  # the point to play
    start: Coordinates  # the point of round 1
    L: Coordinates  # sum of the gradients
    E: Array  # sum of their squared norms, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class SoloFTRL(WithFactor):
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

    Reference: Orabona and Pál (2018), SOLO FTRL. Their Theorem 1 has 2.75 $\eta$ and 3.5 D where this has $\eta$ and
    the minimum.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = SoloFTRL(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> losses = [LinearLoss(s=np.asarray([0.6, -0.8]), m=m, scale=c) for c in (1.0, 2.0**20)]
    >>> [oracle.learn(oracle.init(m), loss).u.tolist() for loss in losses]
    [[1.0, 0.6], [1.0, 0.6]]
    """

    own = math.sqrt(3) / 2

    def init(self, x: Vector) -> SoloFTRLState:
        """The set's starting point."""
        u = self.start(x)
        return SoloFTRLState(u=u, start=u, L=zeros_like(u), E=zero_scalar(x), t=_xp.first_round(leaf(x)))

    def learn(self, state: SoloFTRLState, loss: Loss) -> SoloFTRLState:
        """Add the gradient, and step from the start."""
        S, g = self.set.at(state.t + 1), self.gradient(state, loss)
        L, E = state.L + g, state.E + square(S, g)
        step = self.factor(loss.m) / _xp.namespace(E).sqrt(or_one(E))
        u = S.project(state.start - scaled(S, step, L))
        return SoloFTRLState(u=u, start=state.start, L=L, E=E, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``; inf if the set varies."""
        return math.inf if isinstance(self.set, Varying) else super().regret_bound(x, energy)

    def slope(self, x: Vector, D: float, eta: float) -> float:
        """The stated bound without the largest gradient."""
        return start_divergence(Euclidean(), self.set, x) / eta + eta + D**2 / (4 * eta)


registry.add("solo-ftrl", lambda S, rate, C: SoloFTRL(S, rate), "scale-free regularized leader", rate=OPTIONAL)
