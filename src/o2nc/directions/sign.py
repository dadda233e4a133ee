"""The sign of the tracker."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .. import _xp
from ..vectors import Vector, apply
from .base import FLOOR, LENGTH, check_floor, faded, registry
from .memoryless import Memoryless


@dataclass(frozen=True)
class Sign(Memoryless):
    r"""The sign of the tracker, $d=0.2\,\mathrm{sign}(m)\min(1,|m|/\mathrm{floor})$: about as long as Adam's direction.

    It jumps where an entry passes 0: a change in the last digit of a sample may change it at full length.

    Without a floor an entry whose gradient is 0 from some time on would move at full length for ever, since the tracker
    shrinks and never gets to 0. Entries above the floor are not changed at all. It is that of Adam's eps, which is in
    the same units: below it Adam's direction fades too.

    Args:
        floor: the size of an entry below which its direction fades.

    Reference: sign descent, Bernstein et al. (2018); with momentum it is close to Lion, Chen et al. (2023).

    >>> import numpy as np
    >>> Sign().direction((), np.asarray([3.0, -4.0]))
    array([ 0.2, -0.2])
    """

    floor: float = FLOOR
    name: ClassVar[str] = "sign"
    scale_free: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_floor("Sign(floor=...)", self.floor)

    def direction(self, state: Any, m: Vector) -> Vector:
        """0.2 sign(m), less below the floor."""
        return apply(lambda a: LENGTH * _xp.sign(a) * faded(_xp.namespace(a).abs(a), self.floor), m)


registry.add("sign", lambda eps=FLOOR, **options: Sign(eps), "its sign, entry by entry")
