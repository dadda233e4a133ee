"""What a direction is, and how names and functions become one."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from .. import _xp
from ..checks import brief
from ..registry import Registry
from ..states import ByBlock
from ..vectors import Blocks, Scalar, Vector, spread, zero_scalar

State = Any  # a NamedTuple; its leaves are vectors like x, and `ByBlock` of what there is once a block
Numbers = Any  # one number a block: `ByBlock` of arrays of shape (1,); of an array, a scalar of shape (..., 1)

registry = Registry("direction")  # make(b2=..., eps=...), of the squares in whatever uses them; `example` for tests
LENGTH = 0.2  # the root mean square of a direction without a length of its own, about Adam's; a floor belongs here


@runtime_checkable
class Direction(Protocol):
    """A predictable direction: a frozen dataclass with these three facts and these three methods.

    Its length is the business of who uses it. A direction that is not ``whole`` is computed entry by entry, and so is
    its state: any flat piece of a block may be computed alone.

    Reference: the sets U_t of Algorithm 1, which may change with t and depend on the past.

    >>> from o2nc.directions import Adam
    >>> isinstance(Adam(), Direction)
    True
    """

    @property
    def name(self) -> str:
        """Its name among the experts."""
        ...

    @property
    def scale_free(self) -> bool:
        """Whether it stays the same when all samples are multiplied by a positive number."""
        ...

    @property
    def whole(self) -> bool:
        """Whether it needs the whole of a block, as a matrix does."""
        ...

    def init(self, x: Vector) -> State:
        """The state before round 1, for vectors like x."""
        ...

    def direction(self, state: State, m: Vector) -> Vector:
        """The direction of this round, from the state and the tracker."""
        ...

    def learn(self, state: State, s: Vector) -> State:
        """The state after the sample of this round."""
        ...


def find(name: str, direction: str | Direction | Callable, **options: float) -> Direction:
    """The direction that is meant by a name, a function of the tracker, or itself; raise unless it is one.

    Args:
        name: of the argument, for the message.
        direction: what was given.
        options: ``b2`` and ``eps`` of a direction that is given by name.

    Reference: none.

    >>> find("experts[0]", "adam", eps=1e-6)
    Adam(b2=0.999, eps=1e-06)
    """
    from .function import Function

    if isinstance(direction, str) and direction in registry and "needs" not in registry[direction].facts:
        return registry[direction].make(**options)  # type: ignore[no-any-return]
    if not isinstance(direction, (str, type)):
        if isinstance(direction, Direction):
            return direction
        if callable(direction):
            return Function(direction)
    names = ", ".join(repr(known) for known, entry in registry.items() if "needs" not in entry.facts)
    raise ValueError(f"`{name}` must be {names}, a direction or a function of the tracker; got {brief(direction)}.")


def numbers(x: Vector) -> Numbers:
    """0, once for each block of x."""
    if not isinstance(x, Blocks):
        return zero_scalar(x)
    return ByBlock(tuple(_xp.zeros((1,), a) for a in x.arrays))


def each(function: Callable[[Scalar], Scalar], c: Numbers) -> Numbers:
    """``function`` on the number of each block.

    >>> each(lambda c: c + 1, ByBlock((1.0, 2.0)))
    ByBlock(parts=(2.0, 3.0))
    """
    return ByBlock(tuple(map(function, c.parts))) if isinstance(c, ByBlock) else function(c)


def beside(c: Numbers, x: Vector) -> Vector:
    """The numbers in shapes that broadcast against the blocks of x."""
    if not isinstance(c, ByBlock):
        return c
    return Blocks(tuple(spread(number, a) for number, a in zip(c.parts, x.arrays, strict=True)))
