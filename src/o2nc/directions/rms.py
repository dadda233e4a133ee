"""Adam's direction."""

from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from ..checks import check_number
from ..vectors import Scalar, Vector, apply, zero_scalar, zeros_like
from .base import with_length


class RMSState(NamedTuple):
    """What `RMS` remembers."""

    v: Vector  # the running average of the squared samples
    c: Scalar  # 1 - b2^t, its weight


@dataclass(frozen=True)
class RMS:
    r"""Adam's direction $m/(\sqrt{\hat v}+\epsilon)$, at the length of the tracker; $v\leftarrow b_2v+(1-b_2)s^2$.

    $\hat v=v/(1-b_2^t)$ holds the samples before this round only.

    Args:
        b2: the discount, in [0, 1).
        eps: added to the root.

    Reference: Kingma and Ba (2015).

    >>> import numpy as np
    >>> rms, m = RMS(), np.asarray([3.0, 4.0])
    >>> rms.direction(rms.learn(rms.init(m), np.asarray([3.0, 4.0])), m).round(4)
    array([3.5355, 3.5355])
    """

    b2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        check_number("RMS(b2=...)", self.b2)
        check_number("RMS(eps=...)", self.eps, positive=True)
        if self.b2 >= 1:
            raise ValueError(f"`RMS(b2=...)` must lie in [0, 1); got {self.b2}.")

    def init(self, x: Vector) -> RMSState:
        """No sample so far."""
        return RMSState(v=zeros_like(x), c=zero_scalar(x))

    def direction(self, state: RMSState, m: Vector) -> Vector:
        """m / (sqrt(v / c) + eps), at the length of m."""
        xp = _xp.namespace(state.c)
        v = state.v * (1 / xp.where(state.c > 0, state.c, xp.ones_like(state.c)))
        return with_length(apply(lambda a, b: a / (_xp.namespace(b).sqrt(b) + self.eps), m, v), m)

    def learn(self, state: RMSState, s: Vector) -> RMSState:
        """Average the squared sample in."""
        v = apply(lambda a, b: self.b2 * a + (1 - self.b2) * b * b, state.v, s)
        return RMSState(v=v, c=self.b2 * state.c + (1 - self.b2))
