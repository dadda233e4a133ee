"""The contract of a learner over K experts, which sees K numbers a round, and what all learners share."""

import math
import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..checks import brief, check_numbers
from ..registry import Registry

State = Any  # a NamedTuple of arrays

# the learners by name: ``make(rate, C)`` from a rate, or None for its own, and a bound on the range of a loss vector.
# facts are those of the oracle over experts, see `o2nc.oracles.base`
registry = Registry("learner")
OPTIONAL, NEEDED = "rate optional", "needs a rate"


@runtime_checkable
class Learner(Protocol):
    """A learner over K experts: it gives weights before it sees the losses of a round. Losses have shape (..., K).

    Reference: Algorithm 3, without the operators.

    >>> from o2nc.learners import Hedge
    >>> isinstance(Hedge(), Learner)
    True
    """

    def init(self, losses: Array) -> State:
        """The state before round 1, for losses like these zeros."""
        ...

    def weights(self, state: State) -> Array:
        """w_t, of shape (..., K)."""
        ...

    def learn(self, state: State, losses: Array) -> State:
        """The state after the losses of this round."""
        ...

    def regret_bound(self, chosen: Sequence[bool], energy: float) -> float:
        r"""A bound on the expected regret against the experts that are ``chosen``, which all lose the same.

        It holds when $\sum_tE\|\ell_t\|_\infty^2\le$ ``energy``, and is inf if none is chosen or no bound is known.
        """
        ...


class ExponentialWeights:
    """What the learners here share: a prior, weights tilted by exponentials, and no bound unless ``bound`` has one."""

    prior: Sequence[float] | None = None  # uniform if not given; a field of the learners that take one

    def __post_init__(self) -> None:
        if self.prior is not None:
            name = f"{type(self).__name__}(prior=...)"
            prior = check_numbers(name, self.prior)
            if not prior or min(prior) <= 0 or abs(math.fsum(prior) - 1) > 1e-12 + len(prior) * sys.float_info.epsilon:
                raise ValueError(f"`{name}` must be positive and sum to 1; got {brief(prior)}.")
            object.__setattr__(self, "prior", prior)

    def regret_bound(self, chosen: Sequence[bool], energy: float) -> float:
        """A bound on the expected regret against the experts that are chosen (see `Learner`); one expert has none."""
        logs = self.log_prior(len(chosen))
        mass = math.fsum(math.exp(log) for log, one in zip(logs, chosen, strict=True) if one)
        bound = self.bound(-math.log(min(mass, 1.0)), -min(logs), energy) if mass else math.inf
        return bound if len(chosen) > 1 or math.isinf(bound) else 0.0

    def bound(self, kl: float, l: float, energy: float) -> float:
        """inf: no bound is known."""
        return math.inf

    def log_prior(self, K: int) -> list[float]:
        """log pi_k for each of K experts; raise if the prior is for another number of them."""
        if self.prior is not None and len(self.prior) != K:
            name = f"{type(self).__name__}(prior=...)"
            raise ValueError(f"`{name}` must have one weight an expert, {K}; got {brief(self.prior)}.")
        return [math.log(p) for p in self.prior or [1 / K] * K]

    def tilted(self, y: Array) -> Array:
        """The weights proportional to pi_k exp(y_k)."""
        return _xp.softmax(y + _xp.like(self.log_prior(y.shape[-1]), y) if self.prior else y)


def check_learner(name: str, learner: Any, K: int | None = None) -> None:
    """Raise unless ``learner`` is one, and has a prior for K experts if K is given and it has a prior."""
    if isinstance(learner, type) or not isinstance(learner, Learner):
        raise TypeError(f"`{name}` must be a learner, as `o2nc.learners.AdaHedge()`; got {learner!r}.")
    if K is not None and isinstance(learner, ExponentialWeights):
        learner.log_prior(K)
