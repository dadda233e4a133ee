"""Online mirror descent."""

from dataclasses import dataclass

from .. import _xp
from ..learners.base import NEEDED
from ..losses import Loss
from ..vectors import Vector, leaf
from .base import registry
from .binary_entropy import BinaryEntropic
from .mirrors import Entropic
from .over_set import Mirrored, SetState


@dataclass(frozen=True, eq=False)
class OMD(Mirrored):
    r"""Online mirror descent: $u_{t+1}=\Pi^\varphi(\nabla\varphi^{-1}(\nabla\varphi(u_t)-\eta g_t))$.

    Regret against every u of the set (of every set, if it varies), with $D_\varphi$ the divergence of the map:

    - Euclidean: $D_\varphi(u,u_1)/\eta+\frac\eta2\sum_t\|g_t\|^2$;
    - entropic on a `Hull`: $D_\varphi(u,u_1)/\eta+\frac\eta2\sum_t\|g_t\|_\infty^2$;
    - entropic on a `Box`: $D_\varphi(u,u_1)/\eta+\frac\eta2high\sum_t\|g_t\|^2$, and
      $D_\varphi(u,u_1)/\eta+(e-2)\,\eta\sum_{t,i}u_{t,i}g_{t,i}^2$ if $\eta g_{t,i}\ge-1$;
    - binary entropy on a `Box` or on matrices: $D_\varphi(u,u_1)/\eta+\frac\eta8\sum_t\|g_t\|^2$.

    On a box a round costs at most $g_i(u_{t,i}-v)-D_\varphi(v,u_{t,i})/\eta$ a coordinate, $v\le high$ the next factor.
    There $D_\varphi(v,u)\ge(v-u)^2/(2high)$, which gives the first; $u_{t,i}(e^{-x}-1+x)/\eta$ with $x=\eta g_{t,i}$ is
    the largest over all v, and $e^{-x}-1+x\le(e-2)x^2$ for $x\ge-1$, which gives the second.

    Args:
        set: the operators to choose from.
        eta: the rate.
        mirror: `Euclidean` (the default), `Entropic` or `BinaryEntropic`.

    Reference: Srebro, Sridharan and Tewari (2011).

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.oracles import Entropic
    >>> from o2nc.sets import Box
    >>> oracle, m = OMD(Box(), eta=1.0, mirror=Entropic()), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([1.0, -1.0]), m=m, scale=1.0))
    >>> state.u.round(4)
    array([1.    , 0.3679])
    """

    def init(self, x: Vector) -> SetState:
        """The set's starting point, or the map's own."""
        return SetState(u=self.start(x), t=_xp.first_round(leaf(x)))

    def learn(self, state: SetState, loss: Loss) -> SetState:
        """One step from the current point, in the dual."""
        y = self.mirror.dual(self.set.at(state.t), state.u) - self.eta * self.gradient(state, loss)
        return SetState(u=self.mirror.project(self.set.at(state.t + 1), y), t=state.t + 1)


registry.add("omd", lambda S, rate, C: OMD(S, rate), "mirror descent, Euclidean", rate=NEEDED)
registry.add("omd-entropic", lambda S, rate, C: OMD(S, rate, Entropic()), "mirror descent, entropic", rate=NEEDED)
registry.add(
    "omd-binary", lambda S, rate, C: OMD(S, rate, BinaryEntropic()), "mirror descent, binary entropy: matrix weights",
    rate=NEEDED, tuned=(4, 0.5),
)  # fmt: skip
