"""Hedge with hints."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from .adahedge import AdaHedge
from .base import registry
from .hints import Hint, check_hint, first_hint, last


class OptimisticHedgeState(NamedTuple):
    """What Hedge with hints remembers."""

    C: Array  # cumulative losses of the experts plus the hint for this round, (..., K)
    Delta: Array  # cumulative mixability gap of the deviations, (..., 1)
    h: Array  # the hint for this round, (..., K)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True)
class OptimisticHedge(AdaHedge):
    r"""`AdaHedge` with hints: $w_{t,k}\propto\pi_k\exp(-\gamma_t(C_{t-1,k}+h_{t,k}))$, $\gamma_t=\ell/\Delta_{t-1}$.

    $h_t$ guesses the losses $\ell_t$ and only the deviations $a_t=\ell_t-h_t$ cost: $\Delta$ is the sum of their
    mixability gaps $\delta_t=\langle w_t,a_t\rangle+\frac1{\gamma_t}\log\sum_kw_{t,k}e^{-\gamma_ta_{t,k}}\ge0$, and
    $\ell=\log(1/\pi_{\min})$. While it is 0 the rate is infinite and the experts that lead with the hint are played.

    Regret against every expert, for every sequence of losses and hints, with $r_t$ the range of $a_t$:
    $2\Delta_T\le\sqrt{(\ell+4)\sum_tr_t^2}$, and $2\Delta_T\le\sqrt{\ell\sum_tr_t^2}+2\max_tr_t$.

    Proof: with $p_t\propto\pi e^{-\gamma_tC_{t-1}}$ and the mix loss
    $M_t=-\frac1{\gamma_t}\log\sum_kp_{t,k}e^{-\gamma_t\ell_{t,k}}$ one has
    $\langle w_t,\ell_t\rangle=M_t+\delta_t-\mathrm{KL}(w_t\|p_t)/\gamma_t$; and
    $\sum_tM_t\le C_{T,j}+\log(1/\pi_j)/\gamma_T\le C_{T,j}+\Delta_T$ as in `AdaHedge`. Then
    $\Delta_T^2=\sum_t2\ell\delta_t/\gamma_t+\delta_t^2$, with $\delta_t\le\gamma_tr_t^2/8$ (Hoeffding) and
    $\delta_t\le r_t$.

    Args:
        prior: positive weights that sum to 1; uniform if not given.
        hint: a function from the losses and the hint of the round before, both 0 before round 1, and t to the hint for
            round t; `o2nc.learners.hints.last` if not given, the losses of the round before. A running mean is
            ``lambda losses, hint, t: 0.9 * hint + 0.1 * losses``; with a table of forecasts, one row a
            round and one more, it is
            ``lambda losses, hint, t: 0 * losses + xp.take(table, t - 1, axis=0)[0, ...]``.

    Reference: Rakhlin and Sridharan (2013); Syrgkanis, Agarwal, Luo and Schapire (2015); the rate is `AdaHedge`'s.

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.OptimisticHedge()
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([-1.0, 0.0]))
    >>> learner.weights(state).round(4)  # 0.8 for the first without the hint
    array([0.9412, 0.0588])
    """

    hint: Hint = last

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hint("OptimisticHedge", self.hint)

    def init(self, losses: Array) -> OptimisticHedgeState:  # type: ignore[override]
        """No loss so far."""
        t = _xp.first_round(losses)
        h = first_hint("OptimisticHedge", self.hint, losses, t)
        return OptimisticHedgeState(C=h, Delta=losses[..., :1], h=h, t=t)

    def learn(self, state: OptimisticHedgeState, losses: Array) -> OptimisticHedgeState:
        """Let AdaHedge observe the deviations from the hint, and add the hint for the next round."""
        C, Delta = super().learn(state, losses - state.h)
        h = self.hint(losses, state.h, state.t + 1)
        return OptimisticHedgeState(C=C + h, Delta=Delta, h=h, t=state.t + 1)

    def bound(self, kl: float, l: float, energy: float) -> float:
        r"""The stated bound when $\sum_tE\|\ell_t\|_\infty^2\le$ ``energy`` = E; inf for other hints than `last`.

        It is $4\sqrt{(\ell+4)E}$, since $r_t\le2\|\ell_t-\ell_{t-1}\|_\infty$.
        """
        return 4 * math.sqrt((l + 4) * energy) if self.hint is last else math.inf


registry.add("optimistic-hedge", lambda rate, C: OptimisticHedge(), "AdaHedge with the last losses as a hint")
