"""Online mirror descent with hints."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import NEEDED
from ..learners.hints import Hint, check_hint, first_hint, last
from ..losses import Loss
from ..sets.base import Coordinates
from ..vectors import Blocks, Vector, leaf, shape_of, zeros_like
from .base import registry
from .over_set import Mirrored


class OptimisticOMDState(NamedTuple):
    """What mirror descent with hints remembers."""

    u: Coordinates  # the point to play
    p: Coordinates  # where mirror descent without hints would be
    h: Coordinates  # the hint for this round
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class OptimisticOMD(Mirrored):
    r"""Mirror descent with hints: a step of `OMD` from $p_t$ to $p_{t+1}$, and one more along the hint to $u_{t+1}$.

    $p_{t+1}=\Pi^\varphi(\nabla\varphi^{-1}(\nabla\varphi(p_t)-\eta g_t))$ in the set of round t, and
    $u_{t+1}=\Pi^\varphi(\nabla\varphi^{-1}(\nabla\varphi(p_{t+1})-\eta h_{t+1}))$ in that of round t + 1, where
    $g_t$ is the gradient at the played point $u_t$ and $h_{t+1}$ a guess of the next one. With the entropic map on a
    `Hull` it is Hedge with hints and a constant rate; `OptimisticHedge` tunes its own.

    Regret against every u of the set (of every set, if it varies): that of `OMD` with $g_t-h_t$ for $g_t$,

    - Euclidean: $D_\varphi(u,p_1)/\eta+\frac\eta2\sum_t\|g_t-h_t\|^2$;
    - entropic on a `Hull`: $D_\varphi(u,p_1)/\eta+\frac\eta2\sum_t\|g_t-h_t\|_\infty^2$;
    - entropic on a `Box`: $D_\varphi(u,p_1)/\eta+\frac\eta2high\sum_t\|g_t-h_t\|^2$;
    - binary entropy on a `Box` or on matrices: $D_\varphi(u,p_1)/\eta+\frac\eta8\sum_t\|g_t-h_t\|^2$.

    Proof: the two projections give $\eta\langle g_t,p_{t+1}-u\rangle\le D_\varphi(u,p_t)-D_\varphi(u,p_{t+1})
    -D_\varphi(p_{t+1},p_t)$ and $\eta\langle h_t,u_t-p_{t+1}\rangle\le D_\varphi(p_{t+1},p_t)-D_\varphi(p_{t+1},u_t)$.
    What is left of a round is $\langle g_t-h_t,u_t-p_{t+1}\rangle-D_\varphi(p_{t+1},u_t)/\eta$, as in `OMD`.

    Args:
        set: the operators to choose from.
        eta: the rate.
        mirror: `Euclidean` (the default), `Entropic` or `BinaryEntropic`.
        hint: a function from the gradient and the hint of the round before, both 0 before round 1, and t to the hint
            for round t; `o2nc.learners.hints.last` if not given, the gradient of the round before.

    Reference: Rakhlin and Sridharan (2013), Lemma 2.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = OptimisticOMD(Box(), eta=0.25), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([1.0, -1.0]), m=m, scale=1.0))
    >>> state.p, state.u
    (array([1.  , 0.75]), array([1. , 0.5]))
    """

    hint: Hint = last

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hint("OptimisticOMD", self.hint)

    def init(self, x: Vector) -> OptimisticOMDState:
        """The set's starting point, or the map's own, and a step along the first hint."""
        p, t = self.start(x), _xp.first_round(leaf(x))
        return self._hinted(p, first_hint("OptimisticOMD", self.hint, zeros_like(p), t, partial(shape_as, p)), t)

    def learn(self, state: OptimisticOMDState, loss: Loss) -> OptimisticOMDState:
        """One step along the gradient, and one along the next hint."""
        S, g = self.set.at(state.t), self.gradient(state, loss)
        p = self.mirror.project(S, self.mirror.dual(S, state.p) - self.eta * g)
        return self._hinted(p, self.hint(g, state.h, state.t + 1), state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``; inf for other hints than `last`."""
        return super().regret_bound(x, 4 * energy) if self.hint is last else math.inf

    def _hinted(self, p: Coordinates, h: Coordinates, t: Array) -> OptimisticOMDState:
        S = self.set.at(t)
        u = self.mirror.project(S, self.mirror.dual(S, p) - self.eta * h)
        return OptimisticOMDState(u=u, p=p, h=h, t=t)


def shape_as(like: Coordinates, v: Any) -> tuple | None:
    """The shape of v if it is of the kind of ``like``, an array or `Blocks`; None otherwise."""
    alike = isinstance(v, Blocks) if isinstance(like, Blocks) else _xp.is_array(v)
    return shape_of(v) if alike else None


registry.add(
    "optimistic-omd", lambda S, rate, C: OptimisticOMD(S, rate), "mirror descent with the last gradient as a hint",
    rate=NEEDED, tuned=(1, 0.5),
)  # fmt: skip
