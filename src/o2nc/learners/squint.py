"""Squint: a second-order bound, better the more experts are good."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from .base import ExponentialWeights, registry

ROUNDINGS = 100  # by which a range may be above the scale


class SquintState(NamedTuple):
    """What Squint remembers."""

    R: Array  # regret against each expert, in units of the scale, (..., K)
    V: Array  # sum of the squares of its increments, (..., K)
    wide: Array  # rounds whose losses had a range above the scale, (..., 1)


@dataclass(frozen=True)
class Squint(ExponentialWeights):
    r"""Weights $w_{t,k}\propto\pi_k\sum_i\eta_i\exp(\eta_iR_{t-1,k}-\eta_i^2V_{t-1,k})$, $\eta_i=2^{-i}$, i = 1 .. n.

    $r_{t,k}=(\langle w_t,\ell_t\rangle-\ell_{t,k})/S$ is the regret of the round against expert k; R and V are the sums
    of r and of its square.

    Regret against expert k, if no loss vector has a range above S, for every i:
    $S\,[\log(n/\pi_k)/\eta_i+\eta_iV_{T,k}]$, so about $2.13\,S\sqrt{V_{T,k}\log(n/\pi_k)}$ for the best i. For a set
    of experts of prior mass $\pi$ the same holds with $\log(n/\pi)$ for their average regret.

    Proof: $e^{x-x^2}\le1+x$ for $x\ge-\frac12$, so the potential $\frac1n\sum_{k,i}\pi_ke^{\eta_iR_k-\eta_i^2V_k}$
    grows by at most $\frac1n\sum_{k,i}\pi_k\eta_ie^{\eta_iR_k-\eta_i^2V_k}r_{t,k}$, which is a multiple of
    $\sum_kw_{t,k}r_{t,k}=0$. It stays at most 1, and so does each of its terms.

    Args:
        scale: S, a bound on the range of a loss vector.
        rates: n; ``1 + log2(T) / 2`` rates serve T rounds.
        prior: positive weights that sum to 1; uniform if not given.

    Reference: Koolen and van Erven (2015), with a discrete prior on the rates.

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.Squint(scale=1.0)
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([-1.0, 0.0]))
    >>> learner.weights(state).round(4)
    array([0.5815, 0.4185])
    """

    scale: float
    rates: int = 10
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("Squint(scale=...)", self.scale, positive=True)
        if not isinstance(self.rates, int) or self.rates < 1:
            raise ValueError(f"`Squint(rates=...)` must be a whole number of at least 1; got {self.rates!r}.")

    def init(self, losses: Array) -> SquintState:
        """No regret so far."""
        return SquintState(R=losses, V=losses, wide=losses[..., :1])

    def weights(self, state: SquintState) -> Array:
        """w_t, of shape (..., K)."""
        etas = [2.0**-i for i in range(1, self.rates + 1)]
        prior = _xp.like(self.log_prior(state.R.shape[-1]), state.R)
        y = [prior + (eta * state.R - eta**2 * state.V + math.log(eta)) for eta in etas]
        xp, K = _xp.namespace(state.R), state.R.shape[-1]
        joint = _xp.softmax(xp.concat(y, axis=-1))  # (..., n K), rate by rate
        return sum((joint[..., i * K : (i + 1) * K] for i in range(1, self.rates)), start=joint[..., :K])

    def learn(self, state: SquintState, losses: Array) -> SquintState:
        """Add the regrets of the round."""
        w = self.weights(state)
        played = _xp.namespace(losses).sum(w * losses, axis=-1, keepdims=True)
        r = (played - losses) * (1 / self.scale)
        spread = _xp.largest(losses) - _xp.smallest(losses)
        is_wide = _xp.indicator(spread > self.scale * (1 + ROUNDINGS * _xp.machine_eps(spread)), spread)
        return SquintState(R=state.R + r, V=state.V + r * r, wide=state.wide + is_wide)

    def objection(self, state: SquintState) -> str:
        """That losses had a range above the scale, for which nothing is proved, in words; nothing if none had."""
        rounds = int(max(_xp.floats(state.wide)))
        if not rounds:
            return ""
        return f"`Squint(scale={self.scale:g})` is smaller than the range of the losses in {rounds} rounds"

    def bound(self, kl: float, l: float, energy: float) -> float:
        r"""The stated bound when $\sum_tE\|\ell_t\|_\infty^2\le$ ``energy``, since $V_T\le4\,$energy$/S^2$.

        It holds if no loss vector has a range above ``scale``: that is the caller's word, and `objection` says after a
        run whether it was kept.
        """
        V, price = 4 * energy / self.scale**2, kl + math.log(self.rates)
        return self.scale * min(price * 2.0**i + V / 2.0**i for i in range(1, self.rates + 1))


registry.add("squint", lambda rate, C: Squint(C), "Hedge over experts and rates, second-order bound")
