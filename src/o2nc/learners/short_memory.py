"""The scale-free rule with a short memory, for training."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from .base import ExponentialWeights, registry

LEAST = 1e-6  # range of losses, relative to their size


class ShortMemoryState(NamedTuple):
    """What the rule remembers."""

    C: Array  # discounted losses of the experts, (..., K)
    R: Array  # the root of the discounted squares of the ranges of the losses, (..., 1)


@dataclass(frozen=True)
class ShortMemoryHedge(ExponentialWeights):
    r"""Weights $w_t=\mathrm{softmax}(-c\sqrt{\log K}\,C_{t-1}/\sqrt{V_{t-1}})$ with a discounted memory.

    $C_t=\rho C_{t-1}+\ell_t$ and $V_t=\rho^2V_{t-1}+\mathrm{range}(\ell_t)^2$, where a range counts as at least a
    millionth of the largest loss, so that experts that differ by rounding only are not told apart. The weights do not
    change when all losses are multiplied by a number, and follow the best expert of the last $1/(1-\rho)$ rounds. The
    static regret can grow linearly, so no bound is stated, and runs have an a-posteriori certificate only.

    Args:
        rho: the discount, in [0, 1).
        c: the factor of the rate; with 0 weights stay equal for ever.

    Reference: not in the paper; the practical rule of the front ends.

    >>> import numpy as np
    >>> from o2nc import learners
    >>> learner = learners.ShortMemoryHedge(c=1.0)
    >>> states = [learner.learn(learner.init(np.zeros(2)), np.asarray([-c, 0.0])) for c in (1.0, 1e6)]
    >>> [float(learner.weights(state)[0].round(4)) for state in states]
    [0.6969, 0.6969]
    """

    rho: float = 0.9
    c: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("ShortMemoryHedge(rho=...)", self.rho)
        check_number("ShortMemoryHedge(c=...)", self.c)

    def init(self, losses: Array) -> ShortMemoryState:
        """No loss so far."""
        return ShortMemoryState(C=losses, R=losses[..., :1])

    def weights(self, state: ShortMemoryState) -> Array:
        """w_t, of shape (..., K)."""
        return self.tilted(state.C * (-self.c * math.sqrt(math.log(state.C.shape[-1])) * _xp.inverse(state.R)))

    def learn(self, state: ShortMemoryState, losses: Array) -> ShortMemoryState:
        """Discount the past, add the losses of the experts and the square of their range."""
        xp = _xp.namespace(losses)
        spread = xp.maximum(_xp.largest(losses) - _xp.smallest(losses), LEAST * _xp.largest(xp.abs(losses)))
        return ShortMemoryState(C=self.rho * state.C + losses, R=_xp.hypot(self.rho * state.R, spread))


registry.add(
    "short-memory-hedge", lambda rate, C: ShortMemoryHedge(), "Hedge with a short memory and no scale; no regret bound",
    static=False,
)  # fmt: skip
