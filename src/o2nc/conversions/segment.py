"""Algorithm 1 with the sample taken elsewhere on the segment of the step."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .._xp import Array
from ..certificates import Certificate, sharp_step, theorem1_segment, tight_segment
from ..constants import PaperSmooth
from ..constants.rates import is_too_small
from ..operators import act
from ..vectors import Vector, check_like, inner, zero_scalar, zeros_like
from .base import Samples, registry
from .coins import as_coin, is_no_coin, stray_objection
from .smooth import EXAMPLE, SmoothConversion
from .tracked import Tracked, checked, first_round, one_round


class SegmentState(NamedTuple):
    """What is remembered between the sample of one round and that of the next."""

    run: Tracked  # the tracker, the oracle and the sums
    Um: Vector  # U_t m_t, of the committed displacement -eta U_t m_t = x_{t+1} - x_t
    r: Array  # where on the segment the sample is taken: y_t = x_t - r_t eta U_t m_t, (..., 1)
    strayed: Array  # rounds whose r was not in [0, 1], which is refused where it has a value, (..., 1)


@dataclass(frozen=True, eq=False)
class SegmentConversion(SmoothConversion):
    r"""Algorithm 1 with samples at $y_t=x_t+r_t\delta_t$, $\delta_t=-\eta U_tm_t$: the end, or uniform on the step.

    $$x_{t+1}=x_t+\delta_t,\qquad m_{t+1}=\Pi_{\|m\|\le G_0}((1-a)m_t+as_t),\qquad E[s_t]=\nabla f(y_t).$$

    The step is committed before the sample that judges it. With $r_t=0$ this is Algorithm 1. With $r_t=1$ the loss sees
    curvature: a direction that overshoots is charged for it. With $r_t$ uniform the loss is an unbiased measurement of
    $f(x_{t+1})-f(x_t)$. All three take one sample a round, and the theorems of Algorithm 1 hold for each of them,
    with the squared gradients averaged over the points $y_t$ of the samples.

    As in Algorithm 2 the points that are moved are the $y_t$, and ``x`` of `update` is not used.

    Args:
        oracle: the online learner.
        constants: as in `SmoothConversion`.
        kappa: as in `SmoothConversion`.
        r: the place of the sample on the segment, in [0, 1]; None if `update` is given a uniform one each round.

    Reference: Theorem 1 for other points of the segment, in the theory pages.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = SegmentConversion(Constant(), Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=10), r=1.0)
    >>> y = np.asarray([3.0])
    >>> dy, state = conversion.update(np.sin(y), conversion.init(y))  # the first sample already moves the point
    >>> print(f"{dy[0]:.6f}")
    -0.002205
    """

    r: float | None = 1.0
    at_x: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.r is not None and not (isinstance(self.r, (int, float)) and 0 <= self.r <= 1):
            raise ValueError(f"`r` must be None or a number in [0, 1]; got {self.r!r}.")
        c, (least, _) = self.constants.c, sharp_step(self.constants.beta, self.constants.a, r=self.r)
        if is_too_small(c, least):
            raise ValueError(f"`c` of the constants must be at least {least:.6g} for r = {self.r}; got {c}.")

    @property
    def needs(self) -> frozenset[str]:
        """r, if it is not fixed."""
        return frozenset({"r"} if self.r is None else ())

    def init(self, x: Vector, *, tau: Any = None) -> SegmentState:
        """m_1 = 0, so that y_1 = x_1."""
        return SegmentState(
            first_round(self.oracle, x, self.claims, self.mark),
            Um=zeros_like(x),
            r=zero_scalar(x) + (self.r or 0.0),
            strayed=zero_scalar(x),
        )

    def update(
        self, s: Vector, state: SegmentState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, SegmentState]:
        """Finish round t with the sample ``s`` at y_t, begin round t + 1 with ``r`` = r_{t+1} if it is not fixed."""
        if (r is None) == (self.r is None):
            raise ValueError("`update` needs the next uniform `r` if and only if the conversion has `r=None`.")
        check_like("s", s, state.run.m)
        eta = self.constants.eta
        loss = self.loss(s, state.run.m, eta)
        run = one_round(self.oracle, self.marked(state.run), loss, state.Um, float(self.constants.a), self.constants.G0)
        Um = act(self.oracle.play(run.oracle, run.m), run.m)
        r = state.r if r is None else as_coin(r, zero_scalar(s))
        dy = (state.Um * (1 - state.r) + Um * r) * -eta
        evidence = self.watched(state.run, s, None, inner(dy, dy) * float(1 / eta**2))
        return dy, SegmentState(run._replace(evidence=evidence), Um, r, state.strayed + is_no_coin(r))

    def tracked(self, state: SegmentState) -> Tracked:
        """The part that Algorithm 1 has too."""
        return checked(self, state, SegmentState).run

    def objection(self, state: SegmentState, samples: Samples | None = None) -> str:
        """Also coins that are none."""
        return stray_objection(state.strayed) or super().objection(state, samples)

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The sharp theorem for this point of the segment, or Theorem 1 for the paper's constants."""
        if isinstance(self.constants, PaperSmooth) and self.kappa <= 1:
            return theorem1_segment(self.constants, regret, r=self.r, kappa=self.kappa, **details)
        return self.sharp(regret, r=self.r, **details)

    def proved_tight(self, **sums: Any) -> Certificate:
        """The tight certificate for this point of the segment."""
        return tight_segment(self.constants, r=self.r, **sums)


registry.add("segment", lambda oracle: SegmentConversion(oracle, EXAMPLE, r=None), "Algorithm 1, samples on the step")
