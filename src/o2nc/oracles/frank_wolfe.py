"""Online Frank-Wolfe: no projection."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _xp
from ..checks import check_number
from ..learners.base import NEEDED
from ..losses import Loss
from ..sets import Varying
from ..vectors import Vector, leaf
from .base import registry
from .coordinates import dot, scaled, square
from .ftrl import FTRLState
from .over_set import OverSet


@dataclass(frozen=True, eq=False)
class FrankWolfe(OverSet):
    r"""Online conditional gradient: $u_{t+1}=u_t+\sigma_t(v_t-u_t)$ with $v_t=\arg\min_v\langle u_t-y_t,v\rangle$.

    $y_t=u_1-\eta\sum_{s\le t}g_s$ is what `FTRL` projects. Here one Frank-Wolfe step leads from $u_t$ towards its
    projection, with $\sigma_t=\min(1,\langle y_t-u_t,v_t-u_t\rangle/\|v_t-u_t\|^2)$. Of the set it needs the linear
    minimiser only.

    Regret against every u of a set that does not change, with D the diameter:
    $\|u-u_1\|^2/(2\eta)+2\,(D^2\eta\sum_t\|g_t\|)^{1/3}(\sum_t\|g_t\|^{3/2})^{2/3}$, which is at most
    $2.49\,DGT^{3/4}$ for $\|g_t\|\le G$ and $\eta=\frac DG(\frac3{4T})^{3/4}$. The proof is on the page
    "Learners: three proofs".

    Args:
        set: the operators to choose from, the same in every round.
        eta: the rate.

    Reference: Hazan and Kale (2012); Hazan (2016), section 7.5, here with a line search and a smaller constant.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import Box
    >>> oracle, m = FrankWolfe(Box(), eta=0.5), np.asarray([1.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=np.asarray([-1.0, -0.5]), m=m, scale=1.0))
    >>> state.u
    array([0.625, 0.625])
    """

    eta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.set, Varying):
            raise TypeError(
                "`FrankWolfe(set=...)` must be the same set in every round, since nothing brings a point into another; "
                "got a Varying."
            )
        check_number("FrankWolfe(eta=...)", self.eta, positive=True)

    def init(self, x: Vector) -> FTRLState:
        """The set's starting point."""
        u = self.start(x)
        return FTRLState(u=u, y=u, t=_xp.first_round(leaf(x)))

    def learn(self, state: FTRLState, loss: Loss) -> FTRLState:
        """Add the gradient in the dual, and one step towards the minimiser."""
        S, u = self.set, state.u
        y = state.y - self.eta * self.gradient(state, loss)
        way = S.minimize(u - y) - u
        sigma = dot(S, y - u, way) * _xp.inverse(square(S, way))
        step = _xp.namespace(sigma).clip(sigma, min=0.0, max=1.0)
        return FTRLState(u=u + scaled(S, step, way), y=y, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: the bound counts rounds, since small gradients in many rounds may cost much and have little energy."""
        return math.inf

    def bound_against(self, x: Vector, r: float, sizes: Sequence[float]) -> float:
        """The stated bound against a point at distance r from the start, when the gradients had these norms."""
        one, more = math.fsum(sizes), math.fsum(size**1.5 for size in sizes)
        return r**2 / (2 * self.eta) + 2 * math.cbrt(self.set.diameter(x) ** 2 * self.eta * one * more**2)


registry.add(
    "frank-wolfe", lambda S, rate, C: FrankWolfe(S, rate), "Frank-Wolfe steps, no projection",
    rate=NEEDED, tuned=(1, 0.75),
)  # fmt: skip
