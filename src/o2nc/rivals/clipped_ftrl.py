"""Clipped, scale-free follow-the-regularised-leader on discounted losses, which is Adam of one coordinate."""

from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..constants import Nonsmooth
from ..conversions.base import registry
from ..vectors import Vector, inner, zero_scalar, zeros_like
from .displacement import discount_and_radius
from .exponentiated import ExponentiatedConversion


class ClippedFTRLState(NamedTuple):
    """What clipped FTRL remembers."""

    m: Vector  # the sum of b^{t-i} s_i
    v: Array  # the sum of b^{2(t-i)} |s_i|^2, (..., 1)


@dataclass(frozen=True)
class ClippedFTRL:
    r"""Follow the regularised leader on the ball of radius $D$ and the losses $\langle b^{-t}s_t,\Delta\rangle$, scale-free.

    $$\Delta_1=0,\qquad\Delta_{t+1}=-\mathrm{clip}_D\Bigl(D\,\frac{\sum_{i\le t}b^{t-i}s_i}{\sqrt{\sum_{i\le t}b^{2(t-i)}\|s_i\|^2}}\Bigr),
      \qquad\mathrm{clip}_D(v)=v\min\{1,D/\|v\|\},$$

    and 0 if all samples were 0. It is Adam with $\beta_1=b$ and $\beta_2=b^2$, for a norm in place of coordinates,
    clipped, without an epsilon. Against every u of the ball, $R_t\le4D\sqrt{\sum_{i\le t}b^{2(t-i)}\|s_i\|^2}$.

    Args:
        D: the radius, the length of the longest displacement before it is scaled.
        b: the discount (beta in the paper), at least 0 and less than 1.

    Reference: Ahn and Cutkosky, Adam with model exponential moving average is effective for nonconvex optimization (2024),
    discounted FTRL, the version with one norm.

    >>> import numpy as np
    >>> learner = ClippedFTRL(D=0.1, b=0.5)
    >>> state = learner.learn(learner.init(np.zeros(1)), np.asarray([4.0]))
    >>> learner.play(state), learner.play(learner.learn(state, np.asarray([-2.0])))
    (array([-0.1]), array([-0.]))
    """  # noqa: E501

    D: float
    b: float

    def __post_init__(self) -> None:
        check_number("ClippedFTRL(D=...)", self.D, positive=True)
        check_share("ClippedFTRL(b=...)", self.b)

    @classmethod
    def tuned(cls, constants: Nonsmooth) -> "ClippedFTRL":
        r"""The learner whose b and D minimise the leading terms of the bound on the measure with the weight $\lambda$.

        $$\frac M{DT}+5B\sqrt{1-b}+\frac{12\lambda D^2}{(1-b)^2},\qquad B=\sqrt{L^2+\sigma^2},$$

        where $4B\sqrt{1-b}$ is the regret and the rest of the second term the noise. The powers of T are those of the
        paper's theorem, which chooses T for a target of the measure; the numbers before them are the minimiser's.

        >>> learner = ClippedFTRL.tuned(Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000))
        >>> print(f"{learner.D:.5f} {learner.b:.4f}")
        0.00271 0.9782
        """
        b, D = discount_and_radius(constants, noise=5.0)
        return cls(D=D, b=b)

    def init(self, x: Vector) -> ClippedFTRLState:
        """Nothing seen."""
        return ClippedFTRLState(m=zeros_like(x), v=zero_scalar(x))

    def play(self, state: ClippedFTRLState) -> Vector:
        """The displacement: D m over the larger of sqrt(v) and the norm of m."""
        xp = _xp.namespace(state.v)
        square = xp.maximum(state.v, inner(state.m, state.m))
        return state.m * (-self.D / xp.sqrt(_xp.at_least(square, _xp.smallest_normal(square))))

    def learn(self, state: ClippedFTRLState, s: Vector) -> ClippedFTRLState:
        """The discounted sums with the new sample."""
        return ClippedFTRLState(m=self.b * state.m + s, v=self.b**2 * state.v + inner(s, s))


registry.add("clipped-adam", lambda oracle: ExponentiatedConversion(ClippedFTRL(1.0, 0.9), T=100), "clipped Adam")
