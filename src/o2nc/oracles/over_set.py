"""What learners over a set of operators share."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .._xp import Array
from ..checks import check_number
from ..losses import Loss
from ..operators import Operator, act
from ..sets import OperatorSet, Varying
from ..sets.base import Coordinates, first_set, lasting_set, lasts
from ..vectors import Vector, check_vector
from .mirrors import Euclidean, Mirror, check_mirror, start_divergence


class SetState(NamedTuple):
    """The state of a learner over a set that keeps nothing else."""

    u: Coordinates  # the point to play, in the coordinates of the set of round t
    t: Array  # the round, counted from 1, shape (1,)


@dataclass(frozen=True, eq=False)
class OverSet:
    """A learner that plays the operator at its point ``state.u`` of the set of round ``state.t``."""

    set: OperatorSet
    needs: ClassVar[tuple[str, ...]] = ()  # what the set must offer beyond `OperatorSet`

    def __post_init__(self) -> None:
        self._check_set(self.set)

    def start(self, x: Vector) -> Coordinates:
        """Where the set starts, once ``x`` and the set of round 1 (for `Varying` not known before) are checked."""
        check_vector("x", x)
        self._check_set(first_set(self.set, x))
        return self.set.start(x)

    def play(self, state: Any, m: Vector) -> Operator:
        """The operator at the current point."""
        return self.set.at(state.t).operator(state.u)

    def gradient(self, state: Any, loss: Loss) -> Coordinates:
        """The gradient of the loss in the coordinates of the set, at the point played."""
        S = self.set.at(state.t)
        return S.pullback(loss.gradient(act(S.operator(state.u), loss.m)), loss.m)

    def _check_set(self, operators: Any) -> None:
        name = type(self).__name__
        if isinstance(operators, type) or not isinstance(operators, (OperatorSet, Varying)):
            raise TypeError(f"`{name}(set=...)` must be a set of operators; got {operators!r}.")
        for need in self.needs:
            if not isinstance(operators, Varying) and not hasattr(operators, need):
                raise TypeError(f"`{name}(set=...)` must offer `{need}`; {type(operators).__name__} does not.")


@dataclass(frozen=True, eq=False)
class WithFactor(OverSet):
    """A learner over a set whose steps have a factor ``eta``, or None for its own."""

    eta: float | None = None
    own: ClassVar[float] = 1 / math.sqrt(2)  # its own factor, in diameters

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_number(f"{type(self).__name__}(eta=...)", self.eta, positive=True)

    def diameter(self, x: Vector) -> float:
        """The diameter D of the set that the learner's factor and bound are about."""
        return self.set.diameter(x)

    def factor(self, x: Vector) -> float:
        """``eta``, or the learner's own."""
        return self.diameter(x) * self.own if self.eta is None else self.eta

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``."""
        if not lasts(self.set):
            return math.inf
        if not self.set.holds_identity or self.diameter(x) == 0:
            return 0.0 if self.set.holds_identity else math.inf
        return self.slope(x, self.diameter(x), self.factor(x)) * self.set.gradient_factor(x) * math.sqrt(energy)

    def slope(self, x: Vector, D: float, eta: float) -> float:
        """What the bound is a multiple of the root of the sum of the squared gradients by."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Mirrored(OverSet):
    """A learner over a set with a rate and a mirror map."""

    eta: float
    mirror: Mirror = field(default_factory=Euclidean)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(f"{type(self).__name__}(eta=...)", self.eta, positive=True)
        check_mirror(type(self).__name__, self.mirror, self.set)

    def start(self, x: Vector) -> Coordinates:
        """The set's starting point, or the map's own."""
        u, S = super().start(x), first_set(self.set, x)
        self.mirror.check(S)
        return self.mirror.start(S, u)

    def regret_bound(self, x: Vector, energy: float) -> float:
        r"""A bound on $E[Reg(I)]$ when $\sum_tE(\|s_t\|\|m_t\|/G)^2\le$ ``energy``."""
        if not lasts(self.set):
            return math.inf
        distance = start_divergence(self.mirror, self.set, x)
        return distance / self.eta + self.eta * self.mirror.stability(lasting_set(self.set, x), x) * energy
