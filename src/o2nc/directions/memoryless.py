"""What directions without a memory share."""

from typing import Any, ClassVar, NamedTuple

from ..vectors import Vector


class NoState(NamedTuple):
    """Nothing to remember."""


class Memoryless:
    """A function of the tracker."""

    whole: ClassVar[bool] = False

    def init(self, x: Vector) -> Any:
        """Nothing to remember."""
        return NoState()

    def learn(self, state: Any, s: Vector) -> Any:
        """The same state."""
        return state
