"""The round of the output, which is drawn before the first, so that only one point is kept."""

from typing import Any

from .. import _xp


def check_tau(tau: Any, T: int) -> None:
    """Raise unless ``tau`` is None, a round from 1 to T, or an array of such rounds.

    >>> check_tau(0, 10)
    Traceback (most recent call last):
        ...
    ValueError: `tau` must be a round, from 1 to T = 10; got 0.
    """
    if tau is None or (_xp.is_array(tau) and _xp.is_traced(tau)):
        return
    if not _xp.is_array(tau) and (isinstance(tau, bool) or not isinstance(tau, int)):
        raise TypeError(f"`tau` must be a round or an array of rounds; got {tau!r}.")
    if not bool(_xp.to_numpy(tau).min() >= 1 and _xp.to_numpy(tau).max() <= T):
        raise ValueError(f"`tau` must be a round, from 1 to T = {T}; got {tau}.")


def uniform_round(u: float, T: int) -> int:
    """A round uniform on 1, ..., T, from ``u`` uniform on [0, 1).

    >>> [uniform_round(u, 4) for u in (0.0, 0.3, 0.999)]
    [1, 2, 4]
    """
    if not 0 <= u < 1:
        raise ValueError(f"`u` must lie in [0, 1); got {u}.")
    return 1 + int(u * T)
