"""The uniform numbers of the experiment: a function of seed, objective, purpose, replication and round."""

from collections.abc import Sequence

import numpy as np

from ..noise import _words
from ..record import Floats


def uniforms(
    seed: int, objective: str, purpose: str, replications: Sequence[int], start_round: int, rounds: int, count: int
) -> Floats:
    """Independent numbers, uniform on [0, 1), of shape (rounds, R, count).

    Args:
        seed: a whole number.
        objective: its name, which is part of the key.
        purpose: "sample", "segment", "tau" and so on, which is part of the key, too.
        replications: their numbers.
        start_round: the first round, counted from 0.
        rounds: how many.
        count: numbers of a round.

    Reference: Algorithm 2, lines 6, 7 and 12.

    >>> block = uniforms(0, "bowl", "sample", range(3), 0, 4, 2)
    >>> bool((block[1:3, 1:2] == uniforms(0, "bowl", "sample", [1], 1, 2, 2)).all())
    True
    """
    words = _words(seed, f"{objective} {purpose}", replications, start_round, rounds, count)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)
