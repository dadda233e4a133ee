"""Adam, a baseline, with the interface of the conversions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..conversions.base import Conversion, registry
from ..vectors import Vector, apply, check_like, check_vector, zero_scalar, zeros_like


class AdamState(NamedTuple):
    """What Adam remembers."""

    m: Vector  # moving average of the samples
    v: Vector  # moving average of their squares, coordinate by coordinate
    c1: Array  # 1 - b1^t, (..., 1)
    c2: Array  # 1 - b2^t, (..., 1)


@dataclass(frozen=True)
class Adam(Conversion):
    r"""$x_{t+1}=x_t-\eta\,\hat m_t/(\sqrt{\hat v_t}+\epsilon)$, coordinate by coordinate.

    $$m_t=b_1m_{t-1}+(1-b_1)s_t,\quad v_t=b_2v_{t-1}+(1-b_2)s_t^2,\quad
      \hat m_t=\frac{m_t}{1-b_1^t},\quad\hat v_t=\frac{v_t}{1-b_2^t}.$$

    Args:
        eta: the step size.
        b1: the discount of the samples, at least 0 and less than 1.
        b2: the discount of their squares, at least 0 and less than 1.
        epsilon: added to the root, positive.

    Reference: Kingma and Ba, Adam: a method for stochastic optimization (2015), Algorithm 1.

    >>> import numpy as np
    >>> adam = Adam(eta=0.5)
    >>> dx, state = adam.update(np.asarray([2.0, -4.0]), adam.init(np.asarray([1.0, 1.0])))
    >>> dx.round(6)
    array([-0.5,  0.5])
    """

    eta: float
    b1: float = 0.9
    b2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        check_number("Adam(eta=...)", self.eta, positive=True)
        check_share("Adam(b1=...)", self.b1)
        check_share("Adam(b2=...)", self.b2)
        check_number("Adam(epsilon=...)", self.epsilon, positive=True)

    def init(self, x: Vector, *, tau: Any = None) -> AdamState:
        """Nothing seen."""
        check_vector("x", x)
        zero = zero_scalar(x)
        return AdamState(m=zeros_like(x), v=zeros_like(x), c1=zero, c2=zero)

    def update(
        self, s: Vector, state: AdamState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, AdamState]:
        """One step along the average sample over the root of the average square."""
        check_like("s", s, state.m)
        b1, b2 = self.b1, self.b2
        m = b1 * state.m + (1 - b1) * s
        v = b2 * state.v + (1 - b2) * apply(lambda u: u * u, s)
        c1, c2 = b1 * state.c1 + (1 - b1), b2 * state.c2 + (1 - b2)
        dx = apply(lambda u, w: -self.eta * u / (_xp.namespace(w).sqrt(w) + self.epsilon), m * (1 / c1), v * (1 / c2))
        return dx, AdamState(m=m, v=v, c1=c1, c2=c2)


registry.add("adam", lambda oracle: Adam(eta=0.1), "Adam")
