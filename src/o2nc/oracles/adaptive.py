"""Hedging between the directions of other optimizers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from .. import _xp
from ..directions import Adam, Direction, Momentum, OnMatrices, Sign
from ..learners import AdaHedge, Learner
from ..learners.base import check_learner
from ..losses import Loss
from ..operators import Toward, trusted
from ..vectors import Blocks, Vector, check_vector, inner
from .base import registry
from .mixing import Mixing, zero_row


class AdaptiveState(NamedTuple):
    """What the learner and its experts remember."""

    learner: Any  # the state of the learner over K losses
    experts: tuple[Any, ...]  # the states of the experts


@dataclass(frozen=True, eq=False)
class Adaptive(Mixing):
    r"""A learner over adaptive experts: it plays $\sum_kw_{t,k}U_{t,k}$ with $U_{t,k}m_t=d_k(m_t)$.

    The directions $d_k$ are those of other optimizers (momentum, Adam's, Muon's, ...), computed from the past and
    shortened to $\|m_t\|$; scale-free ones first get the length of the tracker, block by block. For each there
    is a symmetric contraction $U_{t,k}$ with $U_{t,k}m_t=d_k$ (`Toward`), so the mixture is legal for Theorem 1, at
    O(K d) cost and without forming a matrix.

    Regret against every expert: that of the learner. The moving experts are not fixed comparators; a bound against the
    identity needs `Momentum` among the experts, which is the identity.

    Args:
        experts: the directions.
        learner: gives the weights, by default `o2nc.learners.AdaHedge`; it sees K losses a round.

    Reference: the set-up of Algorithm 1, which lets the set change with t.

    >>> import numpy as np
    >>> from o2nc.directions import Adam, Momentum
    >>> oracle, m = Adaptive([Momentum(), Adam()]), np.asarray([3.0, 4.0])
    >>> (oracle.play(oracle.init(m), m) @ m).round(4)
    array([3., 4.])
    """

    experts: Sequence[Direction]
    learner: Learner = field(default_factory=AdaHedge)

    def __post_init__(self) -> None:
        if not isinstance(self.experts, Iterable):
            raise TypeError(f"`Adaptive(experts=...)` must be a sequence of directions; got {self.experts!r}.")
        experts = tuple(self.experts)
        if not experts:
            raise ValueError("`Adaptive(experts=...)` must have at least one direction; got none.")
        for expert in experts:
            if isinstance(expert, type) or not isinstance(expert, Direction):
                raise TypeError(f"`Adaptive(experts=...)` must be directions of `o2nc.directions`; got {expert!r}.")
        object.__setattr__(self, "experts", experts)
        check_learner("Adaptive(learner=...)", self.learner, len(experts))

    def init(self, x: Vector) -> AdaptiveState:
        """The states of the learner and of the experts."""
        check_vector("x", x)
        zero = zero_row(x, len(self.experts))
        return AdaptiveState(self.learner.init(zero), tuple(expert.init(x) for expert in self.experts))

    def operators(self, state: AdaptiveState, m: Vector) -> tuple[Toward, ...]:
        """The experts' operators, which send m to their directions."""
        directions = (legal(e, e.direction(s, m), m) for e, s in zip(self.experts, state.experts, strict=True))
        return tuple(trusted(Toward, m=m, d=d) for d in directions)

    def images(self, state: AdaptiveState, m: Vector) -> list[Vector]:
        """The directions."""
        return [U.d for U in self.operators(state, m)]

    def learn(self, state: AdaptiveState, loss: Loss) -> AdaptiveState:
        """Show the learner the losses of the directions, and the experts the sample."""
        experts = tuple(e.learn(s, loss.s) for e, s in zip(self.experts, state.experts, strict=True))
        return AdaptiveState(self.learned(state, loss), experts)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """That of the learner against `Momentum`, if it is one of the experts."""
        return self.learner.regret_bound([isinstance(expert, Momentum) for expert in self.experts], energy)

    def contracts(self, x: Vector) -> bool:
        """Yes: directions are shortened to the length of m."""
        return True


def legal(expert: Direction, d: Vector, m: Vector) -> Vector:
    """The direction d of an expert, no longer than m; that of a scale-free one as long as m, block by block."""
    if not expert.scale_free:
        return shortened(d, m)
    if isinstance(m, Blocks):
        ones = zip(*([Blocks((a,)) for a in v.arrays] for v in (d, m)), strict=True)
        return shortened(Blocks(tuple(with_length(*pair).arrays[0] for pair in ones)), m)
    shapes = expert.shapes if isinstance(expert, OnMatrices) else None
    stops = list(accumulate(map(math.prod, shapes or [m.shape[-1:]])))
    pieces = [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]
    return shortened(_xp.namespace(m).concat([with_length(d[..., p], m[..., p]) for p in pieces], axis=-1), m)


def with_length(d: Vector, m: Vector) -> Vector:
    """d scaled to the length of m; 0 if d = 0.

    >>> import numpy as np
    >>> with_length(np.asarray([3.0, 4.0]), np.asarray([0.0, 10.0]))
    array([6., 8.])
    """
    square = inner(d, d)
    xp = _xp.namespace(square)
    return d * xp.sqrt(inner(m, m) / xp.where(square > 0, square, xp.ones_like(square)))


def shortened(d: Vector, m: Vector) -> Vector:
    """d scaled down to the length of m where it is longer: the cap of certified use.

    >>> import numpy as np
    >>> shortened(np.asarray([3.0, 4.0]), np.asarray([0.0, 1.0]))
    array([0.6, 0.8])
    """
    square, limit = inner(d, d), inner(m, m)
    xp = _xp.namespace(square)
    safe = xp.where(square > 0, square, xp.ones_like(square))
    return d * xp.where(square > limit, xp.sqrt(limit / safe), xp.ones_like(square))


registry.add(
    "adaptive", lambda S, rate, C: Adaptive([Momentum(), Adam(), Sign()]), "AdaHedge over directions", circuit=True
)
