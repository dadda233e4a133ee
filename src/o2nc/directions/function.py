"""Any function of the tracker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._xp import Array
from ..checks import brief
from ..vectors import Vector, apply
from .base import registry
from .memoryless import Memoryless


@dataclass(frozen=True, eq=False)
class Function(Memoryless):
    """Any function of the tracker, block by block.

    Args:
        function: from a block of the tracker to a direction of its shape.
        name: its name among the experts, by default the function's own.
        scale_free: whether it stays the same when the tracker is multiplied by a positive number.
        whole: False if it is computed entry by entry; then it is computed again where others are kept.

    Reference: none; for your own ideas.

    >>> import numpy as np
    >>> Function(np.tanh).direction((), np.asarray([0.0, 1.0])).round(4), Function(np.tanh).name
    (array([0.    , 0.7616]), 'tanh')
    """

    function: Callable[[Array], Array]
    name: str = ""
    scale_free: bool = False
    whole: bool = True  # type: ignore[misc]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"`Function(function=...)` must be callable; got {self.function!r}.")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", type(self.function).__name__))

    def direction(self, state: Any, m: Vector) -> Vector:
        """function(m)."""
        return apply(self._checked, m)

    def _checked(self, m: Array) -> Array:
        d = self.function(m)
        shape = getattr(d, "shape", None)
        if shape != m.shape:
            got = brief(d) if shape is None else tuple(shape)
            raise ValueError(f"The expert {self.name!r} must return an array in the shape of u, {m.shape}; got {got}.")
        return d


registry.add(
    "function", Function, "your own function", needs="a function", example=lambda: Function(lambda m: 2 * m, "twice")
)
