"""What oracles share that weigh finitely many operators by a learner."""

from typing import Any

from .. import _xp
from .._xp import Array
from ..learners import Learner
from ..losses import Loss
from ..operators import Mixture, Operator, act, trusted
from ..vectors import Vector, zero_scalar


class Mixing:
    r"""Plays $\sum_kw_{t,k}U_{t,k}$ with the weights of a learner, whose state is ``state.learner``.

    A subclass has the field ``learner`` and the method ``operators``, and lets the learner learn from ``losses``.
    """

    learner: Learner

    def operators(self, state: Any, m: Vector) -> tuple[Operator, ...]:
        """The operators of this round."""
        raise NotImplementedError

    def images(self, state: Any, m: Vector) -> list[Vector]:
        """What the operators of this round make of m."""
        return [act(U, m) for U in self.operators(state, m)]

    def weights(self, state: Any) -> Array:
        """w_t, of shape (..., K)."""
        return self.learner.weights(state.learner)

    def objection(self, state: Any) -> str:
        """How the losses so far contradict what the learner was told, in words; nothing if they do not."""
        told = getattr(self.learner, "objection", None)
        return "" if told is None else told(state.learner)

    def play(self, state: Any, m: Vector) -> Operator:
        """The mixture with the current weights."""
        return trusted(Mixture, weights=self.weights(state), operators=self.operators(state, m))

    def learned(self, state: Any, loss: Loss) -> Any:
        """The state of the learner after the losses of the operators."""
        return self.learner.learn(state.learner, row([loss(Um) for Um in self.images(state, loss.m)]))


def row(values: list[Array]) -> Array:
    """Scalars side by side, of shape (..., K)."""
    return _xp.namespace(*values).concat(values, axis=-1)


def zero_row(x: Vector, K: int) -> Array:
    """Zeros of shape (..., K) that go with x."""
    return row([zero_scalar(x)] * K)
