"""A set that changes with the round."""

from collections.abc import Callable
from dataclasses import dataclass

from .._xp import Array
from ..vectors import Vector
from .base import Coordinates, OperatorSet, first_set, registry
from .hull import Hull


@dataclass(frozen=True)
class Varying:
    r"""$\mathcal U_t$ given by a rule: ``rule(t)`` is the set of round t, all in the same coordinates.

    Args:
        rule: from t, an integer array of shape (1,) that counts from 1, to a set. Under ``jit`` t is traced, so the
            rule may compute with it but not branch on it.
        holds_identity: whether every set of the sequence holds the identity, at the same coordinates.

    Reference: the sets U_t of Algorithm 1, which may change and need not hold the comparator.

    >>> import numpy as np
    >>> from o2nc.operators import Dense, Identity
    >>> from o2nc.sets import Hull
    >>> swap = np.asarray([[0.0, 1.0], [1.0, 0.0]])
    >>> S = Varying(lambda t: Hull((Identity(), Dense(swap / t))), holds_identity=True)
    >>> S.at(np.asarray([2])).operator(np.asarray([0.0, 1.0])) @ np.asarray([1.0, 0.0])
    array([0. , 0.5])
    """

    rule: Callable[[Array], OperatorSet]
    holds_identity: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.rule, type) or not callable(self.rule):
            raise TypeError(f"`Varying(rule=...)` must be a function from the round t to a set; got {self.rule!r}.")
        if not isinstance(self.holds_identity, bool):
            raise TypeError(f"`Varying(holds_identity=...)` must be True or False; got {self.holds_identity!r}.")

    def at(self, t: Array) -> OperatorSet:
        """The set of round t."""
        return self.rule(t)

    def start(self, x: Vector) -> Coordinates:
        """Where a learner of the first set starts."""
        return first_set(self, x).start(x)

    def identity(self, x: Vector) -> Coordinates | None:
        """The coordinates of the identity in the first set."""
        return first_set(self, x).identity(x) if self.holds_identity else None

    def diameter(self, x: Vector) -> float:
        """The diameter of the first set; a rule whose sets grow voids the bounds that use it."""
        return first_set(self, x).diameter(x)

    def sup_diameter(self, x: Vector) -> float:
        """The sup-norm diameter of the first set, where it has one; the same holds."""
        return first_set(self, x).sup_diameter(x)

    def gradient_factor(self, x: Vector) -> float:
        """That of the first set."""
        return first_set(self, x).gradient_factor(x)


registry.add(
    "varying", lambda experts, x: Varying(lambda t: Hull(experts), True), "another set in each round", over="weights"
)
