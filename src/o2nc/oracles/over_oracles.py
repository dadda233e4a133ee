"""A learner over learners."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..losses import Loss
from ..operators import Mixture, Operator, act, trusted
from ..vectors import Vector
from .adahedge import AdaHedge
from .base import Oracle, check_oracles, stated_bound
from .experts import OverExperts, made_for, slot_bound


class OverOraclesState(NamedTuple):
    """What the outer learner and the oracles remember."""

    learner: Any  # the state of the outer learner, over K losses
    oracles: tuple[Any, ...]  # the states of the oracles


@dataclass(frozen=True, eq=False)
class OverOracles:
    r"""Plays $\sum_kw_{t,k}U_{t,k}$, where $U_{t,k}$ is played by oracle k, with weights of an outer learner.

    Each oracle learns from every loss, as if it played alone. Together they learn over the hull of their sets, onto
    which nothing is projected.

    Regret against any V, for every k: at most that of the outer learner against its expert k, plus that of oracle k
    against V; for linear losses they are equal. So the best oracle counts, and one set that holds V is enough: with
    `Constant` beside it, an oracle over a set without the identity has a bound.

    Args:
        oracles: the learners inside.
        learner: makes the outer learner from a hull of K experts, by default `AdaHedge`; it sees K losses a round.

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
    learner: Callable[[Any], OverExperts] = AdaHedge

    def __post_init__(self) -> None:
        object.__setattr__(self, "oracles", check_oracles("OverOracles(oracles=...)", self.oracles))
        object.__setattr__(self, "_outer", made_for("OverOracles", self.learner, len(self.oracles)))

    def init(self, x: Vector) -> OverOraclesState:
        """The states of the outer learner and of the oracles."""
        return OverOraclesState(self._slots.init(x), tuple(oracle.init(x) for oracle in self.oracles))

    def weights(self, state: OverOraclesState) -> Array:
        """w_t, of shape (..., K)."""
        return self._slots.weights(state.learner)

    def play(self, state: OverOraclesState, m: Vector) -> Operator:
        """The mixture of what the oracles play."""
        return trusted(Mixture, weights=self.weights(state), operators=self._operators(state, m))

    def learn(self, state: OverOraclesState, loss: Loss) -> OverOraclesState:
        """Show the outer learner the losses of the oracles, and each oracle the loss."""
        values = [loss(act(U, loss.m)) for U in self._operators(state, loss.m)]
        losses = _xp.namespace(*values).concat(values, axis=-1)
        oracles = tuple(oracle.learn(part, loss) for oracle, part in zip(self.oracles, state.oracles, strict=True))
        return OverOraclesState(self._slots.observe(state.learner, losses), oracles)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """The least, over the oracles, of the outer learner's bound against this one plus its own."""
        K = len(self.oracles)
        return min(
            slot_bound(self.learner, [j == k for j in range(K)], x, energy) + stated_bound(oracle, x, energy)
            for k, oracle in enumerate(self.oracles)
        )

    @property
    def _slots(self) -> Any:
        return self._outer  # type: ignore[attr-defined]

    def _operators(self, state: OverOraclesState, m: Vector) -> tuple[Operator, ...]:
        return tuple(oracle.play(part, m) for oracle, part in zip(self.oracles, state.oracles, strict=True))
