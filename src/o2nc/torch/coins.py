"""The coins of an algorithm, addressed by their number: nothing to store but the seed and the round."""

import numpy as np

A_BLOCK = 4  # numbers that Philox makes of one counter


def coin(seed: int, k: int) -> float:
    """The k-th uniform number of ``seed``, from 0; `o2nc.minimize` with that seed draws the same ones in order.

    Reference: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011).

    >>> coin(0, 5) == coin(0, 5) != coin(0, 6)
    True
    """
    bits = np.random.Philox(np.random.SeedSequence([seed, 1])).advance(k // A_BLOCK)
    return float(np.random.Generator(bits).random(k % A_BLOCK + 1)[-1])
