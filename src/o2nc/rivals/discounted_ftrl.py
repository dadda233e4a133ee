"""Scale-free follow-the-regularised-leader on discounted losses, coordinate by coordinate, which is Adam."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..vectors import Vector, apply, zeros_like


class DiscountedFTRLState(NamedTuple):
    """What discounted FTRL remembers."""

    m: Vector  # the sum of b^{t-i} s_i
    v: Vector  # the sum of b^{2(t-i)} s_i^2, coordinate by coordinate


@dataclass(frozen=True)
class DiscountedFTRL:
    r"""Follow the regularised leader on the losses $\langle b^{-t}s_t,\Delta\rangle$, each coordinate for itself.

    $$\Delta_1=0,\qquad\Delta_{t+1}=\mathop{\mathrm{argmin}}_{|\Delta|\le D}\Bigl\{\sum_{i\le t}b^{-i}s_i\Delta
      +\frac1{2\alpha}\sqrt{\sum_{i\le t}b^{-2i}s_i^2}\,\Delta^2\Bigr\}
      =-\mathrm{clip}_D\Bigl(\alpha\frac{\sum_{i\le t}b^{t-i}s_i}{\sqrt{\sum_{i\le t}b^{2(t-i)}s_i^2}}\Bigr),$$

    and 0 where all samples were 0. With $D=\infty$ this is Adam with $\beta_1=b$ and $\beta_2=b^2$, without bias
    correction and epsilon (`UpdatesConversion.adam`). With $D=\alpha$ each coordinate is `ClippedFTRL` in one
    dimension, so against every u with $|u_j|\le D$, $R_t\le4D\sum_j\sqrt{\sum_{i\le t}b^{2(t-i)}s_{ij}^2}$.

    Args:
        alpha: the factor of the displacements.
        b: the discount (beta in the paper), at least 0 and less than 1.
        D: the largest entry of a displacement; infinite for Adam.

    Reference: Ahn, Zhang, Kook and Dai, Understanding Adam optimizer via online learning of updates: Adam is FTRL in
    disguise (2024).

    >>> import numpy as np
    >>> learner = DiscountedFTRL(alpha=0.1, b=0.5)
    >>> state = learner.learn(learner.init(np.zeros(2)), np.asarray([4.0, 0.0]))
    >>> learner.play(state)
    array([-0.1, -0. ])
    """

    alpha: float
    b: float
    D: float = math.inf

    def __post_init__(self) -> None:
        check_number("DiscountedFTRL(alpha=...)", self.alpha, positive=True)
        check_share("DiscountedFTRL(b=...)", self.b)
        if not (isinstance(self.D, (int, float)) and self.D > 0):
            raise ValueError(f"`DiscountedFTRL(D=...)` must be positive, or infinite; got {self.D!r}.")

    def init(self, x: Vector) -> DiscountedFTRLState:
        """Nothing seen."""
        return DiscountedFTRLState(m=zeros_like(x), v=zeros_like(x))

    def play(self, state: DiscountedFTRLState) -> Vector:
        """The displacement."""

        def each(m: Array, v: Array) -> Array:
            xp = _xp.namespace(m)
            return xp.clip(-self.alpha * m * _xp.inverse(xp.sqrt(v)), min=-self.D, max=self.D)

        return apply(each, state.m, state.v)

    def learn(self, state: DiscountedFTRLState, s: Vector) -> DiscountedFTRLState:
        """The discounted sums with the new sample."""
        return DiscountedFTRLState(m=self.b * state.m + s, v=self.b**2 * state.v + apply(lambda u: u * u, s))
