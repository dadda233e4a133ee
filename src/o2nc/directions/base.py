"""What a direction is, and how names and functions become one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..checks import brief, check_number
from ..registry import Registry, nearest
from ..vectors import Blocks, Vector, apply, leaf, spread, zero_scalar

State = Any  # a NamedTuple of vectors like x, of `Numbers`, and of whatever does not depend on the block

registry = Registry("direction")  # make(b2=..., eps=...), of the squares in whatever uses them; `example` for tests
LENGTH = 0.2  # the root mean square of a direction without a length of its own, about Adam's
FLOOR = 1e-8  # the size of a tracker below which such a direction fades: that of Adam's eps, in the same units


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
        found: Direction = registry[direction].make(**options)
        return found
    if not isinstance(direction, (str, type)):
        if isinstance(direction, Direction):
            return direction
        if callable(direction):
            return Function(direction)
    names = [known for known, entry in registry.items() if "needs" not in entry.facts]
    hint = nearest(direction, names) if isinstance(direction, str) else ""
    if isinstance(direction, type) and hasattr(direction, "direction"):
        hint = f" A call of it makes one: {direction.__name__}(...)."
    what = f"{', '.join(map(repr, names))}, a direction or a function of the tracker"
    raise ValueError(f"`{name}` must be {what}; got {brief(direction)}.{hint}")


def find_all(experts: Any, **options: float) -> list[Direction]:
    """The directions that are meant by the argument ``experts``; raise unless it is a sequence of at least one.

    >>> find_all([])
    Traceback (most recent call last):
        ...
    ValueError: `experts` must be a sequence of at least one direction; got [].
    """
    if isinstance(experts, str) or not isinstance(experts, Sequence) or not experts:
        raise ValueError(f"`experts` must be a sequence of at least one direction; got {brief(experts)}.")
    return [find(f"experts[{k}]", expert, **options) for k, expert in enumerate(experts)]


def check_floor(name: str, value: Any) -> None:
    """Raise unless a floor is nonnegative; an array is a number that a front end has checked."""
    if not _xp.is_array(value):
        check_number(name, value)


def faded(size: Array, floor: Any) -> Array:
    r"""The factor $\min(1,\mathrm{size}/\mathrm{floor})$ of a direction whose tracker is of that size.

    Args:
        size: of a tracker, nonnegative.
        floor: below which its direction fades, at least the smallest number of full precision.

    Reference: Muon's eps, Jordan et al. (2024), which divides by size + eps; here nothing changes above the floor.

    >>> import numpy as np
    >>> faded(np.asarray([1.0, 2e-9, 0.0]), 1e-8)
    array([1. , 0.2, 0. ])
    """
    xp, low = _xp.namespace(size), _xp.at_least(0 * size + floor, _xp.smallest_normal(size))
    return xp.minimum(size, low) / low


class Numbers(NamedTuple):
    """One number for each block, such as a counter.

    Reference: none.

    >>> import numpy as np
    >>> c = Numbers.zeros(Blocks((np.ones((2, 2)), np.ones(3))))
    >>> c.map(lambda values: values + 1).beside(Blocks((np.ones((2, 2)), np.ones(3)))).arrays
    (array([[1.]]), array([1.]))
    """

    values: Array  # of shape (n,) for n blocks; of an array, a scalar of shape (..., 1)

    @classmethod
    def zeros(cls, x: Vector) -> "Numbers":
        """0 for each block of x."""
        return cls(_xp.zeros((len(x.arrays),), leaf(x)) if isinstance(x, Blocks) else zero_scalar(x))

    def map(self, function: Callable[[Array], Array]) -> "Numbers":
        """``function`` of all of them."""
        return Numbers(function(self.values))

    def beside(self, x: Vector) -> Vector:
        """The numbers in shapes that broadcast against the blocks of x."""
        if not isinstance(x, Blocks):
            return self.values
        return Blocks(tuple(spread(self.values[i : i + 1], a) for i, a in enumerate(x.arrays)))

    def times(self, x: Vector) -> Vector:
        """Each block of x times its number."""
        return apply(lambda a, c: a * c, x, self.beside(x))
