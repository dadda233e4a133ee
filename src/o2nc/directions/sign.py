"""The sign of the tracker."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .. import _xp
from ..vectors import Vector, apply
from .base import LENGTH, registry
from .memoryless import Memoryless


@dataclass(frozen=True)
class Sign(Memoryless):
    r"""The sign of the tracker, $d=0.2\,\mathrm{sign}(m)$: about as long as Adam's direction.

    Reference: sign descent, Bernstein et al. (2018); with momentum it is close to Lion, Chen et al. (2023).

    >>> import numpy as np
    >>> Sign().direction((), np.asarray([3.0, -4.0]))
    array([ 0.2, -0.2])
    """

    name: ClassVar[str] = "sign"
    scale_free: ClassVar[bool] = True

    def direction(self, state: Any, m: Vector) -> Vector:
        """0.2 sign(m)."""
        return apply(lambda a: LENGTH * _xp.sign(a), m)


registry.add("sign", lambda **options: Sign(), "its sign, entry by entry")
