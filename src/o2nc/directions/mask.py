"""The tracker on a part of the coordinates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import brief
from ..vectors import Blocks, Vector, apply
from .base import registry


class MaskState(NamedTuple):
    """What `Mask` remembers."""

    mask: Vector  # the factors


@dataclass(frozen=True, eq=False)
class Mask:
    """The tracker on the coordinates of a mask, 0 elsewhere.

    Args:
        mask: factors in [0, 1], an array or `Blocks` in the shapes of the vector; a dict from blocks (the parameters of
            a torch model) to factors; or a function from a block to its factors, or to None. A block without factors is
            not masked.
        name: its own among the experts.

    Reference: the projectors of the numerical section.

    >>> import numpy as np
    >>> mask, m = Mask(np.asarray([1.0, 0.0])), np.asarray([3.0, -4.0])
    >>> mask.direction(mask.init(m), m)
    array([ 3., -0.])
    """

    mask: Any
    name: str = "mask"
    scale_free: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"`Mask(name=...)` must be a string; got {self.name!r}.")
        if not isinstance(self.mask, (Blocks, Mapping)) and not callable(self.mask) and not _xp.is_array(self.mask):
            got = brief(self.mask)
            raise TypeError(f"`Mask(mask=...)` must be factors, or a dict or function from blocks to them; got {got}.")
        if isinstance(self.mask, Mapping) and not all(map(_xp.is_array, self.mask)):
            other = next(key for key in self.mask if not _xp.is_array(key))
            raise TypeError(f"`Mask(mask=...)` must be a dict from blocks; got the key {other!r}.")

    def init(self, x: Vector) -> MaskState:
        """The factors of every block; those of an array are the same for all replications."""
        if isinstance(self.mask, Blocks):
            return MaskState(apply(_checked, self.mask, x))
        if not isinstance(x, Blocks) and _xp.is_array(self.mask) and self.mask.ndim == 1:
            return MaskState(_xp.namespace(x).zeros_like(x) + _checked(self.mask, x[(0,) * (x.ndim - 1)]))
        return MaskState(apply(self.factors, x))

    def factors(self, a: Array) -> Array:
        """The factors of one block, in its dtype and on its device."""
        found = self.mask
        if not _xp.is_array(found):
            found = found.get(a) if isinstance(found, Mapping) else found(a)
        return _xp.namespace(a).ones_like(a) if found is None else _checked(found, a)

    def direction(self, state: MaskState, m: Vector) -> Vector:
        """m times the mask."""
        return apply(lambda a, b: a * b, m, state.mask)

    def learn(self, state: MaskState, s: Vector) -> MaskState:
        """The same state."""
        return state


def _checked(factors: Any, a: Array) -> Array:
    """The factors like the block; raise unless they are factors of it."""
    if not _xp.is_array(factors) or tuple(factors.shape) != tuple(a.shape):
        got = tuple(factors.shape) if _xp.is_array(factors) else brief(factors)
        raise ValueError(f"`Mask(mask=...)` must have the shape of its block, {tuple(a.shape)}; got {got}.")
    factors, xp = _xp.like(factors, a), _xp.namespace(a)
    if not _xp.is_traced(factors) and not bool(xp.all((factors >= 0) & (factors <= 1))):
        raise ValueError("`Mask(mask=...)` must have factors in [0, 1].")
    return factors


def _half(a: Array) -> Array:
    return 0.5 * _xp.namespace(a).ones_like(a)


registry.add("mask", Mask, "the tracker on a part of the coordinates", needs="a mask", example=lambda: Mask(_half))
