"""Hedge, the entropic learner over finitely many experts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import hedge_constant, hedge_self_tuned
from ..checks import brief, check_number, check_numbers
from .base import ExponentialWeights, registry


class HedgeState(NamedTuple):
    """What Hedge remembers."""

    C: Array  # cumulative losses of the experts, (..., K)
    E: Array  # sum of the squared sup-norms of the losses, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True)
class Hedge(ExponentialWeights):
    r"""Exponential weights: plays $\sum_k w_{t,k}U_k$ with $w_{t,k}\propto\pi_k\exp(-\gamma_tC_{t-1,k})$.

    $C_{t-1}$ are the cumulative losses of the experts. Without ``gamma`` the rate tunes itself,
    $\gamma_t=\gamma_0\sqrt{2\log(1/\pi_{\min})/(1+E_{t-1})}$ with $E_{t-1}=\sum_{s<t}\|\ell_s\|_\infty^2$.

    Regret against expert j, for every sequence of losses:

    - constant rate: $\log(1/\pi_j)/\gamma+\frac\gamma2E_T$;
    - nonincreasing rates: $\log(1/\pi_j)/\gamma_T+\frac12\sum_t\gamma_t\|\ell_t\|_\infty^2$;
    - self-tuned, with $\ell=\log(1/\pi_{\min})$ and $g=\gamma_0\sqrt{\ell/2}$:
      $\log(1/\pi_j)\sqrt{1+E_T}/(\gamma_0\sqrt{2\ell})+(g+\sqrt{g^2+4})(\sqrt{1+E_T}-1)$. With
      $\Lambda=\max_t\|\ell_t\|_\infty$ the last term may be
      $g\,[2(\sqrt{1+E_T}-1)+\Lambda^2(1-1/\sqrt{1+E_T})]$, least for $\gamma_0=1/\sqrt2$ when $\Lambda$ is small.
      Proofs: `o2nc.certificates.hedge_self_tuned`.

    A constant that is added to all losses of a round changes nothing with a constant rate. The self-tuned rate is that
    of the paper: it sees $\|\ell_s\|_\infty$, so that such a constant makes it smaller. `AdaHedge` tunes itself without
    seeing it.

    Args:
        gamma: a constant rate, a nonincreasing sequence of rates (its last one is kept), or None for the self-tuned.
        prior: positive weights that sum to 1; uniform if not given.
        gamma0: the factor of the self-tuned rate.

    Reference: Algorithm 3 and Lemma 3 (Hedge).

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.Hedge(gamma=1.0)
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([-1.0, 0.0]))
    >>> learner.weights(state).round(4)
    array([0.7311, 0.2689])
    """

    gamma: float | Sequence[float] | None = None
    prior: Sequence[float] | None = None
    gamma0: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.gamma, (int, float)):
            check_number("Hedge(gamma=...)", self.gamma, positive=True)
        elif self.gamma is not None:
            rates = check_numbers("Hedge(gamma=...)", self.gamma)
            if not rates or min(rates) <= 0 or any(late > early for early, late in pairwise(rates)):
                raise ValueError(f"`Hedge(gamma=...)` must be positive and nonincreasing; got {brief(rates)}.")
            object.__setattr__(self, "gamma", rates)
        check_number("Hedge(gamma0=...)", self.gamma0, positive=True)

    def init(self, losses: Array) -> HedgeState:
        """No loss so far."""
        return HedgeState(C=losses, E=losses[..., :1], t=_xp.first_round(losses))

    def weights(self, state: HedgeState) -> Array:
        """w_t, of shape (..., K)."""
        return self.tilted(state.C * -self._rate(state))

    def learn(self, state: HedgeState, losses: Array) -> HedgeState:
        """Add the losses of the experts."""
        xp = _xp.namespace(losses)
        peak = xp.max(xp.abs(losses), axis=-1, keepdims=True)
        return HedgeState(C=state.C + losses, E=state.E + peak * peak, t=state.t + 1)

    def bound(self, kl: float, l: float, energy: float) -> float:
        r"""The stated bound when $\sum_tE\|\ell_t\|_\infty^2\le$ ``energy`` = E.

        A sequence of rates: as its largest and its smallest rate. Roots are concave in the energy, so that they bound
        the expectation. Without a bound on the energy there is none: inf.
        """
        if math.isinf(energy):
            return math.inf
        if self.gamma is None:
            return hedge_self_tuned(l, energy, gamma0=self.gamma0, kl=kl)
        first, last = (
            (self.gamma, self.gamma) if isinstance(self.gamma, (int, float)) else (self.gamma[0], self.gamma[-1])
        )
        return kl / last + hedge_constant(0.0, first, energy)

    def _rate(self, state: HedgeState) -> Any:
        if isinstance(self.gamma, (int, float)):
            return self.gamma
        xp = _xp.namespace(state.E)
        if self.gamma is None:
            return self.gamma0 * math.sqrt(-2 * min(self.log_prior(state.C.shape[-1]))) / xp.sqrt(1 + state.E)
        rates = _xp.like(self.gamma, state.E)
        return xp.take(rates, xp.clip(state.t - 1, max=len(self.gamma) - 1))


registry.add("hedge-self-tuned", lambda rate, C: Hedge(), "Hedge with the rate that tunes itself")
