"""The samples of a run: nothing that `gradient` writes changes the run, and one can be taken again elsewhere.

It is the same randomness, since `gradient` draws from its generator only.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

from . import _xp
from .states import leaves, rebuild
from .vectors import Vector, inner

ROUNDING = 1e4  # in units of the machine: how much two results of the same computation may differ


def copied(state: Any) -> Any:
    """A vector or a state, that nobody else has.

    >>> x = np.zeros(2)
    >>> copied((x, {"x": x}))[0] is x
    False
    """
    return rebuild(state, (_xp.copy(a) if _xp.is_array(a) else deepcopy(a) for _, a in leaves(state)))


class Again:
    """The samples of a run, each of which can be taken once more at the next point.

    Args:
        gradient: ``gradient(x, rng)``.
        rng: the generator of the samples.

    Reference: none; how a program that draws its samples takes one of them at two points.

    >>> rng = np.random.default_rng(0)
    >>> samples = Again(lambda x, rng: x + rng.normal(size=1), rng)
    >>> s = samples.fresh(np.asarray([1.0]))
    >>> bool(np.isclose(samples.again(np.asarray([5.0])) - s, 4.0)[0])
    True
    """

    def __init__(self, gradient: Callable[[Vector, np.random.Generator], Vector], rng: np.random.Generator):
        self.gradient, self.rng = gradient, rng
        self.before: Any = None  # the state of the generator before the last sample
        self.old = np.random.Generator(type(rng.bit_generator)())

    def fresh(self, x: Vector) -> Vector:
        """A new sample at x."""
        self.before = self.rng.bit_generator.state
        return self._taken(x, self.rng)

    def again(self, x: Vector) -> Vector:
        """The last sample at x."""
        self.old.bit_generator.state = self.before
        return self._taken(x, self.old)

    def _taken(self, x: Vector, rng: np.random.Generator) -> Vector:
        """A sample at a copy of x, and a copy of what is returned: it may be memory that is written again."""
        s = self.gradient(copied(x), rng)
        return copied(s) if all(_xp.is_array(a) for _, a in leaves(s)) else s  # and `check_sample` says what it is

    def mean(self, x: Vector, batch: int) -> Vector:
        """The mean of new samples at x."""
        total = self.fresh(x)
        for _ in range(batch - 1):
            total = total + self.fresh(x)
        return total * (1 / batch)

    def check_same(self, s: Vector, x: Vector) -> None:
        """Raise unless the last sample, taken again where it was taken, is the same."""
        other = self.again(x) - s
        gap, size = (max(_xp.floats(inner(v, v))) for v in (other, s))
        if not gap <= (ROUNDING * _xp.machine_eps(inner(s, s))) ** 2 * size:
            raise ValueError(
                "`gradient` must draw its randomness from `rng` only, so that a sample can be taken again at another "
                f"point; taken again at x1, the first one differs by {gap**0.5:.3g}."
            )
