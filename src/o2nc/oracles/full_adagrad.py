"""AdaGrad with a full metric."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import OPTIONAL
from ..losses import Loss
from ..sets.base import Coordinates, first_set
from ..vectors import Blocks, Vector
from .base import registry
from .coordinates import flat
from .over_set import WithFactor

RIDGE = 1e-3  # the part of sqrt(tr V) that is added to the metric, so that its condition number is at most 1/RIDGE
ROUNDS = 300  # of the alternating projections in `project_metric`
RELAXATION = 1.8  # their over-relaxation, in (0, 2): three digits more than 1 in the same number of rounds


class FullAdaGradState(NamedTuple):
    """What AdaGrad with a full metric remembers."""

    u: Coordinates  # the point to play
    V: Array  # sum of the outer products of the gradients, (..., k, k)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class FullAdaGrad(WithFactor):
    r"""AdaGrad with a full metric: $u_{t+1}=\Pi^{H_t}(u_t-\eta H_t^{-1}g_t)$, $V_t=\sum_{s\le t}g_sg_s^\top$.

    $H_t=V_t^{1/2}+10^{-3}\sqrt{\mathrm{tr}V_t}\,I$. The projection in the norm of $H_t$ has no closed form; it is found
    from the set's own projection by alternating directions, so every set will do. What it is off by in float64, some
    $10^{-9}$ of $\sqrt{\mathrm{tr}V_t}$ a round, is less than the multiple of I adds to the bound, up to a million
    rounds. The cost is that of an eigenvalue problem in the k coordinates of the set (k = K for a hull, d for a box,
    d^2 for matrices): for small k.

    Regret against every u of the set (of every set, if it varies), with D the diameter:
    $(D^2/(2\eta)+\eta)\,\mathrm{tr}H_T$, which is $\sqrt2D\,\mathrm{tr}H_T$ for the default $\eta=D/\sqrt2$.

    Args:
        set: the operators to choose from.
        eta: the factor of the steps, or None for $D/\sqrt2$.

    Reference: Duchi, Hazan and Singer (2011), section 4.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = FullAdaGrad(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([0.0, -9.0]), m=m, scale=1.0))
    >>> state.u.round(3)
    array([1. , 0.5])
    """

    def init(self, x: Vector) -> FullAdaGradState:
        """The set's starting point."""
        if isinstance(x, Blocks):
            raise TypeError("`FullAdaGrad` keeps one matrix for all coordinates and acts on one array; got Blocks.")
        u = self.start(x)
        g = flat(first_set(self.set, x), u)
        return FullAdaGradState(u=u, V=_xp.zeros((*g.shape, g.shape[-1]), g), t=_xp.first_round(x))

    def learn(self, state: FullAdaGradState, loss: Loss) -> FullAdaGradState:
        """One step in the metric of the gradients so far."""
        S = self.set.at(state.t + 1)
        g, u = flat(S, self.gradient(state, loss)), flat(S, state.u)
        V = state.V + g[..., :, None] * g[..., None, :]
        w, Q = metric(V)
        y = u - self.factor(loss.m) * in_basis(g, Q, 1 / w)
        shape = state.u.shape
        u = project_metric(lambda v: flat(S, S.project(_xp.namespace(v).reshape(v, shape))), y, u, w, Q)
        return FullAdaGradState(u=_xp.namespace(u).reshape(u, shape), V=V, t=state.t + 1)

    def slope(self, x: Vector, D: float, eta: float) -> float:
        """The stated bound for gradients that are as large in every coordinate."""
        k = flat(first_set(self.set, x), self.set.start(x)).shape[-1]
        return (D**2 / (2 * eta) + eta) * (math.sqrt(k) + RIDGE * k)


def metric(V: Array) -> tuple[Array, Array]:
    """The eigenvalues and eigenvectors of V^{1/2} + RIDGE sqrt(tr V) I; ones while V = 0."""
    xp = _xp.namespace(V)
    w, Q = _xp.eigh(V)
    rounding = V.shape[-1] * _xp.machine_eps(V) * xp.max(w, axis=-1, keepdims=True)
    w = xp.clip(w - rounding, min=0.0)  # the root of an eigenvalue that is 0 but for rounding would be 1e-8, not 0
    w = xp.sqrt(w) + RIDGE * xp.sqrt(xp.sum(w, axis=-1, keepdims=True))
    return xp.where(w > 0, w, xp.ones_like(w)), Q


def in_basis(v: Array, Q: Array, w: Array) -> Array:
    """Q diag(w) Q^T v."""
    xp = _xp.namespace(v)
    return _xp.matvec(Q, w * _xp.matvec(xp.matrix_transpose(Q), v))


def project_metric(project, y: Array, u: Array, w: Array, Q: Array) -> Array:  # type: ignore[no-untyped-def]
    """The point of a set nearest to y in the norm of H = Q w Q^T, from its Euclidean projection, starting at u.

    Alternating direction method of multipliers with the penalty sqrt(w_min w_max), a fixed number of rounds.
    Reference: Boyd et al. (2011), sections 3.1 and 3.4.3.
    """
    xp = _xp.namespace(y)
    rho = xp.sqrt(xp.max(w, axis=-1, keepdims=True) * xp.min(w, axis=-1, keepdims=True))
    Hy = in_basis(y, Q, w)

    def step(value: tuple[Array, Array]) -> tuple[Array, Array]:
        u, q = value
        p = RELAXATION * in_basis(Hy + rho * (u - q), Q, 1 / (w + rho)) + (1 - RELAXATION) * u
        new = project(p + q)
        return new, q + p - new

    return _xp.repeat(step, ROUNDS, (u, xp.zeros_like(y)))[0]


registry.add(
    "full-adagrad", lambda S, rate, C: FullAdaGrad(S, rate), "AdaGrad with a full metric, cubic in the numbers learned",
    rate=OPTIONAL,
)  # fmt: skip
