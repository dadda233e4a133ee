"""The mirror maps of `OMD` and `FTRL`: what one must offer, the Euclidean and the entropic one."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..sets import OperatorSet, Varying
from ..sets.base import Coordinates, first_set
from ..vectors import apply, inner
from .coordinates import square


@runtime_checkable
class Mirror(Protocol):
    """A mirror map: a way from points to dual points, and back into a set.

    Reference: online mirror descent (Srebro, Sridharan, Tewari, 2011).
    """

    def check(self, operators: OperatorSet) -> None:
        """Raise unless the set has the projection that this map needs."""
        ...

    def start(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """Where a learner starts if the set proposes u."""
        ...

    def dual(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """The gradient of the map at u."""
        ...

    def project(self, operators: OperatorSet, y: Coordinates) -> Coordinates:
        """The point of the set nearest, in the map's divergence, to the one whose dual point is y."""
        ...

    def divergence(self, operators: OperatorSet, u: Coordinates, v: Coordinates) -> Array:
        """The Bregman divergence of u from v."""
        ...

    def stability(self, operators: OperatorSet, x: Any) -> float:
        """c such that one step of rate eta costs at most eta c (|s| |m|)^2 (see the learners' bounds)."""
        ...


@dataclass(frozen=True)
class Euclidean:
    r"""$\frac12\|u\|^2$: dual points are points, steps are gradient steps.

    Reference: online gradient descent (Zinkevich, 2003).

    >>> import numpy as np
    >>> from o2nc.sets import Box
    >>> Euclidean().project(Box(), np.asarray([1.5, 0.5]))
    array([1. , 0.5])
    """

    def check(self, operators: OperatorSet) -> None:
        """Every set has the Euclidean projection."""

    def start(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """u."""
        return u

    def dual(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """u."""
        return u

    def project(self, operators: OperatorSet, y: Coordinates) -> Coordinates:
        """The Euclidean projection."""
        return operators.project(y)

    def divergence(self, operators: OperatorSet, u: Coordinates, v: Coordinates) -> Array:
        """Half of the squared distance."""
        return 0.5 * square(operators, u - v)

    def stability(self, operators: OperatorSet, x: Any) -> float:
        """Half of the square of the set's gradient factor."""
        return 0.5 * operators.gradient_factor(x) ** 2


@dataclass(frozen=True)
class Entropic:
    r"""$\sum_iu_i\log u_i-u_i$: dual points are logarithms, steps are multiplicative.

    Needs a set of nonnegative coordinates with an entropic projection: `Hull`, or `Box` with low >= 0 and high > 0.

    Reference: Algorithm 3 (Hedge), which is follow-the-regularized-leader with this map on the simplex.

    >>> import numpy as np
    >>> from o2nc.operators import Identity
    >>> from o2nc.sets import Hull
    >>> Entropic().project(Hull((Identity(), Identity())), np.asarray([0.0, 0.0]))
    array([0.5, 0.5])
    """

    def check(self, operators: OperatorSet) -> None:
        """Raise unless the set has an entropic projection and nonnegative coordinates."""
        if isinstance(operators, Varying):
            return  # the rule is not called before there is a round
        if not hasattr(operators, "project_entropic"):
            raise TypeError(f"`set` must be a `Hull` or a `Box` for the entropic mirror map; got {operators!r}.")
        if getattr(operators, "low", 0.0) < 0 or getattr(operators, "high", 1.0) <= 0:
            raise ValueError(f"`set` must have low >= 0 and high > 0 for the entropic mirror map; got {operators!r}.")

    def start(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """u."""
        return u

    def dual(self, operators: OperatorSet, u: Coordinates) -> Coordinates:
        """log u, where 0 counts as the smallest normal number: a weight that underflowed can come back."""
        return apply(lambda a: _xp.namespace(a).log(_xp.at_least(a, _xp.smallest_normal(a))), u)

    def project(self, operators: OperatorSet, y: Coordinates) -> Coordinates:
        """The projection of exp(y) in the Kullback-Leibler divergence."""
        return operators.project_entropic(y)  # type: ignore[attr-defined]

    def divergence(self, operators: OperatorSet, u: Coordinates, v: Coordinates) -> Array:
        """sum u log(u / v) - u + v, with 0 log 0 = 0."""

        def term(a: Any, b: Any) -> Any:
            xp = _xp.namespace(a)
            safe = xp.where(a > 0, a, xp.ones_like(a))
            return a * xp.log(safe / b) - a + b

        terms = apply(term, u, v)
        return inner(terms, apply(lambda a: _xp.namespace(a).ones_like(a), terms))

    def stability(self, operators: OperatorSet, x: Any) -> float:
        """1/2 on a hull, high/2 on a box."""
        return 0.5 * getattr(operators, "high", 1.0)


def check_mirror(learner: str, mirror: Any, operators: OperatorSet) -> None:
    """Raise unless ``mirror`` is a mirror map for the set."""
    if isinstance(mirror, type) or not isinstance(mirror, Mirror):
        raise TypeError(f"`{learner}(mirror=...)` must be a mirror map, as Entropic(); got {mirror!r}.")
    mirror.check(operators)


def start_divergence(mirror: Mirror, operators: OperatorSet, x: Any) -> float:
    """The divergence of the identity from where a learner over the set starts; inf if it is not in the set."""
    identity = operators.identity(x)
    if identity is None:
        return math.inf
    S = first_set(operators, x)
    return float(_xp.to_numpy(mirror.divergence(S, identity, mirror.start(S, S.start(x)))).max())
