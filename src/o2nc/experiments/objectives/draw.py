"""The noise of a block of rounds, for objectives whose noise depends on the round and for those where it does not."""

from abc import abstractmethod
from collections.abc import Sequence

from ... import _xp
from ..._xp import Array
from ..backends import array
from ..noise import signs
from .base import Objective


class RoundNoise(Objective):
    """An objective whose noise depends on the round: its `noise` takes the round too.

    Reference: `Switching`, the only one.

    >>> from o2nc.experiments.objectives import MORE_OBJECTIVES
    >>> [name for name, f in MORE_OBJECTIVES.items() if isinstance(f, RoundNoise)]
    ['f8']
    """

    @abstractmethod
    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """The noise of round ``t``, counted from 0: a number, or an array that broadcasts against (..., 1)."""


def draw(f: Objective, seed: int, replications: Sequence[int], start_round: int, rounds: int, like: Array) -> Array:
    r"""The noise $\xi_t$ of some replications for a block of rounds, of shape (rounds, R, d).

    It is a function of (seed, objective, replication, round) alone. For f1 to f7 it is ``f.noise`` of the signs.

    Args:
        f: any objective.
        seed: a whole number.
        replications: the numbers of the replications, a range for example.
        start_round: the first round of the block, counted from 0.
        rounds: the number of rounds.
        like: an array whose library, dtype and device the noise has.

    Reference: Numerical Experiments, the stochastic oracle.

    >>> import numpy as np
    >>> from o2nc.experiments.objectives import MORE_OBJECTIVES
    >>> xi = draw(MORE_OBJECTIVES["f8"], 0, range(4), start_round=1499, rounds=2, like=np.zeros(1))
    >>> (xi[:, 0] != 0).sum(axis=-1), (xi[:, 0, :32] != 0).sum(axis=-1)
    (array([32, 32]), array([ 0, 32]))
    """
    return noise_of(f, array(signs(seed, f.name, replications, start_round, rounds, f.d), like), start_round)


def noise_of(f: Objective, epsilon: Array, start_round: int) -> Array:
    r"""The noise made of the signs ``epsilon`` of the rounds from ``start_round`` on, of shape (rounds, R, d).

    Reference: Numerical Experiments, the stochastic oracle.

    >>> import numpy as np
    >>> from o2nc.experiments.objectives import objective
    >>> noise_of(objective("f8"), np.ones((2, 1, 64)), start_round=1499)[:, 0, 0] != 0
    array([False,  True])
    """
    if not isinstance(f, RoundNoise):
        return f.noise(epsilon)
    return f.noise(epsilon, _xp.like([[[float(start_round + i)]] for i in range(epsilon.shape[0])], epsilon))
