"""AdaGrad with one step size for each coordinate."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import OPTIONAL
from ..losses import Loss
from ..sets import Hull
from ..sets.base import Coordinates, first_set
from ..sets.hull import METRIC_FLOOR
from ..vectors import Vector, apply, dimension, leaf, zeros_like
from .base import registry
from .over_set import WithFactor


class AdaGradState(NamedTuple):
    """What AdaGrad remembers."""

    u: Coordinates  # the point to play
    V: Coordinates  # sum of the squared gradients, coordinate by coordinate
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class AdaGrad(WithFactor):
    r"""AdaGrad with a diagonal metric: $u_{t+1}=\Pi^{H_t}(u_t-\eta H_t^{-1}g_t)$.

    $H_t=\mathrm{diag}(\sum_{s\le t}g_s^2)^{1/2}$. The projection is the one in the norm of $H_t$: `Hull` and `Box` have
    it. On a hull the entries of $H_t$ are kept above 1e-4 times the largest, so that it is well conditioned.

    Regret against every u of the set (of every set, if it varies), with $D_\infty$ the sup-norm diameter:
    $(D_\infty^2/(2\eta)+\eta)\sum_i\sqrt{\sum_tg_{t,i}^2}$, which is $\sqrt2D_\infty\sum_i\sqrt{\sum_tg_{t,i}^2}$ for
    the default $\eta=D_\infty/\sqrt2$; on a hull of K operators times $1+10^{-4}K$.

    Args:
        set: the operators to choose from, with a projection in diagonal norms.
        eta: the factor of the steps, or None for $D_\infty/\sqrt2$.

    Reference: Duchi, Hazan and Singer (2011); McMahan and Streeter (2010).

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = AdaGrad(Box()), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([1.0, -9.0]), m=m, scale=1.0))
    >>> state.u.round(4)
    array([1.    , 0.2929])
    """

    needs = ("metric", "project_scaled", "sup_diameter")

    def init(self, x: Vector) -> AdaGradState:
        """The set's starting point."""
        u = self.start(x)
        return AdaGradState(u=u, V=zeros_like(u), t=_xp.first_round(leaf(x)))

    def learn(self, state: AdaGradState, loss: Loss) -> AdaGradState:
        """One step in the metric of the gradients so far."""
        S, g = self.set.at(state.t + 1), self.gradient(state, loss)
        V, eta = apply(lambda v, a: v + a * a, state.V, g), self.factor(loss.m)
        h = S.metric(apply(lambda v: _xp.namespace(v).sqrt(v), V))  # type: ignore[attr-defined]
        u = apply(lambda u, a, b: u - eta * a / b, state.u, g, h)
        return AdaGradState(u=S.project_scaled(u, h), V=V, t=state.t + 1)  # type: ignore[attr-defined]

    def diameter(self, x: Vector) -> float:
        """The sup-norm diameter."""
        return self.set.sup_diameter(x)  # type: ignore[attr-defined]

    def slope(self, x: Vector, D: float, eta: float) -> float:
        """The stated bound for gradients that are as large in every coordinate."""
        k, hull = dimension(self.set.start(x)), isinstance(first_set(self.set, x), Hull)
        return (1 + METRIC_FLOOR * k if hull else 1.0) * (D**2 / (2 * eta) + eta) * math.sqrt(k)


registry.add("adagrad", lambda S, rate, C: AdaGrad(S, rate), "one step size for each coordinate", rate=OPTIONAL)
