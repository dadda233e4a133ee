"""Fixed share: Hedge that always keeps a little weight on every expert."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from .base import NEEDED, ExponentialWeights, registry


class FixedShareState(NamedTuple):
    """What fixed share remembers."""

    w: Array  # the weights to play, (..., K)


@dataclass(frozen=True)
class FixedShare(ExponentialWeights):
    r"""Hedge that shares: $w_{t+1}=(1-\alpha)\tilde w_t+\alpha\pi$ after the step of Hedge to $\tilde w_t$.

    $\tilde w_{t,k}\propto w_{t,k}e^{-\gamma\ell_{t,k}}$ and $w_1=\pi$. A weight never falls below $\alpha\pi_k$, so an
    expert that becomes good is found soon. $\alpha=0$ is `Hedge`.

    Regret against expert j, for every sequence of losses, with $r_t$ the range of $\ell_t$:
    $\frac1\gamma[\log\frac1{\pi_j}+(T-1)\log\frac1{1-\alpha+\alpha\pi_j}]+\frac\gamma8\sum_tr_t^2$.

    Shifting regret, against a sequence of experts that changes S times: the same with $\log\frac1{\pi_j}$ for the first
    expert, $\log\frac1{\alpha\pi_j}$ for each that is changed to, and $\log\frac1{1-\alpha+\alpha\pi_j}$ for each of
    the $T-1-S$ rounds in which it stays.

    Proof: the weights are those of the Bayesian mixture over sequences of experts that stay with probability
    $1-\alpha$ and are drawn from the prior otherwise, so the mix losses $-\frac1\gamma\log\sum_kw_{t,k}
    e^{-\gamma\ell_{t,k}}$ sum to at most the loss of a sequence plus $\frac1\gamma\log$ of its inverse prior; a round
    loses at most $\gamma r_t^2/8$ more than its mix loss (Hoeffding).

    Args:
        gamma: the rate.
        alpha: the share, in [0, 1); S/T for S changes in T rounds.
        prior: positive weights that sum to 1; uniform if not given.

    Reference: Herbster and Warmuth (1998), whose share is $\alpha(1-1/K)$ for the uniform prior.

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.FixedShare(gamma=1.0, alpha=0.1)
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([-1.0, 0.0]))
    >>> learner.weights(state).round(4)  # 0.9 * 0.7311 + 0.1 * 0.5
    array([0.708, 0.292])
    """

    gamma: float = 1.0
    alpha: float = 0.01
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("FixedShare(gamma=...)", self.gamma, positive=True)
        check_share("FixedShare(alpha=...)", self.alpha)

    def init(self, losses: Array) -> FixedShareState:
        """The prior."""
        return FixedShareState(w=self.tilted(losses))

    def weights(self, state: FixedShareState) -> Array:
        """w_t, of shape (..., K)."""
        return state.w

    def learn(self, state: FixedShareState, losses: Array) -> FixedShareState:
        """One step of Hedge, then the share."""
        w = _xp.at_least(state.w, _xp.smallest_normal(state.w))  # a weight that underflowed can come back
        y = _xp.namespace(w).log(w) - self.gamma * losses
        return FixedShareState(w=(1 - self.alpha) * _xp.softmax(y) + self.alpha * self.tilted(0 * y))

    def bound(self, kl: float, l: float, energy: float) -> float:
        """inf: the bound grows with the number of rounds, which the energy does not tell."""
        return math.inf


registry.add(
    "fixed-share", lambda rate, C: FixedShare(rate), "Hedge that keeps a share for all", rate=NEEDED, static=False
)
