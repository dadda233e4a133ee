"""A learner over learners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..learners import AdaHedge, Learner
from ..learners.base import check_learner
from ..losses import Loss
from ..operators import Operator
from ..vectors import Vector, check_vector
from .base import Oracle, check_oracles, contracts, registry, stated_bound
from .constant import Constant
from .mixing import Mixing, zero_row
from .ogd import OGD


class OverOraclesState(NamedTuple):
    """What the outer learner and the oracles remember."""

    learner: Any  # the state of the outer learner, over K losses
    oracles: tuple[Any, ...]  # the states of the oracles


@dataclass(frozen=True, eq=False)
class OverOracles(Mixing):
    r"""Plays $\sum_kw_{t,k}U_{t,k}$, where $U_{t,k}$ is played by oracle k, with weights of an outer learner.

    Each oracle learns from every loss, as if it played alone. Together they learn over the hull of their sets, onto
    which nothing is projected.

    Regret against any V, for every k: at most that of the outer learner against its expert k, plus that of oracle k
    against V; for linear losses they are equal. So the best oracle counts, and one set that holds V is enough: with
    `Constant` beside it, an oracle over a set without the identity has a bound.

    Args:
        oracles: the learners inside.
        learner: the outer learner, by default `o2nc.learners.AdaHedge`; it sees K losses a round.

    Reference: Farina, Kroer and Sandholm (2019), regret circuits, the convex hull.

    >>> import numpy as np
    >>> from o2nc.oracles import OGD, Constant
    >>> from o2nc.sets import Fantope
    >>> oracle, m = OverOracles([Constant(), OGD(Fantope(1))]), np.asarray([4.0, 4.0])
    >>> oracle.play(oracle.init(m), m) @ m
    array([3., 3.])
    >>> bool(oracle.regret_bound(m, 1.0) < OGD(Fantope(1)).regret_bound(m, 1.0))
    True
    """

    oracles: Sequence[Oracle]
    learner: Learner = field(default_factory=AdaHedge)

    def __post_init__(self) -> None:
        object.__setattr__(self, "oracles", check_oracles("OverOracles(oracles=...)", self.oracles))
        check_learner("OverOracles(learner=...)", self.learner, len(self.oracles))

    def init(self, x: Vector) -> OverOraclesState:
        """The states of the outer learner and of the oracles."""
        check_vector("x", x)
        zero = zero_row(x, len(self.oracles))
        return OverOraclesState(self.learner.init(zero), tuple(oracle.init(x) for oracle in self.oracles))

    def operators(self, state: OverOraclesState, m: Vector) -> tuple[Operator, ...]:
        """What the oracles play."""
        return tuple(oracle.play(part, m) for oracle, part in zip(self.oracles, state.oracles, strict=True))

    def learn(self, state: OverOraclesState, loss: Loss) -> OverOraclesState:
        """Show the outer learner the losses of the oracles, and each oracle the loss."""
        oracles = tuple(oracle.learn(part, loss) for oracle, part in zip(self.oracles, state.oracles, strict=True))
        return OverOraclesState(self.learned(state, loss), oracles)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """The least, over the oracles, of the outer learner's bound against this one plus its own.

        The outer learner counts on losses of contractions: an oracle that may play others has none.
        """
        K = len(self.oracles)
        if not self.contracts(x):
            return math.inf
        return min(
            self.learner.regret_bound([j == k for j in range(K)], energy) + stated_bound(oracle, x, energy)
            for k, oracle in enumerate(self.oracles)
        )

    def contracts(self, x: Vector) -> bool:
        """Whether all of the oracles play contractions."""
        return all(contracts(oracle, x) for oracle in self.oracles)


registry.add(
    "over-oracles", lambda S, rate, C: OverOracles([Constant(), OGD(S)]), "AdaHedge over I and OGD", circuit=True
)
