"""Hedge that forgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .._xp import Array
from ..checks import check_number, check_share
from .base import ExponentialWeights, registry


class DiscountedHedgeState(NamedTuple):
    """What discounted Hedge remembers."""

    C: Array  # discounted losses of the experts, (..., K)


@dataclass(frozen=True)
class DiscountedHedge(ExponentialWeights):
    r"""Hedge on discounted losses: $w_{t,k}\propto\pi_k\exp(-\gamma C_{t-1,k})$ with $C_t=\rho C_{t-1}+\ell_t$.

    It follows an expert that is good now. Its static regret can grow linearly, so it states no bound, and its runs have
    an a-posteriori certificate only.

    Args:
        gamma: the rate.
        rho: the discount, in [0, 1).
        prior: positive weights that sum to 1; uniform if not given.

    Reference: Chernov and Zhdanov (2010).

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.DiscountedHedge(gamma=1.0, rho=0.5)
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([-1.0, 0.0]))
    >>> learner.weights(state).round(4)
    array([0.7311, 0.2689])
    """

    gamma: float = 1.0
    rho: float = 0.99
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("DiscountedHedge(gamma=...)", self.gamma, positive=True)
        check_share("DiscountedHedge(rho=...)", self.rho)

    def init(self, losses: Array) -> DiscountedHedgeState:
        """No loss so far."""
        return DiscountedHedgeState(C=losses)

    def weights(self, state: DiscountedHedgeState) -> Array:
        """w_t, of shape (..., K)."""
        return self.tilted(-self.gamma * state.C)

    def learn(self, state: DiscountedHedgeState, losses: Array) -> DiscountedHedgeState:
        """Discount the past, add the losses of the experts."""
        return DiscountedHedgeState(C=self.rho * state.C + losses)


registry.add("discounted-hedge", lambda rate, C: DiscountedHedge(), "Hedge that forgets; no regret bound", static=False)
