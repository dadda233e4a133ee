"""The oracle that does not learn."""

from dataclasses import dataclass, field
from typing import NamedTuple

from ..losses import Loss
from ..operators import Identity, Operator, check_acts, check_is_operator, declares
from ..vectors import Vector, check_vector
from .base import registry


class ConstantState(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True)
class Constant:
    r"""Plays the same operator in every round: $U_t=U$.

    With the identity its regret against the identity is 0, and the conversion is the identity-preconditioned baseline.

    Regret against itself: 0. Against the identity with another U no bound is stated.

    Args:
        U: the operator; the identity if not given.

    Reference: the identity oracle after Theorem 1.

    >>> import numpy as np
    >>> Constant().play((), np.asarray([1.0])) @ np.asarray([3.0])
    array([3.])
    """

    U: Operator = field(default_factory=Identity)

    def __post_init__(self) -> None:
        check_is_operator("Constant(U=...)", self.U)

    def init(self, x: Vector) -> ConstantState:
        """The empty state."""
        check_vector("x", x)
        check_acts("Constant(U=...)", self.U, x)
        return ConstantState()

    def play(self, state: ConstantState, m: Vector) -> Operator:
        """U."""
        return self.U

    def learn(self, state: ConstantState, loss: Loss) -> ConstantState:
        """The same state."""
        return state

    def regret_bound(self, x: Vector, energy: float) -> float:
        """0 for the identity, no bound otherwise."""
        return 0.0 if declares(self.U, "identity") else float("inf")

    def contracts(self, x: Vector) -> bool:
        """Whether U says that it is a contraction."""
        return declares(self.U, "contraction")


registry.add("constant", lambda S, rate, C: Constant(), "the identity in every round", circuit=True)
