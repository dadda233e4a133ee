"""Algorithm 1 without constants: the step comes from the distance moved and the samples seen."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..losses import DescentLoss, LinearLoss, Loss
from ..operators import act
from ..oracles.base import Oracle, check_is_oracle, weights_of
from ..vectors import Vector, check_like, inner, where, zero_scalar, zeros_like
from .base import Conversion, registry
from .tracked import Tracked, first_round, one_round

A = 0.5  # the rate of the tracker
POWER = 0.8  # of the energy in the step size: 1/2 for the average of the points, more for the last one
FIRST = 1e-3  # the first step, relative to the size of the starting point


class UntunedState(NamedTuple):
    """What is remembered instead of constants."""

    run: Tracked  # the tracker, the oracle and the sums
    moved: Vector  # x_t - x_1
    D: Array  # the largest distance from x_1 so far, (..., 1)
    first: Array  # |s|^2 of the first sample that is not 0, (..., 1)
    E: Array  # sum of |s_t|^2, (..., 1)


@dataclass(frozen=True, eq=False)
class UntunedConversion(Conversion):
    r"""Algorithm 1 that knows neither $M$, $\beta$, $\sigma$ nor $T$: practical, no theorem is about it.

    $$x_{t+1}=x_t-\eta_tU_tm_t,\quad m_{t+1}=\frac{m_t+s_t}2,\quad
      \eta_t=\frac{D_t}{\sqrt{E_t}}\Bigl(\frac{E_1}{E_t}\Bigr)^{3/10},\quad
      D_t=\max\Bigl\{\epsilon,\max_{i\le t}\|x_i-x_1\|\Bigr\},\quad E_t=\sum_{i<t}\|s_i\|^2,$$

    with $\epsilon=10^{-3}(1+\|x_1\|)$ and $E_1=\|s_1\|^2$. $D_t/\sqrt{E_t}$ is the step of DoG, an AdaGrad-norm step
    whose numerator is the distance moved instead of a tuned number. It is made for the average of the points; the last
    factor lets the steps shrink like $t^{-4/5}$ under noise, so that the last point settles. Without noise $E_t$ stays
    bounded as the point settles, and so do the steps.

    If f is scaled the points stay the same, as long as squared samples do not underflow; if x is, they scale with it,
    but for $\epsilon$. The oracle is shown the losses of Algorithm 1
    with $G=1$ and $\beta\eta=1/64$; take one that does not depend on their scale, such as `AdaHedge` or `AdaGrad`.

    Args:
        oracle: the online learner.
        kappa: 0 for the linear loss, else the factor of the descent loss.

    Reference: the step is after Ivgi, Hinder and Carmon, DoG is SGD's best friend (2023), who prove a bound for convex
        objectives; Ward, Wu and Bottou, AdaGrad stepsizes (2019).

    >>> import numpy as np
    >>> from o2nc.oracles import Constant
    >>> conversion, x = UntunedConversion(Constant()), np.asarray([2.0])
    >>> state = conversion.init(x)
    >>> for _ in range(200):
    ...     dx, state = conversion.update(np.sin(x), state)
    ...     x = x + dx
    >>> bool(abs(x[0]) < 0.01)
    True
    """

    oracle: Oracle
    kappa: float = 0.0

    def __post_init__(self) -> None:
        check_is_oracle("oracle", self.oracle)
        check_number("kappa", self.kappa)

    def init(self, x: Vector, *, tau: Any = None) -> UntunedState:
        """m_1 = 0, nothing moved, nothing seen."""
        run, zero, square = first_round(self.oracle, x), zero_scalar(x), inner(x, x)
        epsilon = FIRST * (1 + _xp.namespace(square).sqrt(square))
        return UntunedState(run, moved=zeros_like(x), D=epsilon, first=zero, E=zero)

    def update(
        self, s: Vector, state: UntunedState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, UntunedState]:
        """One round; the step is committed before the sample, and nothing else is used."""
        run, xp = state.run, _xp.namespace(state.E)
        check_like("s", s, run.m)
        Um, square = act(self.oracle.play(run.oracle, run.m), run.m), inner(s, s)
        loss: Loss = DescentLoss(s, run.m, 1.0, self.kappa / 128) if self.kappa else LinearLoss(s, run.m, 1.0)
        share = state.first * _xp.inverse(state.E)  # E_1 / E_t, 0 before the first sample
        dx = Um * -(state.D * share**POWER * xp.sqrt(_xp.inverse(state.first)))
        moved = state.moved + dx
        return dx, UntunedState(
            run=one_round(self.oracle, run, loss, Um, A, radius=None),
            moved=moved,
            D=xp.maximum(state.D, xp.sqrt(inner(moved, moved))),
            first=where(state.first > 0, state.first, square),
            E=state.E + square,
        )

    def sums(self, state: UntunedState) -> dict[str, Array]:
        """The regret on the losses that were revealed."""
        return {"regret": state.run.regret}

    def weights(self, state: UntunedState) -> Array | None:
        """Those of the oracle."""
        return weights_of(self.oracle, state.run.oracle)


registry.add("untuned", lambda oracle: UntunedConversion(oracle, 1.0), "Algorithm 1, no constants", predictable=True)
