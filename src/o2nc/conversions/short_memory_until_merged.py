"""A stand-in for `o2nc.learners.ShortMemoryHedge`."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array


class ShortMemoryState(NamedTuple):
    C: Array
    V: Array


@dataclass(frozen=True)
class ShortMemoryHedge:
    rho: float = 0.9
    c: float = 3.0

    def init(self, losses: Array) -> ShortMemoryState:
        return ShortMemoryState(C=losses, V=losses[..., :1])

    def weights(self, state: ShortMemoryState) -> Array:
        xp = _xp.namespace(state.V)
        root = xp.sqrt(xp.where(state.V > 0, state.V, xp.ones_like(state.V)))
        return _xp.softmax(state.C * (-self.c * math.sqrt(math.log(state.C.shape[-1])) / root))

    def learn(self, state: ShortMemoryState, losses: Array) -> ShortMemoryState:
        spread = _xp.largest(losses) - _xp.smallest(losses)
        return ShortMemoryState(C=self.rho * state.C + losses, V=self.rho**2 * state.V + spread * spread)
