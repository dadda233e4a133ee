"""The mixture of the directions of a block: with what each is multiplied, from sums over the block.

A step needs two passes over a block: one for the sums, one that moves. Between them there are only numbers.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..directions.base import LENGTH, faded
from ..vectors import spread
from .traces import counts

Groups = list[tuple[list[int], list[int]]]  # blocks, and for each expert the number of its direction on them


class Seen(NamedTuple):
    """The trackers and the directions of blocks, as they are or as functions of what is in memory.

    Reference: none.

    >>> import numpy as np
    >>> seen = Seen([(np.ones(2),), (np.ones(3),)], lambda numbers, a: [a, numbers[0] * a], [np.asarray([2.0, 3.0])])
    >>> seen.found(1)
    [array([1., 1., 1.]), array([3., 3., 3.])]
    """

    blocks: Sequence[tuple[Any, ...]]  # of each block what is in memory, arrays of its shape
    of: Callable[..., Sequence[Any]]  # of the numbers of a block and its arrays, or pieces: the tracker, the directions
    numbers: Sequence[Array] = ()  # what there is once a block

    def found(self, k: int, read: Callable[..., Sequence[Any]] = lambda *arrays: arrays) -> Sequence[Any]:
        """The tracker, and the directions, of a block whose arrays are read in some way."""
        first = self.blocks[k][0]
        return self.of([spread(c[k : k + 1], first) for c in self.numbers], *read(*self.blocks[k]))

    def products(self, numbers: Sequence[Array], *pieces: Array) -> list[Array]:
        """Entry by entry: the square of the tracker, and the products of `pairs` of directions."""
        m, *ds = self.of(numbers, *pieces)
        square = m * m
        return [square, *(square if ds[j] is ds[k] is m else ds[j] * ds[k] for j, k in pairs(len(ds)))]


def firsts(same: list[int]) -> list[int]:
    """Of each direction that differs the first expert that has it.

    >>> firsts([0, 1, 0, 2])
    [0, 1, 3]
    """
    return [same.index(j) for j in range(max(same) + 1)]


def shares_of(w: Array, same: list[int]) -> list[Array]:
    """The weight of each direction that differs: that of the experts that have it, (..., 1).

    >>> import numpy as np
    >>> [float(share[0]) for share in shares_of(np.asarray([0.25, 0.5, 0.25]), [0, 1, 0])]
    [0.5, 0.5]
    """
    return [reduce(add, (w[..., k : k + 1] for k, one in enumerate(same) if one == j)) for j in range(max(same) + 1)]


def pairs(n: int) -> list[tuple[int, int]]:
    """All pairs k <= j of numbers below n.

    >>> pairs(2)
    [(0, 0), (1, 0), (1, 1)]
    """
    return [(j, k) for j in range(n) for k in range(j + 1)]


def check_finite(name: str, ds: Sequence[Array], hats: Sequence[Array]) -> None:
    """Raise if the directions of blocks are not finite though their trackers are; under ``jit`` there are no values.

    >>> import numpy as np
    >>> check_finite("mine", [np.asarray([np.nan, 1.0])], [np.ones(2)])
    Traceback (most recent call last):
        ...
    ValueError: The expert 'mine' must return numbers that are finite; for a block of shape (2,) they are not.
    """
    for d, m in zip(ds, hats, strict=True):
        if not _xp.is_traced(d) and not _xp.all_finite(d) and _xp.all_finite(m):
            raise ValueError(
                f"The expert {name!r} must return numbers that are finite; for a block of shape {tuple(d.shape)} they "
                "are not."
            )


def factors(means: Sequence[Array], shares: Sequence[Array], n: Array, eps: Any) -> tuple[list[Array], list[Array]]:
    """With what the directions of a block are multiplied in the mixture, and in their traces.

    Args:
        means: over the entries of the block, of `Seen.products`, (..., 1) each.
        shares: of the weight, one a direction.
        n: the step of the block, (..., 1).
        eps: the size of a tracker below which all fades.

    Reference: `PracticalConversion`.

    >>> import numpy as np
    >>> one, half = np.ones(1), np.full(1, 0.5)
    >>> mix, traced = factors([one, 4 * one, 0 * one, one], [half, half], one, 1e-8)  # orthogonal, of sizes 2 and 1
    >>> [float(a[0].round(4)) for a in mix], [float(a[0]) for a in traced]
    ([0.0707, 0.1414], [0.1, 0.2])
    """
    xp = _xp.namespace(n)
    gram = dict(zip(pairs(len(shares)), means[1:], strict=True))
    fade, times = faded(xp.sqrt(means[0]), eps), counts(xp.concat(list(shares), axis=-1), n)
    often = [times[..., j : j + 1] for j in range(len(shares))]
    to_length = [LENGTH * _xp.inverse(xp.sqrt(gram[j, j])) for j in range(len(shares))]
    mix = [a * share * _xp.indicator(c > 0, a) for a, share, c in zip(to_length, shares, often, strict=True)]
    square = reduce(add, ((1 if j == k else 2) * mix[j] * mix[k] * mean for (j, k), mean in gram.items()))
    own = fade * LENGTH * _xp.inverse(xp.sqrt(_xp.at_least(square, 0.0)))
    return [a * own for a in mix], [a * fade * c for a, c in zip(to_length, often, strict=True)]
