"""The contract of an online learner, and what learners over a set share."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..losses import Loss
from ..operators import Operator, act
from ..sets import OperatorSet, Varying
from ..sets.base import Coordinates, first_set
from ..vectors import Scalar, Vector, check_vector, inner

State = Any  # a NamedTuple of arrays


@runtime_checkable
class Oracle(Protocol):
    """An online convex optimizer over operators: it plays before it may see the sample, then learns from a loss.

    An oracle may also state a bound on its regret against the identity, ``regret_bound(x, energy)``: then the
    certificates of its runs can be a-priori.

    Reference: Definition 1 (static regret minimization oracle).

    >>> from o2nc.oracles import Hedge
    >>> from o2nc.operators import Identity
    >>> isinstance(Hedge([Identity()]), Oracle)
    True
    """

    def init(self, x: Vector) -> State:
        """The state before round 1, for vectors like x."""
        ...

    def play(self, state: State, m: Vector) -> Operator:
        """U_t. It may depend on the direction m, never on the sample of this round."""
        ...

    def learn(self, state: State, loss: Loss) -> State:
        """The state after the loss of this round."""
        ...


class SetState(NamedTuple):
    """The state of a learner over a set that keeps nothing else."""

    u: Coordinates  # the point to play, in the coordinates of the set of round t
    t: Array  # the round, counted from 1, shape (1,)


def start(learner: str, operators: OperatorSet, x: Vector, *needs: str) -> Coordinates:
    """Where a learner starts, once ``x`` and the set of round 1 (for `Varying` not known before) are checked."""
    check_vector("x", x)
    check_set(learner, first_set(operators, x), *needs)
    return operators.start(x)


def play(operators: OperatorSet, state: Any) -> Operator:
    """The operator at the learner's point."""
    return operators.at(state.t).operator(state.u)


def gradient(operators: OperatorSet, state: Any, loss: Loss) -> Coordinates:
    """The gradient of the loss in the coordinates of the set, at the point played."""
    S = operators.at(state.t)
    return S.pullback(loss.gradient(act(S.operator(state.u), loss.m)), loss.m)


def flat(operators: OperatorSet, u: Coordinates) -> Coordinates:
    """The coordinates with one axis."""
    return _xp.flatten_matrix(u) if operators.axes == 2 else u


def square(operators: OperatorSet, g: Coordinates) -> Scalar:
    """|g|^2 in the coordinates of the set, as a scalar of shape (..., 1)."""
    return inner(flat(operators, g), flat(operators, g))


def scaled(operators: OperatorSet, scalar: Scalar, g: Coordinates) -> Coordinates:
    """``scalar`` times g, where the scalar has shape (..., 1) or is a number."""
    return g * (scalar[..., None] if operators.axes == 2 and not isinstance(scalar, (int, float)) else scalar)


def check_is_oracle(name: str, oracle: Any) -> None:
    """Raise unless ``oracle`` is one."""
    if isinstance(oracle, type) or not isinstance(oracle, Oracle):
        raise TypeError(f"`{name}` must be an oracle, with init, play and learn; got {oracle!r}.")


def check_oracles(name: str, oracles: Any) -> tuple[Oracle, ...]:
    """The oracles as a tuple; raise unless there is one or more, and all are oracles."""
    if not isinstance(oracles, Iterable) or not (found := tuple(oracles)):
        raise ValueError(f"`{name}` must be a sequence of one oracle or more; got {oracles!r}.")
    for oracle in found:
        check_is_oracle(name, oracle)
    return found


def stated_bound(oracle: Oracle, x: Vector, energy: float) -> float:
    """The bound on its regret against the identity that an oracle states; inf if it states none."""
    stated = getattr(oracle, "regret_bound", None)
    return math.inf if stated is None else stated(x, energy)


def weights_of(oracle: Oracle, state: State) -> Array | None:
    """The weights of its experts, (..., K), of an oracle that has ``weights(state)``; None if it has none."""
    weights = getattr(oracle, "weights", None)
    return None if weights is None else weights(state)


def check_set(learner: str, operators: Any, *needs: str) -> None:
    """Raise unless ``operators`` is a set that offers what the learner needs of it."""
    if isinstance(operators, type) or not isinstance(operators, (OperatorSet, Varying)):
        raise TypeError(f"`{learner}(set=...)` must be a set of operators; got {operators!r}.")
    for need in needs:
        if not isinstance(operators, Varying) and not hasattr(operators, need):
            raise TypeError(f"`{learner}(set=...)` must offer `{need}`; {type(operators).__name__} does not.")
