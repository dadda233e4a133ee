"""Online gradient descent."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import OPTIONAL
from ..losses import Loss
from ..sets.base import Coordinates, lasts
from ..vectors import Vector, leaf, zero_scalar
from .base import registry
from .coordinates import or_one, scaled, square
from .mirrors import Euclidean, start_divergence
from .over_set import WithFactor


class OGDState(NamedTuple):
    """What online gradient descent remembers."""

    u: Coordinates  # the point to play
    E: Array  # sum of the squared norms of the gradients, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class OGD(WithFactor):
    r"""Online gradient descent over a set: $u_{t+1}=\Pi(u_t-\eta_tg_t)$.

    $g_t$ is the gradient of the loss at the played point, in the coordinates of the set, and $E_T=\sum_t\|g_t\|^2$.
    Without ``eta`` the step is $\eta_t=D/\sqrt{2E_t}$, with D the diameter of the set.

    Regret against every u of the set (of every set, if it varies):

    - constant step: $\|u-u_1\|^2/(2\eta)+\frac\eta2E_T$;
    - own step: $D\sqrt{2E_T}$.

    Args:
        set: the operators to choose from.
        eta: a constant step, or None for the step that tunes itself.

    Reference: Zinkevich (2003); for the step without eta, Streeter and McMahan (2010).

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = OGD(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([1.0, -1.0]), m=m, scale=1.0))
    >>> state.u
    array([1. , 0.5])
    """

    def init(self, x: Vector) -> OGDState:
        """The set's starting point."""
        return OGDState(u=self.start(x), E=zero_scalar(x), t=_xp.first_round(leaf(x)))

    def learn(self, state: OGDState, loss: Loss) -> OGDState:
        """One projected gradient step."""
        S, g = self.set.at(state.t + 1), self.gradient(state, loss)
        E = state.E + square(S, g)
        step = self.set.diameter(loss.m) / _xp.namespace(E).sqrt(2 * or_one(E)) if self.eta is None else self.eta
        return OGDState(u=S.project(state.u - scaled(S, step, g)), E=E, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``."""
        E = self.set.gradient_factor(x) ** 2 * energy
        distance = start_divergence(Euclidean(), self.set, x)
        if math.isinf(distance) or not lasts(self.set):
            return math.inf
        return self.set.diameter(x) * math.sqrt(2 * E) if self.eta is None else distance / self.eta + self.eta / 2 * E


registry.add("ogd", lambda S, rate, C: OGD(S, rate), "online gradient descent", rate=OPTIONAL)
