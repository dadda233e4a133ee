"""Learning rates of the practical rule, from a number, one a block, or a schedule."""

from typing import Any

from .. import _xp
from ..checks import check_decay, check_number


def rate(lr: Any, weight_decay: Any = 0.0) -> Any:
    """A learning rate of a schedule: raise if it is a number that is not finite, or negative; in an array that is 0.

    The same if a step with it forgets all of a weight. Arrays may have no value yet, under ``jit``. With a rate of 0 a
    step moves nothing and is worth nothing.

    >>> import numpy as np
    >>> rate(np.asarray([0.1, np.nan, -1.0])), rate(np.asarray([0.1, 2.0]), 0.5)
    (array([0.1, 0. , 0. ]), array([0.1, 0. ]))
    """
    if not _xp.is_array(lr):
        for value in lr if isinstance(lr, tuple) else (lr,):
            check_number("lr", value)
            if not _xp.is_array(weight_decay):
                check_decay("lr", value, weight_decay)
        return lr
    xp = _xp.namespace(lr)
    return xp.where(xp.isfinite(lr) & (lr >= 0) & (lr * weight_decay < 1), lr, xp.zeros_like(lr))
