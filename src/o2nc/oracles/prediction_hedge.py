"""Exponential weights with the rate that the prediction loss allows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import ExponentialWeights
from ..losses import Loss, PredictionLoss
from ..operators import Operator, check_operators
from ..sets import Hull
from ..vectors import Vector, check_vector, inner
from .base import registry


class PredictionHedgeState(NamedTuple):
    """What the exponential weights remember."""

    C: Array  # cumulative prediction losses of the experts, of scale 1, (..., K)
    B: Array  # the square of what a prediction may miss the sample by, doubled when it is exceeded, (..., 1)


@dataclass(frozen=True, eq=False)
class PredictionHedge(ExponentialWeights):
    r"""Exponential weights over operators that predict: $w_{t,k}\propto\pi_k\exp(-C_{t-1,k}/B_{t-1})$.

    $C_{t-1,k}=\sum_{i<t}\frac12(\|U_km_i-s_i\|^2-\|s_i\|^2)$. With $d_t=\max_k\|U_km_t-s_t\|^2$ and $B_0=0$,
    $B_t=B_{t-1}$ if $d_t\le B_{t-1}$, and $\max(2B_{t-1},d_t)$ otherwise. It learns from the sample, whatever the loss
    and its scale.

    Regret against expert j on `PredictionLoss`, in multiples of its scale, for every sequence:
    $B_T(\log(1/\pi_j)+1)\le2(\log(1/\pi_j)+1)\max_td_t$: it does not grow with T while predictions miss by a
    bounded amount.

    Proof. $e^{-\|v-s\|^2/(2B)}$ is concave in v where $\|v-s\|^2\le B$: its second derivative is a positive multiple
    of $(v-s)(v-s)^\top/B-I$. So in a round with $d_t\le B_{t-1}$ the mixture loses at most the mix loss
    $-B_{t-1}\log\sum_kw_{t,k}e^{-\ell_{t,k}/B_{t-1}}$. In any other round it loses at most
    $\max_k\ell_{t,k}-\min_k\ell_{t,k}\le d_t/2\le B_t/2$ more than that; these $B_t$ at least double, so together that
    is at most $B_T$. A mix loss is a difference of the potential $-B\log\sum_k\pi_ke^{-C_k/B}$, which grows with B. So
    they sum to at most $C_{T,j}+B_T\log(1/\pi_j)$.

    Args:
        experts: operators, or a `Hull` of them.
        prior: positive weights that sum to 1; uniform if not given.

    Reference: Kivinen and Warmuth (1999); Cesa-Bianchi and Lugosi (2006), section 3.3.

    >>> import numpy as np
    >>> from o2nc.operators import Identity, Projector
    >>> P = Projector.from_mask(np.asarray([True, False]))
    >>> oracle, m = PredictionHedge([Identity(), P]), np.asarray([0.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), PredictionLoss(s=0.0 * m, m=m))  # nothing is what P predicts
    >>> oracle.weights(state).round(4)
    array([0.3775, 0.6225])
    """

    experts: Hull | Sequence[Operator]
    prior: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.experts, Hull):
            operators = check_operators("PredictionHedge(experts=...)", self.experts)
            object.__setattr__(self, "experts", Hull(operators))
        self.log_prior(len(self.hull.operators))

    @property
    def hull(self) -> Any:
        """The experts as a set."""
        return self.experts

    def init(self, x: Vector) -> PredictionHedgeState:
        """No loss so far."""
        check_vector("x", x)
        C = 0 * self.hull.start(x)
        return PredictionHedgeState(C=C, B=C[..., :1])

    def weights(self, state: PredictionHedgeState) -> Array:
        """w_t, of shape (..., K)."""
        return self.tilted(state.C * -_xp.inverse(state.B))

    def play(self, state: PredictionHedgeState, m: Vector) -> Operator:
        """The mixture with the current weights."""
        return self.hull.operator(self.weights(state))

    def learn(self, state: PredictionHedgeState, loss: Loss) -> PredictionHedgeState:
        """Add the prediction losses of the experts."""
        losses = self.hull.evaluate(PredictionLoss(loss.s, loss.m), loss.m)
        missed = _xp.largest(2 * losses) + inner(loss.s, loss.s)
        xp = _xp.namespace(missed)
        B = xp.where(missed > state.B, xp.maximum(2 * state.B, missed), state.B)
        return PredictionHedgeState(C=state.C + losses, B=B)

    def spent_bound(self, state: PredictionHedgeState) -> Array:
        """The bound on the regret against each expert so far, in multiples of the scale of the loss, (..., K)."""
        logs = self.log_prior(state.C.shape[-1])
        return state.B * (1 - _xp.like(logs, state.B))

    def regret_bound(self, x: Vector, energy: float) -> float:
        """inf: the bound is about what predictions miss by in one round, which the energy does not tell."""
        return math.inf


registry.add(
    "prediction-hedge", lambda S, rate, C: PredictionHedge(S), "exponential weights, for the prediction loss",
    static=False,
)  # fmt: skip
