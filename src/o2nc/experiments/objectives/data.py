"""The data of an objective, kept as NumPy arrays, in the array library of a point."""

from typing import Any

from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array


def constant(values: NDArray[Any], like: Array) -> Array:
    """``values`` with library, dtype and device of ``like``, which may be traced; not to be written to.

    Reference: the objectives that are not the paper's.

    >>> import numpy as np
    >>> constant(np.ones((2, 2)), np.zeros(1, dtype=np.float32)).dtype
    dtype('float32')
    """
    return _xp.from_numpy(values, like)
