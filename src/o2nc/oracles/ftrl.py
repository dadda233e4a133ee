"""Follow the regularized leader."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import NEEDED
from ..losses import Loss
from ..sets import Varying
from ..sets.base import Coordinates, first_set
from ..vectors import Vector, leaf
from .base import registry
from .mirrors import Entropic
from .over_set import Mirrored


class FTRLState(NamedTuple):
    """What follow the regularized leader remembers."""

    u: Coordinates  # the point to play
    y: Coordinates  # the dual point: that of the start, minus eta times the sum of the gradients
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class FTRL(Mirrored):
    r"""Follow the regularized leader: $u_{t+1}=\arg\min_u\sum_{s\le t}\langle g_s,u\rangle+D_\varphi(u,u_1)/\eta$.

    Unlike `OMD` it steps from the start and projects once, so that it forgets nothing that a projection cut off.

    Regret against every u of a set that does not change, with $D_\varphi$ the divergence of the map:

    - Euclidean: $D_\varphi(u,u_1)/\eta+\frac\eta2\sum_t\|g_t\|^2$;
    - entropic on a `Hull` (this is Hedge): $D_\varphi(u,u_1)/\eta+\frac\eta2\sum_t\|g_t\|_\infty^2$;
    - entropic on a `Box`: $D_\varphi(u,u_1)/\eta+\frac\eta2high\sum_t\|g_t\|^2$, and
      $D_\varphi(u,u_1)/\eta+(e-2)\,\eta\sum_{t,i}u_{t,i}g_{t,i}^2$ if $\eta g_{t,i}\ge-1$;
    - binary entropy on a `Box` or on matrices: $D_\varphi(u,u_1)/\eta+\frac\eta8\sum_t\|g_t\|^2$.

    Args:
        set: the operators to choose from.
        eta: the rate.
        mirror: `Euclidean` (the default), `Entropic` or `BinaryEntropic`.

    Reference: McMahan and Streeter (2010); Algorithm 3 for the entropic map on the simplex; for the box, as `OMD`.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = FTRL(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> loss = LinearLoss(s=np.asarray([1.0, -1.0]), m=m, scale=1.0)
    >>> oracle.learn(oracle.learn(oracle.init(m), loss), loss).u
    array([1., 0.])
    """

    def init(self, x: Vector) -> FTRLState:
        """The set's starting point, or the map's own."""
        u = self.start(x)
        return FTRLState(u=u, y=self.mirror.dual(first_set(self.set, x), u), t=_xp.first_round(leaf(x)))

    def learn(self, state: FTRLState, loss: Loss) -> FTRLState:
        """Add the gradient in the dual, and project."""
        y = state.y - self.eta * self.gradient(state, loss)
        return FTRLState(u=self.mirror.project(self.set.at(state.t + 1), y), y=y, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``; inf if the set varies."""
        return math.inf if isinstance(self.set, Varying) else super().regret_bound(x, energy)


registry.add("ftrl", lambda S, rate, C: FTRL(S, rate), "follow the regularized leader, Euclidean", rate=NEEDED)
registry.add(
    "ftrl-entropic", lambda S, rate, C: FTRL(S, rate, Entropic()), "follow the regularized leader, entropic",
    rate=NEEDED,
)  # fmt: skip
