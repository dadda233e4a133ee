"""SGD whose step size is learned online from surrogate losses."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..conversions.base import Conversion, registry
from ..vectors import Vector, check_like, check_vector, inner, leaf, where, zero_scalar, zeros_like


class SurrogateSGDState(NamedTuple):
    """What is remembered between one sample and the next."""

    g: Vector  # the first sample of the round
    inner: Array  # the sum of <g_t, g'_t>, (..., 1)
    square: Array  # the sum of |g_t|^2, (..., 1)
    t: Array  # the samples, counted from 1, (1,)


@dataclass(frozen=True)
class SurrogateSGD(Conversion):
    r"""SGDOL: two samples g and g' at each point; the second judges the step along the first.

    $$\ell_t(\eta)=\frac\beta2\eta^2\|g_t\|^2-\eta\langle g_t,g_t'\rangle,\qquad
      \eta_t=\mathop{\mathrm{argmin}}_{0\le\eta\le2/\beta}\Bigl\{\frac{\alpha\beta}2\Bigl(\eta-\frac1\beta\Bigr)^2
      +\sum_{i<t}\ell_i(\eta)\Bigr\}=\mathrm{clip}_{[0,2/\beta]}\frac{\alpha+\sum_{i<t}\langle g_i,g_i'\rangle}
      {\beta(\alpha+\sum_{i<t}\|g_i\|^2)},\qquad x_{t+1}=x_t-\eta_tg_t.$$

    If f is $\beta$-smooth and $\eta_t$ is chosen before g' is seen, $E[f(x_{t+1})-f(x_t)]\le E\,\ell_t(\eta_t)$: the
    surrogate losses are convex and bound what f falls. Each is $\beta\|g_t\|^2$-strongly convex, so (derived here, by
    the lemma of the regularised leader) against every $u\in[0,\frac2\beta]$
    $$\sum_t\ell_t(\eta_t)-\ell_t(u)\le\frac{\alpha\beta}2\Bigl(u-\frac1\beta\Bigr)^2
      +\sum_t\frac{\ell_t'(\eta_t)^2}{2\beta(\alpha+\sum_{i\le t}\|g_i\|^2)}.$$

    `update` with the first sample of a round does not move; with the second it steps along the first.

    Args:
        beta: the smoothness of f.
        alpha: the weight of the first step size 1/beta, in the unit of squared gradients; the authors take beta.

    Reference: Zhuang, Cutkosky and Orabona, Surrogate losses for online learning of stepsizes in stochastic non-convex
    optimization (2019), with the regularised leader as in the authors' program.

    >>> import numpy as np
    >>> sgd = SurrogateSGD(beta=2.0, alpha=1.0)
    >>> state = sgd.init(np.zeros(1))
    >>> for s in (3.0, 3.0, 3.0, -3.0):
    ...     dx, state = sgd.update(np.asarray([s]), state)
    ...     print(dx, sgd.step(state))
    [0.] [0.5]
    [-1.5] [0.5]
    [0.] [0.5]
    [-1.5] [0.02631579]
    """

    beta: float
    alpha: float

    def __post_init__(self) -> None:
        check_number("SurrogateSGD(beta=...)", self.beta, positive=True)
        check_number("SurrogateSGD(alpha=...)", self.alpha, positive=True)

    def init(self, x: Vector, *, tau: Any = None) -> SurrogateSGDState:
        """Nothing seen."""
        check_vector("x", x)
        zero = zero_scalar(x)
        return SurrogateSGDState(g=zeros_like(x), inner=zero, square=zero, t=_xp.first_round(leaf(x)))

    def step(self, state: SurrogateSGDState) -> Array:
        """The step size of the round, (..., 1)."""
        leader = (self.alpha + state.inner) / (self.beta * (self.alpha + state.square))
        return _xp.namespace(leader).clip(leader, min=0.0, max=2 / self.beta)

    def update(
        self, s: Vector, state: SurrogateSGDState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, SurrogateSGDState]:
        """Keep the first sample, or step along it and learn from the second."""
        check_like("s", s, state.g)
        first, zero, g = state.t % 2 == 1, zero_scalar(s), state.g
        dx = g * where(first, zero, -self.step(state))
        return dx, SurrogateSGDState(
            g=where(first, s, g),
            inner=state.inner + where(first, zero, inner(g, s)),
            square=state.square + where(first, zero, inner(g, g)),
            t=state.t + 1,
        )


registry.add("surrogate", lambda oracle: SurrogateSGD(beta=1.0, alpha=1.0), "step sizes by surrogate losses")
