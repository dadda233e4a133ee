"""The coins of an algorithm, which a caller may give: numbers in [0, 1]."""

from typing import Any

from .. import _xp
from .._xp import Array
from .base import as_scalar


def as_coin(r: Any, zero: Array) -> Array:
    """A coin as a scalar in the shape of ``zero``; raise unless it is in [0, 1], if it has a value.

    >>> import numpy as np
    >>> as_coin(7, np.zeros(1))
    Traceback (most recent call last):
        ...
    ValueError: `r` must be uniform on [0, 1]; got 7.
    """
    found = as_scalar(r, zero)
    if not _xp.is_traced(found) and max(_xp.floats(is_no_coin(found))):
        raise ValueError(f"`r` must be uniform on [0, 1]; got {r}.")
    return found


def is_no_coin(r: Array) -> Array:
    """1 where a coin is not in [0, 1], or is no number, and 0 elsewhere.

    >>> import numpy as np
    >>> is_no_coin(np.asarray([0.5, -3.0, float("nan")]))
    array([0., 1., 1.])
    """
    return 1 - _xp.indicator((r >= 0) & (r <= 1), r)


def stray_objection(strayed: Array) -> str:
    """In how many rounds a compiled loop was given what is no coin, in words; nothing if in none.

    >>> import numpy as np
    >>> stray_objection(np.asarray([2.0]))
    'the coin r was not in [0, 1] in 2 rounds'
    """
    rounds = int(max(_xp.floats(strayed)))
    return f"the coin r was not in [0, 1] in {rounds} rounds" if rounds else ""
