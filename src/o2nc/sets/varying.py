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
        within: a set that does not change, in the same coordinates, which holds those of every round, with as large a
            gradient factor, and with contractions only if all are. Without it nothing is known of later rounds, and no
            regret bound is stated.

    Reference: the sets U_t of Algorithm 1, which may change and need not hold the comparator.

    >>> import numpy as np
    >>> from o2nc.operators import Dense, Identity
    >>> from o2nc.sets import Hull
    >>> swap = np.asarray([[0.0, 1.0], [1.0, 0.0]])
    >>> S = Varying(lambda t: Hull((Identity(), Dense(swap / t))), holds_identity=True)
    >>> S.any_size  # what is not known is not counted on
    True
    >>> S.at(np.asarray([2])).operator(np.asarray([0.0, 1.0])) @ np.asarray([1.0, 0.0])
    array([0. , 0.5])
    """

    rule: Callable[[Array], OperatorSet]
    holds_identity: bool = False
    within: OperatorSet | None = None

    def __post_init__(self) -> None:
        if isinstance(self.rule, type) or not callable(self.rule):
            raise TypeError(f"`Varying(rule=...)` must be a function from the round t to a set; got {self.rule!r}.")
        if not isinstance(self.holds_identity, bool):
            raise TypeError(f"`Varying(holds_identity=...)` must be True or False; got {self.holds_identity!r}.")
        if self.within is not None and (
            isinstance(self.within, (type, Varying)) or not isinstance(self.within, OperatorSet)
        ):
            raise TypeError(
                f"`Varying(within=...)` must be a set of operators that does not change; got {self.within!r}."
            )

    def at(self, t: Array) -> OperatorSet:
        """The set of round t."""
        return self.rule(t)

    def start(self, x: Vector) -> Coordinates:
        """Where a learner of the first set starts."""
        return first_set(self, x).start(x)

    def identity(self, x: Vector) -> Coordinates | None:
        """The coordinates of the identity in the first set."""
        return first_set(self, x).identity(x) if self.holds_identity else None

    @property
    def any_size(self) -> bool:
        """Whether operators need not be contractions: unless those of ``within`` are."""
        return self.within is None or getattr(self.within, "any_size", False)

    def lasting(self, x: Vector) -> OperatorSet:
        """The set that holds all of them, or the first one, if none is known."""
        return first_set(self, x) if self.within is None else self.within

    def diameter(self, x: Vector) -> float:
        """That of ``within``, or of the first set."""
        return self.lasting(x).diameter(x)

    def sup_diameter(self, x: Vector) -> float:
        """The sup-norm diameter, where there is one."""
        return self.lasting(x).sup_diameter(x)  # type: ignore[attr-defined]

    def gradient_factor(self, x: Vector) -> float:
        """That of ``within``, or of the first set."""
        return self.lasting(x).gradient_factor(x)


registry.add(
    "varying",
    lambda experts, x: Varying(lambda t: Hull(experts), True, Hull(experts)),
    "another set in each round",
    over="weights",
)
