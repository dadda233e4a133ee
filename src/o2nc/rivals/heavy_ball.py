"""Heavy ball, a baseline, with the interface of the conversions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..checks import check_number, check_share
from ..conversions.base import Conversion, registry
from ..vectors import Vector, check_like, check_vector, zeros_like


class HeavyBallState(NamedTuple):
    """What the heavy ball remembers."""

    m: Vector  # the sum of the past samples, discounted by mu


@dataclass(frozen=True)
class HeavyBall(Conversion):
    r"""$m_t=\mu m_{t-1}+s_t,\quad x_{t+1}=x_t-\eta m_t$; ``torch.optim.SGD`` with momentum.

    Args:
        eta: the step size.
        mu: the momentum, at least 0 and less than 1.

    Reference: Polyak, Some methods of speeding up the convergence of iteration methods (1964).

    >>> import numpy as np
    >>> ball = HeavyBall(eta=0.5)
    >>> dx, state = ball.update(np.asarray([2.0]), ball.init(np.asarray([1.0])))
    >>> ball.update(np.asarray([2.0]), state)[0]
    array([-1.9])
    """

    eta: float
    mu: float = 0.9

    def __post_init__(self) -> None:
        check_number("HeavyBall(eta=...)", self.eta, positive=True)
        check_share("HeavyBall(mu=...)", self.mu)

    def init(self, x: Vector, *, tau: Any = None) -> HeavyBallState:
        """At rest."""
        check_vector("x", x)
        return HeavyBallState(m=zeros_like(x))

    def update(
        self, s: Vector, state: HeavyBallState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, HeavyBallState]:
        """One step along the discounted sum of the samples."""
        check_like("s", s, state.m)
        m = self.mu * state.m + s
        return -self.eta * m, HeavyBallState(m=m)


registry.add("heavy-ball", lambda oracle: HeavyBall(eta=0.1), "SGD with momentum")
