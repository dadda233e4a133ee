"""Adam's direction."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..vectors import Vector, apply, zeros_like
from .base import Numbers, registry


class AdamState(NamedTuple):
    """What `Adam` remembers."""

    v: Vector  # the running average of the squared samples
    c: Numbers  # 1 - b2^t, its weight


@dataclass(frozen=True)
class Adam:
    r"""Adam's direction $m/(\sqrt{\hat v}+\epsilon)$ with $v\leftarrow b_2v+(1-b_2)s^2$, $\hat v=v/(1-b_2^t)$.

    It is 0 where m is 0, also for $\epsilon=0$.

    Args:
        b2: the discount, in [0, 1).
        eps: added to the root.

    Reference: Kingma and Ba (2015).

    >>> import numpy as np
    >>> adam, m = Adam(eps=0.0), np.asarray([3.0, -4.0])
    >>> adam.direction(adam.learn(adam.init(m), np.asarray([3.0, 2.0])), m).round(4)
    array([ 1., -2.])
    """

    b2: float = 0.999
    eps: float = 1e-8
    name: ClassVar[str] = "adam"
    scale_free: ClassVar[bool] = True
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not _xp.is_array(self.b2):  # an array is a number that a front end has checked
            check_share("Adam(b2=...)", self.b2)
        if not _xp.is_array(self.eps):
            check_number("Adam(eps=...)", self.eps)

    def init(self, x: Vector) -> AdamState:
        """No sample so far."""
        return AdamState(v=zeros_like(x), c=Numbers.zeros(x))

    def direction(self, state: AdamState, m: Vector) -> Vector:
        """m / (sqrt(v / c) + eps)."""
        scale = state.c.map(lambda c: _xp.namespace(c).sqrt(_xp.inverse(c)))
        return apply(self._divided, m, state.v, scale.beside(m))

    def _divided(self, m: Array, v: Array, scale: Array) -> Array:
        root = _xp.namespace(v).sqrt(v) * scale
        return m / _xp.at_least(root + self.eps, _xp.smallest_normal(root))

    def learn(self, state: AdamState, s: Vector) -> AdamState:
        """Average the squared sample in."""
        return AdamState(
            v=apply(lambda a, b: self.b2 * a + (1 - self.b2) * b * b, state.v, s),
            c=state.c.map(lambda c: self.b2 * c + (1 - self.b2)),
        )


registry.add("adam", Adam, "the tracker divided by the root mean square of the samples, entry by entry")
