"""Hedge that forgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..vectors import Vector, leaf
from .experts import OverExperts


class DiscountedHedgeState(NamedTuple):
    """What discounted Hedge remembers."""

    C: Array  # discounted losses of the experts, (..., K)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class DiscountedHedge(OverExperts):
    r"""Hedge on discounted losses: $w_{t,k}\propto\pi_k\exp(-\gamma C_{t-1,k})$ with $C_t=\rho C_{t-1}+\ell_t$.

    It follows an expert that is good now. Its static regret can grow linearly, so it states no bound, and its runs have
    an a-posteriori certificate only.

    Args:
        experts: operators, a `Hull` of them, or a `Varying` hull.
        gamma: the rate.
        rho: the discount, in [0, 1).
        prior: positive weights that sum to 1; uniform if not given.

    Reference: Chernov and Zhdanov (2010).

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.operators import Identity, Projector
    >>> oracle = DiscountedHedge([Identity(), Projector.from_mask(np.asarray([True, False]))], gamma=1.0, rho=0.5)
    >>> m = np.asarray([0.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=m, m=m, scale=1.0))
    >>> oracle.weights(state).round(4)
    array([0.7311, 0.2689])
    """

    gamma: float = 1.0
    rho: float = 0.99
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("DiscountedHedge(gamma=...)", self.gamma, positive=True)
        check_share("DiscountedHedge(rho=...)", self.rho)

    def init(self, x: Vector) -> DiscountedHedgeState:
        """No loss so far."""
        return DiscountedHedgeState(C=self.zero_losses(x), t=_xp.first_round(leaf(x)))

    def weights(self, state: DiscountedHedgeState) -> Array:
        """w_t, of shape (..., K)."""
        return self.tilted(-self.gamma * state.C)

    def observe(self, state: DiscountedHedgeState, losses: Array) -> DiscountedHedgeState:
        """Discount the past, add the losses of the experts."""
        return DiscountedHedgeState(C=self.rho * state.C + losses, t=state.t + 1)
