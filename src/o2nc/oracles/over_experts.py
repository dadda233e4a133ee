"""A learner over operators: the learner sees their losses, and a mixture with its weights is played."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, NamedTuple, ParamSpec

from .. import _xp, learners
from .._xp import Array
from ..learners import Learner
from ..learners.base import check_learner
from ..losses import Loss
from ..operators import Operator, check_operators, declares
from ..sets import Hull, Varying
from ..sets.base import first_set
from ..vectors import Vector, check_vector, leaf
from .base import registry
from .mixing import Mixing

P = ParamSpec("P")
Experts = Hull | Varying | Sequence[Operator]


class OverExpertsState(NamedTuple):
    """What the learner remembers, and the round."""

    learner: Any  # the state of the learner, over K losses
    t: Array  # the round, counted from 1, (1,)


@dataclass(frozen=True, eq=False)
class OverExperts(Mixing):
    r"""Plays $\sum_kw_{t,k}U_k$ with the weights of a learner, which is shown the losses of the K operators.

    ``Hedge(experts, ...)`` is short for ``OverExperts(learners.Hedge(...), experts)``, and so on for every learner.

    Regret against each expert: that of the learner.

    Args:
        learner: gives the weights, as `o2nc.learners.AdaHedge`.
        experts: operators, a `Hull` of them, or a `Varying` hull.

    Reference: Algorithm 3, for any learner.

    >>> import numpy as np
    >>> from o2nc import learners
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.operators import Identity, Projector
    >>> P = Projector.from_mask(np.asarray([True, False]))
    >>> oracle, m = OverExperts(learners.Hedge(gamma=1.0), [Identity(), P]), np.asarray([0.0, 1.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=m, m=m, scale=1.0))
    >>> oracle.weights(state).round(4)
    array([0.7311, 0.2689])
    """

    learner: Learner
    experts: Experts

    def __post_init__(self) -> None:
        check_learner("OverExperts(learner=...)", self.learner)
        if not isinstance(self.experts, (Hull, Varying)):
            operators = check_operators(f"{self.name}(experts=...)", self.experts)
            object.__setattr__(self, "experts", Hull(operators))
        if isinstance(self.experts, Hull):
            self._check_hull(self.experts)

    @property
    def name(self) -> str:
        """That of the learner."""
        return type(self.learner).__name__

    def init(self, x: Vector) -> OverExpertsState:
        """The learner's state, once ``x`` and the hull of round 1 (for `Varying` not known before) are checked."""
        check_vector("x", x)
        self._check_hull(first_set(self.experts, x))
        return OverExpertsState(self.learner.init(0 * self._hull.start(x)), _xp.first_round(leaf(x)))

    def operators(self, state: OverExpertsState, m: Vector) -> tuple[Operator, ...]:
        """The experts of this round."""
        return self._hull.at(state.t).operators

    def learn(self, state: OverExpertsState, loss: Loss) -> OverExpertsState:
        """Show the learner the losses of the experts."""
        return OverExpertsState(self.learned(state, loss), state.t + 1)

    def regret_bound(self, x: Vector, energy: float) -> float:
        """That of the learner against the identity, if it is one of the experts."""
        if not self._hull.holds_identity or self._hull.any_size:
            return math.inf
        operators = first_set(self.experts, x).operators
        return self.learner.regret_bound([declares(U, "identity") for U in operators], energy)

    def contracts(self, x: Vector) -> bool:
        """Whether the experts say that they are contractions."""
        return not self._hull.any_size

    @property
    def _hull(self) -> Any:
        return self.experts

    def _check_hull(self, hull: Any) -> None:
        if not isinstance(hull, Hull):
            raise TypeError(f"`{self.name}(experts=...)` must be operators or a Hull in every round; got {hull!r}.")
        check_learner("OverExperts(learner=...)", self.learner, len(hull.operators))


def over_experts(learner: Callable[P, Learner]) -> Callable[Concatenate[Experts, P], OverExperts]:
    """The short spelling of a learner over operators: a function of the experts and of what the learner is made from.

    >>> from o2nc import learners
    >>> from o2nc.operators import Identity
    >>> over_experts(learners.Hedge)([Identity()], gamma=1.0).learner.gamma
    1.0
    """

    def make(experts: Experts, *args: P.args, **kwargs: P.kwargs) -> OverExperts:
        return OverExperts(learner(*args, **kwargs), experts)

    first = inspect.Parameter("experts", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Experts)
    signature = inspect.Signature([first, *inspect.signature(learner).parameters.values()])
    text = inspect.getdoc(learner) or ""
    vars(make).update(__signature__=signature)
    make.__name__ = make.__qualname__ = getattr(learner, "__name__", "learner")
    make.__doc__ = text.replace("Args:\n", "Args:\n    experts: operators, a `Hull` of them, or a `Varying` hull.\n")
    return make  # type: ignore[return-value]  # `experts` may be named, which Concatenate cannot say


def _made(learner: Callable[[Any, Any], Learner], S: Any, rate: float | None, C: float) -> OverExperts:
    return OverExperts(learner(rate, C), S)


for _name, _entry in learners.registry.items():
    registry.add(_name, partial(_made, _entry.make), _entry.words, **_entry.facts)
