"""What there is once a block: numbers of shape (n,) for n `Blocks`, and (..., 1) for an array, which is one block."""

from collections.abc import Sequence
from typing import Any

from .. import _xp
from .._xp import Array, xla
from ..vectors import Blocks, Vector, spread


def blocks_of(v: Vector) -> tuple[Array, ...]:
    """The blocks of a vector."""
    return v.arrays if isinstance(v, Blocks) else (v,)


def number(s: Vector, values: Any, i: int) -> Any:
    """The number of block i, of shape (1,); of an array (..., 1). A Python number is that of every block."""
    return values[i : i + 1] if isinstance(s, Blocks) and _xp.is_array(values) else values


def beside(s: Vector, values: Any, i: int, a: Array) -> Any:
    """The number of block i in the shape that broadcasts against the array ``a``."""
    one = number(s, values, i)
    return spread(one, a) if isinstance(s, Blocks) else one


def taken(s: Vector, values: Array, rows: Sequence[int]) -> Array:
    """The numbers of some blocks; of all, as they are.

    >>> import numpy as np
    >>> taken(Blocks((np.ones(2),) * 3), np.asarray([4.0, 5.0, 6.0]), [2, 0])
    array([6., 4.])
    """
    if not isinstance(s, Blocks) or list(rows) == list(range(values.shape[0])):
        return values
    xp = _xp.namespace(values)
    return xp.take(values, xp.asarray(rows, device=_xp.device(values)), axis=0)


def in_order(found: Sequence[Array], groups: Sequence[Sequence[int]]) -> Array:
    """The numbers of groups of blocks in the order of the blocks: the inverse of `taken` for each.

    >>> import numpy as np
    >>> in_order([np.asarray([6.0, 4.0]), np.asarray([5.0])], [[2, 0], [1]])
    array([4., 5., 6.])
    """
    if len(found) == 1:
        return found[0]
    order = [row for rows in groups for row in rows]
    together = _xp.namespace(*found).concat(list(found), axis=-1)
    return taken(Blocks((together,)), together, sorted(range(len(order)), key=order.__getitem__))


def sums(s: Vector, terms: xla.Terms, blocks: Sequence[Sequence[Array]], numbers: Sequence[Array] = ()) -> list[Array]:
    """The sums of terms over the entries of each block, (n,); over those of an array (..., 1)."""
    if isinstance(s, Blocks):
        return xla.sums(terms, blocks, numbers)
    return [_xp.namespace(term).sum(term, axis=-1, keepdims=True) for term in terms(numbers, *blocks[0])]
