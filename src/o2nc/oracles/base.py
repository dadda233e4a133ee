"""The contract of an online learner over operators, and the registry of all that there are."""

import math
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from .._xp import Array
from ..learners.base import NEEDED, State
from ..losses import Loss
from ..operators import Operator
from ..registry import Registry
from ..vectors import Vector

# the oracles by name: ``make(S, rate, C)`` from a set, a rate or None for its own, and a bound on the range of a loss.
# facts: ``rate``, whether it takes one, in words; ``tuned``, (c, p) if that for T rounds is c / T^p, not 2 / T^0.5;
# ``static=False`` if its static regret on linear losses need not be small; ``any_size=True`` if it may play operators
# that are no contractions, which only the prediction loss allows; and of those that take no set or are made from other
# oracles or directions, which the command line does not offer, ``circuit=True``, with ``sees_x=True`` if ``make`` needs
# a vector too
registry = Registry("oracle")


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


def example(name: str, S: Any, x: Vector, T: int = 400) -> Any:
    """A registered oracle over the set S for vectors like x, tuned for T rounds with losses between -1 and 1.

    >>> from o2nc.sets import Box
    >>> example("omd", Box(), None, T=100).eta
    0.2
    """
    entry = registry[name]
    factor, power = entry.facts.get("tuned", (2, 0.5))
    rate = factor * T**-power if entry.facts.get("rate") == NEEDED else None
    return entry.make(S, rate, 2.0, x) if entry.facts.get("sees_x") else entry.make(S, rate, 2.0)


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
    """The bound on its regret against the identity that an oracle states; inf if it states none.

    Energies are bounded for contractions only, so none is taken of an oracle whose set has operators of any size.
    """
    stated, S = getattr(oracle, "regret_bound", None), getattr(oracle, "set", None)
    is_wide = hasattr(S, "at") and getattr(S, "any_size", False)
    return math.inf if stated is None or is_wide else stated(x, energy)


def contracts(oracle: Oracle, x: Vector) -> bool:
    """Whether all that an oracle plays is known to be contractions: by its set, or as it says itself.

    Your own oracle may say it by a method ``contracts(x)``.

    >>> import numpy as np
    >>> from o2nc.oracles import OGD
    >>> from o2nc.sets import Box, WideBox
    >>> contracts(OGD(Box()), np.zeros(2)), contracts(OGD(WideBox()), np.zeros(2))
    (True, False)
    """
    said, S = getattr(oracle, "contracts", None), getattr(oracle, "set", None)
    if said is not None:
        return bool(said(x))
    return hasattr(S, "at") and not getattr(S, "any_size", False)


def objection_of(oracle: Oracle, state: State) -> str:
    """What an oracle that has ``objection(state)`` says against its own bound after a run; nothing of others."""
    objection = getattr(oracle, "objection", None)
    return "" if objection is None else objection(state)


def stated_moments(oracle: Oracle, x: Vector, sigma: float) -> tuple[float, float] | None:
    r"""$(\nu,\lambda)$ if an oracle states $E[Reg(I)]\le\frac12[E_{tr}+\nu\log(1+N/\lambda)]$ on `PredictionLoss`."""
    stated = getattr(oracle, "regret_moments", None)
    return None if stated is None else stated(x, sigma)


def weights_of(oracle: Oracle, state: State) -> Array | None:
    """The weights of its experts, (..., K), of an oracle that has ``weights(state)``; None if it has none."""
    weights = getattr(oracle, "weights", None)
    return None if weights is None else weights(state)
