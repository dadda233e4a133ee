"""Sums of many rounds that do not drift: what rounding takes from a sum is kept, and added with the next term."""

from .._xp import Array, machine_eps

WIDE = 1e-12  # the precision from which on no sum of any run needs this


def add(total: Array, lost: Array, term: Array) -> tuple[Array, Array]:
    """The sum with one more term, and what it has lost by rounding so far; in float64 a plain sum.

    No compiler here takes ``(total + term) - total`` for ``term``: that is not so for floating numbers.

    Reference: Kahan, Further remarks on reducing truncation errors (1965).

    >>> import numpy as np
    >>> total = lost = np.zeros(1, dtype=np.float32)
    >>> for _ in range(10_000):
    ...     total, lost = add(total, lost, np.asarray([0.1], dtype=np.float32))
    >>> bool(abs(total[0] - 1000) < 1e-4)
    True
    """
    if machine_eps(total) < WIDE:
        return total + term, lost
    term = term + lost
    more = total + term
    return more, term - (more - total)
