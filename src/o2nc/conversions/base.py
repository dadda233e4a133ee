"""The contract of a conversion: a fresh sample in, a displacement and a new state out."""

from typing import Any, Protocol, runtime_checkable

from ..vectors import Vector

State = Any  # a NamedTuple of arrays


@runtime_checkable
class Conversion(Protocol):
    """An optimizer for stochastic nonconvex problems, as a pure function of its state.

    Reference: Algorithms 1 and 2, seen from outside.

    >>> from o2nc.conversions import SGD
    >>> isinstance(SGD(eta=0.1), Conversion)
    True
    """

    def init(self, x: Vector) -> State:
        """The state before round 1 at the starting point x."""
        ...

    def update(self, s: Vector, state: State, x: Vector | None = None, *, r: Any = None) -> tuple[Vector, State]:
        """The displacement from the point where ``s`` was sampled to the next such point, and the new state."""
        ...


def check_given(name: str, x: Vector | None, r: Any) -> None:
    """Raise unless `update` was given the point and the uniform number that not every conversion needs."""
    if x is None or r is None:
        raise ValueError(f"`update` of {name} needs the point `x` of the sample and the next uniform `r`.")
