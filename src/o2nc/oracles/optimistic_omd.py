"""Online mirror descent with hints."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import Operator
from ..sets import OperatorSet
from ..sets.base import Coordinates, first_set
from ..vectors import Vector, leaf, zeros_like
from . import base
from .hints import Hint, check_hint, first_hint, last
from .mirrors import Euclidean, Mirror, check_mirror, start_divergence


class OptimisticOMDState(NamedTuple):
    """What mirror descent with hints remembers."""

    u: Coordinates  # the point to play
    p: Coordinates  # where mirror descent without hints would be
    h: Coordinates  # the hint for this round
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class OptimisticOMD:
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
            for round t; `o2nc.oracles.hints.last` if not given, the gradient of the round before.

    Reference: Rakhlin and Sridharan (2013), Lemma 2.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = OptimisticOMD(Box(), eta=0.25), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([1.0, -1.0]), m=m, scale=1.0))
    >>> state.p, state.u
    (array([1.  , 0.75]), array([1. , 0.5]))
    """

    set: OperatorSet
    eta: float
    mirror: Mirror = field(default_factory=Euclidean)
    hint: Hint = last

    def __post_init__(self) -> None:
        base.check_set("OptimisticOMD", self.set)
        check_number("OptimisticOMD(eta=...)", self.eta, positive=True)
        check_mirror("OptimisticOMD", self.mirror, self.set)
        check_hint("OptimisticOMD", self.hint)

    def init(self, x: Vector) -> OptimisticOMDState:
        """The set's starting point, or the map's own, and a step along the first hint."""
        p, S, t = base.start("OptimisticOMD", self.set, x), first_set(self.set, x), _xp.first_round(leaf(x))
        self.mirror.check(S)
        p = self.mirror.start(S, p)
        return self._hinted(p, first_hint("OptimisticOMD", self.hint, zeros_like(p), t), t)

    def play(self, state: OptimisticOMDState, m: Vector) -> Operator:
        """The operator at the current point."""
        return base.play(self.set, state)

    def learn(self, state: OptimisticOMDState, loss: Loss) -> OptimisticOMDState:
        """One step along the gradient, and one along the next hint."""
        S, g = self.set.at(state.t), base.gradient(self.set, state, loss)
        p = self.mirror.project(S, self.mirror.dual(S, state.p) - self.eta * g)
        return self._hinted(p, self.hint(g, state.h, state.t + 1), state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``; inf for other hints than `last`."""
        if self.hint is not last:
            return math.inf
        return (
            start_divergence(self.mirror, self.set, x) / self.eta
            + 4 * self.eta * self.mirror.stability(first_set(self.set, x), x) * energy
        )

    def _hinted(self, p: Coordinates, h: Coordinates, t: Array) -> OptimisticOMDState:
        S = self.set.at(t)
        u = self.mirror.project(S, self.mirror.dual(S, p) - self.eta * h)
        return OptimisticOMDState(u=u, p=p, h=h, t=t)
