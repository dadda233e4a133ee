"""What learners over finitely many experts share: the hull, the prior, and playing a mixture."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _xp
from .._xp import Array
from ..checks import brief, check_numbers
from ..losses import Loss
from ..operators import Identity, Operator, Toward, check_operators
from ..sets import Hull, Varying
from ..sets.base import first_set
from ..vectors import Vector, check_vector
from .base import stated_bound


@dataclass(frozen=True, eq=False)
class OverExperts:
    r"""A learner that plays $\sum_kw_{t,k}U_k$; a subclass has ``weights(state)``, and ``t`` in its state.

    Args:
        experts: operators, a `Hull` of them, or a `Varying` hull.

    Reference: Algorithm 3.

    >>> from o2nc.oracles import AdaHedge, Hedge
    >>> issubclass(Hedge, OverExperts) and issubclass(AdaHedge, OverExperts)
    True
    """

    experts: Hull | Varying | Sequence[Operator]

    def __post_init__(self) -> None:
        if not isinstance(self.experts, (Hull, Varying)):
            operators = check_operators(f"{type(self).__name__}(experts=...)", self.experts)
            object.__setattr__(self, "experts", Hull(operators))
        prior, name = getattr(self, "prior", None), f"{type(self).__name__}(prior=...)"
        if prior is not None:
            prior = check_numbers(name, prior)
            if not prior or min(prior) <= 0 or abs(sum(prior) - 1) > 1e-12:
                raise ValueError(f"`{name}` must be positive and sum to 1; got {brief(prior)}.")
            object.__setattr__(self, "prior", prior)
        if isinstance(self.experts, Hull):
            self._check_hull(self.experts)

    def weights(self, state: Any) -> Array:
        """w_t, of shape (..., K)."""
        raise NotImplementedError

    def play(self, state: Any, m: Vector) -> Operator:
        """The mixture with the current weights."""
        return self.hull(state).operator(self.weights(state))

    def learn(self, state: Any, loss: Loss) -> Any:
        """Observe the losses of the experts."""
        return self.observe(state, self.losses(state, loss))

    def observe(self, state: Any, losses: Array) -> Any:
        """The state after the losses of the experts in this round, (..., K): all that such a learner sees."""
        raise NotImplementedError

    def hull(self, state: Any) -> Any:
        """The `Hull` of this round."""
        return self.experts.at(state.t)  # type: ignore[union-attr]

    def losses(self, state: Any, loss: Loss) -> Array:
        """The losses of the experts in this round, of shape (..., K)."""
        return self.hull(state).evaluate(loss, loss.m)

    def zero_losses(self, x: Vector) -> Array:
        """Zeros of shape (..., K), once ``x`` and the hull of round 1 (for `Varying` not known before) are checked."""
        check_vector("x", x)
        self._check_hull(first_set(self.experts, x))
        return 0 * self.experts.start(x)  # type: ignore[union-attr]

    def log_prior(self, like: Array) -> list[float]:
        """log pi_k for each expert."""
        K = like.shape[-1]
        return [math.log(p) for p in getattr(self, "prior", None) or [1 / K] * K]

    def tilted(self, y: Array) -> Array:
        """The weights proportional to pi_k exp(y_k)."""
        prior = getattr(self, "prior", None)
        return _xp.softmax(y + _xp.like(self.log_prior(y), y) if prior else y)

    def identity_kl(self, x: Vector) -> float:
        """KL(identity || prior) = log(1 / pi_j) for the expert j that is the identity; inf if there is none."""
        identity = self.experts.identity(x)  # type: ignore[union-attr]
        if identity is None:
            return math.inf
        share = _xp.to_numpy(identity).reshape(-1, identity.shape[-1])[0]
        mass = sum(math.exp(log) for log, s in zip(self.log_prior(identity), share, strict=True) if s > 0)
        return -math.log(min(mass, 1.0))

    def _check_hull(self, hull: Any) -> None:
        name, prior = type(self).__name__, getattr(self, "prior", None)
        if not isinstance(hull, Hull):
            raise TypeError(f"`{name}(experts=...)` must be operators or a Hull in every round; got {hull!r}.")
        K = len(hull.operators)
        if prior is not None and len(prior) != K:
            raise ValueError(f"`{name}(prior=...)` must have one weight an expert, {K}; got {brief(prior)}.")


def made_for(owner: str, learner: Callable[[Any], Any], K: int) -> OverExperts:
    """The learner of ``owner`` over K experts that play for themselves: it is only shown their losses."""
    if not callable(learner):
        raise TypeError(
            f"`{owner}(learner=...)` must be a function from a hull to a learner, as a class is; got {learner!r}."
        )
    made = learner(Hull((Identity(),) * K))
    if not isinstance(made, OverExperts):
        raise TypeError(f"`{owner}(learner=...)` must make a learner over experts; got {made!r}.")
    return made


def slot_bound(learner: Callable[[Any], Any], chosen: Sequence[bool], x: Vector, energy: float) -> float:
    """The bound of such a learner on its regret against the experts that are ``chosen``; inf if it states none."""
    made = learner(Hull(tuple(Identity() if one else Toward(x, x) for one in chosen)))
    return stated_bound(made, x, energy)
