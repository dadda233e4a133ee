"""The tracker itself."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ..vectors import Vector
from .base import registry
from .memoryless import Memoryless


@dataclass(frozen=True)
class Momentum(Memoryless):
    """The tracker itself: the identity among the experts, which an a-priori bound needs.

    Reference: Algorithm 1 with U = I; Polyak (1964).

    >>> import numpy as np
    >>> Momentum().direction((), np.asarray([1.0, 2.0]))
    array([1., 2.])
    """

    name: ClassVar[str] = "momentum"
    scale_free: ClassVar[bool] = False

    def direction(self, state: Any, m: Vector) -> Vector:
        """m."""
        return m


registry.add("momentum", lambda **options: Momentum(), "the tracker itself")
