"""Regret against other comparators than the identity, on request."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..learners.base import State
from ..losses import Loss
from ..operators import Identity, Operator, act, check_acts, check_is_operator
from ..vectors import Vector, check_vector, leaf
from .base import Oracle, check_is_oracle, contracts, registry, stated_bound
from .mixing import row, zero_row
from .ogd import OGD

Comparator = Operator | Callable[[Array], Operator]


class ComparedState(NamedTuple):
    """The oracle's state and the regrets so far."""

    oracle: State  # the state of the oracle inside
    regrets: Array  # one a comparator, (..., J)
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class Compared:
    r"""An oracle that also keeps its regret $\sum_tL_t(U_t)-L_t(V_t)$ against comparators of your choice.

    A fixed comparator gives the static regret; a function of the round gives the dynamic regret against the sequence
    that it names. Memory is O(d), whatever the horizon.

    Regret against the identity: that of the oracle inside.

    Args:
        oracle: the oracle that plays.
        comparators: operators, or functions from the round t (an integer array of shape (1,), from 1) to an operator.

    Reference: the definitions of Reg and DynamicReg in the problem set-up.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.operators import Diagonal, Identity
    >>> from o2nc.oracles import Constant
    >>> table = np.asarray([[0.0, 0.0], [1.0, 0.0]])  # V_1 = 0, V_2 keeps the first coordinate
    >>> oracle = Compared(Constant(), [Identity(), lambda t: Diagonal(np.take(table, t - 1, axis=0))])
    >>> m = np.asarray([1.0, 1.0])
    >>> state = oracle.init(m)
    >>> for _ in range(2):
    ...     state = oracle.learn(state, LinearLoss(s=m, m=m, scale=1.0))
    >>> state.regrets
    array([ 0., -3.])
    """

    oracle: Oracle
    comparators: Sequence[Comparator]

    def __post_init__(self) -> None:
        check_is_oracle("Compared(oracle=...)", self.oracle)
        if not isinstance(self.comparators, Iterable) or not (comparators := tuple(self.comparators)):
            raise ValueError(f"`Compared(comparators=...)` must be one comparator or more; got {self.comparators!r}.")
        for V in comparators:
            if isinstance(V, Operator) or not callable(V):
                check_is_operator("Compared(comparators=...)", V)
        object.__setattr__(self, "comparators", comparators)

    def init(self, x: Vector) -> ComparedState:
        """No regret so far."""
        check_vector("x", x)
        for V in self.comparators:
            if isinstance(V, Operator):
                check_acts("Compared(comparators=...)", V, x)
        regrets = zero_row(x, len(self.comparators))
        return ComparedState(oracle=self.oracle.init(x), regrets=regrets, t=_xp.first_round(leaf(x)))

    def play(self, state: ComparedState, m: Vector) -> Operator:
        """What the oracle plays."""
        return self.oracle.play(state.oracle, m)

    def learn(self, state: ComparedState, loss: Loss) -> ComparedState:
        """Let the oracle learn, and add up the regrets."""
        played = loss(act(self.play(state, loss.m), loss.m))
        operators = [V if isinstance(V, Operator) else V(state.t) for V in self.comparators]
        losses = [_as(loss(act(V, loss.m)), played) for V in operators]
        regrets = state.regrets + played - row(losses)
        return ComparedState(oracle=self.oracle.learn(state.oracle, loss), regrets=regrets, t=state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """That of the oracle inside; inf if it states none."""
        return stated_bound(self.oracle, x, energy)

    def contracts(self, x: Vector) -> bool:
        """Whether the oracle inside plays contractions."""
        return contracts(self.oracle, x)


def _as(value: Array, like: Array) -> Array:
    return _xp.namespace(value).reshape(value, like.shape)  # a comparator indexed by t of shape (1,) adds an axis


registry.add(
    "compared", lambda S, rate, C: Compared(OGD(S), [Identity()]), "OGD, with its regret against I", circuit=True
)
