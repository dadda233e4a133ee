"""Algorithm 1 with the sample taken elsewhere on the segment of the step."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..constants import Smooth
from ..operators import act
from ..oracles.base import Oracle
from ..vectors import Vector, check_like, check_vector, inner, leaf, project_ball, zero_scalar, zeros_like
from .smooth import check_smooth, revealed_loss


class SegmentState(NamedTuple):
    """What is remembered between the sample of one round and that of the next."""

    m: Vector  # the tracker m_t
    oracle: Any  # the oracle's state, from which U_t is played
    delta: Vector  # the committed displacement delta_t = x_{t+1} - x_t
    r: Array  # where on the segment the sample is taken: y_t = x_t + r_t delta_t, (..., 1)
    regret: Array  # sum of L_t(U_t) - L_t(I), (..., 1)
    Q: Array  # sum of <s_t, m_t>, (..., 1)
    N: Array  # sum of |m_t|^2, (..., 1)
    W: Array  # sum of |U_t m_t|^2, (..., 1)
    clipped: Array  # rounds in which the projection of the tracker was active, (..., 1)


@dataclass(frozen=True, eq=False)
class SegmentConversion:
    r"""Algorithm 1 with samples at $y_t=x_t+r_t\delta_t$, $\delta_t=-\eta U_tm_t$: the end, or uniform on the step.

    $$x_{t+1}=x_t+\delta_t,\qquad m_{t+1}=\Pi_{\|m\|\le G_0}((1-a)m_t+as_t),\qquad E[s_t]=\nabla f(y_t).$$

    The step is committed before the sample that judges it. With $r_t=0$ this is Algorithm 1. With $r_t=1$ the loss sees
    curvature: a direction that overshoots is charged for it. With $r_t$ uniform the loss is an unbiased measurement of
    $f(x_{t+1})-f(x_t)$. All three take one sample a round, and Theorem 1 holds for each of them word for word, with
    the squared gradients averaged over the points $y_t$ of the samples.

    As in Algorithm 2 the points that are moved are the $y_t$, and ``x`` of `update` is not used.

    Args:
        oracle: the online learner.
        constants: `Smooth`, which derives G, G0, a and eta.
        r: the place of the sample on the segment, in [0, 1]; None if `update` is given a uniform one each round.
        kappa: as in `SmoothConversion`.

    Reference: Theorem 1 for other points of the segment, in the theory pages.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = SegmentConversion(Constant(), Smooth(M=2.0, beta=1.0, sigma=0.0, T=10), r=1.0)
    >>> y = np.asarray([3.0])
    >>> dy, state = conversion.update(np.sin(y), conversion.init(y))  # the first sample already moves the point
    >>> print(f"{dy[0]:.6f}")
    -0.002205
    """

    oracle: Oracle
    constants: Smooth
    r: float | None = 1.0
    kappa: float = 0.0

    def __post_init__(self) -> None:
        check_smooth(self.oracle, self.constants, self.kappa)
        if self.r is not None and not (isinstance(self.r, (int, float)) and 0 <= self.r <= 1):
            raise ValueError(f"`r` must be None or a number in [0, 1]; got {self.r!r}.")

    def init(self, x: Vector) -> SegmentState:
        """m_1 = 0, so that y_1 = x_1."""
        check_vector("x", x)
        zero, zeros = zero_scalar(x), zeros_like(x)
        return SegmentState(
            m=zeros, oracle=self.oracle.init(x), delta=zeros, r=zero + (self.r or 0.0), regret=zero, Q=zero, N=zero,
            W=zero, clipped=zero,
        )  # fmt: skip

    def update(
        self, s: Vector, state: SegmentState, x: Vector | None = None, *, r: Any = None
    ) -> tuple[Vector, SegmentState]:
        """Finish round t with the sample ``s`` at y_t, begin round t + 1 with ``r`` = r_{t+1} if it is not fixed."""
        if (r is None) == (self.r is None):
            raise ValueError("`update` needs the next uniform `r` if and only if the conversion has `r=None`.")
        check_like("s", s, state.m)
        m, (_, G0, a, eta) = state.m, self.constants.values
        loss = revealed_loss(s, m, self.constants, self.kappa, eta)
        Um = -(1 / eta) * state.delta
        tracker, square = project_ball((1 - a) * m + a * s, G0)
        oracle = self.oracle.learn(state.oracle, loss)
        delta = -eta * act(self.oracle.play(oracle, tracker), tracker)
        r = state.r if r is None else _xp.like(r, leaf(s)) + zero_scalar(s)
        return state.delta * (1 - state.r) + delta * r, SegmentState(
            m=tracker,
            oracle=oracle,
            delta=delta,
            r=r,
            regret=state.regret + loss(Um) - loss(m),
            Q=state.Q + inner(s, m),
            N=state.N + inner(m, m),
            W=state.W + inner(Um, Um),
            clipped=state.clipped + _xp.indicator(square > G0**2, square),
        )
