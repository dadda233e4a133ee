"""What leaders on the operator-norm ball share."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..losses import Loss
from ..sets import Varying
from ..vectors import Vector, leaf, zeros_like
from .over_set import OverSet


class LeaderState(NamedTuple):
    """What a leader on the operator-norm ball remembers."""

    u: Array  # the point to play
    S: Array  # sum of the gradients G in X, like u
    V: Array  # sum of their squares G G^T, like u
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class MatrixLeader(OverSet):
    """A learner over a ball of matrices, a centre and a radius times X with X of norm at most 1: no projection."""

    needs: ClassVar[tuple[str, ...]] = ("from_ball", "radius")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.set, Varying):
            name = type(self).__name__
            raise TypeError(f"`{name}(set=...)` must be the same ball in every round, as its sums are; got a Varying.")

    @abstractmethod
    def leader(self, state: Any) -> Array:
        """Minus the point X to play, from the sums."""

    @abstractmethod
    def bound(self, trace: float, u: Array) -> float:
        """The regret, if the trace of the root of V is at most ``trace``."""

    def init(self, x: Vector) -> Any:
        """The centre of the ball."""
        ball: Any = self.set
        zero = zeros_like(self.start(x))
        return LeaderState(u=ball.from_ball(zero), S=zero, V=zero, t=_xp.first_round(leaf(x)))

    def learn(self, state: Any, loss: Loss) -> Any:
        """Add the gradient and its square, and follow the leader."""
        ball: Any = self.set
        G = ball.radius * self.gradient(state, loss)
        xp = _xp.namespace(G)
        state = state._replace(S=state.S + G, V=state.V + xp.matmul(G, xp.matrix_transpose(G)), t=state.t + 1)
        return state._replace(u=ball.from_ball(-self.leader(state)))

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``, with as large a trace as may be."""
        if not self.set.holds_identity or math.isinf(energy):
            return math.inf
        ball: Any = self.set
        u = ball.start(x)
        return self.bound(ball.radius * ball.gradient_factor(x) * math.sqrt(u.shape[-1] * energy), u)
