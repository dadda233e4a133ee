"""The game: a learner names a point, then sees a convex loss; and what came of it."""

import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _xp
from .._xp import Array
from ..checks import brief
from ..losses import LinearLoss
from ..oracles import OverExperts
from ..oracles.base import Oracle, check_is_oracle
from ..oracles.over_set import OverSet
from ..sets import Hull
from ..sets.base import Coordinates, OperatorSet
from .domains import Domain
from .hindsight import minimised

Loss = Any  # a vector, or a pair of functions: the value and a subgradient
DIGITS = 1e-6  # a slack below this part of the numbers does not show
INSIDE = 1e4  # a point is in the domain if it is nearer than this many roundings


@dataclass(frozen=True, eq=False)
class Outcome:
    r"""What came of a game of T rounds, against the best fixed point in hindsight or a point that was given.

    The regret is $\sum_tf_t(w_t)-\sum_tf_t(u)$. It is exact for linear losses and for a point u that was given. For
    others u is found by a convex program, and the regret against the true best point is at most ``slack`` larger.

    Reference: Definition 1 (static regret minimization oracle).

    >>> from o2nc.oracles import Hedge
    >>> from o2nc.online import Simplex
    >>> outcome = play(Hedge, [np.asarray([0.0, 1.0])] * 3, Simplex(2))
    >>> outcome.best, round(outcome.regret, 4), outcome.regret <= outcome.bound
    (array([1., 0.]), 1.0074, True)
    """

    name: str  # of the oracle
    domain: Domain
    points: Array  # w_1, ..., w_T
    losses: tuple[float, ...]  # f_t(w_t)
    best: Array  # u
    best_loss: float  # the sum of f_t(u)
    slack: float  # how far the least sum may be below `best_loss`
    bound: float  # on the regret against u, if the oracle states one; inf otherwise
    reference: str  # who proved the bound

    @property
    def loss(self) -> float:
        """The sum of the losses of the learner."""
        return math.fsum(self.losses)

    @property
    def regret(self) -> float:
        """That against ``best``."""
        return self.loss - self.best_loss

    @property
    def certified(self) -> bool:
        """Whether a theorem of the oracle bounds the regret of this game."""
        return math.isfinite(self.bound)

    def __str__(self) -> str:
        seen = self.slack > DIGITS * max(abs(self.regret), abs(self.best_loss))
        more = f" (at most {self.slack:.2g} more against the best point)" if seen else ""
        bound = f"{self.bound:.6g}, certified: {self.reference}" if self.certified else "none known: practical"
        return (
            f"{self.name} on {self.domain}, {len(self.losses)} rounds\n"
            f"loss of the learner     {self.loss:.6g}\n"
            f"loss of the best point  {self.best_loss:.6g}\n"
            f"regret                  {self.regret:.6g}{more}\n"
            f"bound on the regret     {bound}"
        )


class Game:
    r"""An online game round by round: ask for a point, then show a loss.

    The oracle is shown $\langle g_t,\cdot\rangle$ with $g_t$ a subgradient of $f_t$ at the point $w_t$ that it named.
    Convexity makes the regret on $f_t$ no larger than that on these, so the bounds for linear losses hold.

    Args:
        oracle: what makes an oracle from a set: a class, as `o2nc.oracles.OGD`, or ``lambda S: OMD(S, eta=0.1)``.
        domain: where points lie: `Simplex`, `Box`, `Ball` or `Spectral`.

    Reference: Definition 1 (static regret minimization oracle).

    >>> from o2nc.oracles import OGD
    >>> from o2nc.online import Ball
    >>> game = Game(OGD, Ball(2))
    >>> for z in ([1.0, 0.0], [0.0, 1.0]):
    ...     w = game.point()
    ...     game.learn((lambda w, z=z: float(np.sum((w - z) ** 2)) / 2, lambda w, z=z: w - z))
    >>> w.round(4), game.outcome().best.round(4)
    (array([1., 0.]), array([0.5, 0.5]))
    """

    def __init__(self, oracle: Callable[[OperatorSet], Oracle], domain: Domain):
        if not isinstance(domain, Domain):
            raise TypeError(f"`domain` must be a Simplex, Box, Ball or Spectral of `o2nc.online`; got {brief(domain)}.")
        if not callable(oracle):
            raise TypeError(
                "`oracle` must make an oracle from a set, as `OGD` or `lambda S: OMD(S, eta=0.1)`; "
                f"got {brief(oracle)}."
            )
        self.make, self.domain = oracle, domain
        self.set, self.m = domain.set, domain.m
        self.oracle = oracle(self.set)
        check_is_oracle("oracle(S)", self.oracle)
        self.state = self.oracle.init(self.m)
        self.points: list[Array] = []  # w_1, ..., w_t
        self.revealed: list[Loss] = []  # f_1, ..., f_t
        self.losses: list[float] = []  # f_t(w_t)
        self.gradients: list[Array] = []  # g_t
        self._w: Array | None = None

    def point(self) -> Array:
        """w_t, the point of this round, the same until a loss is shown."""
        if self._w is None:
            w = self.domain.point(self.oracle.play(self.state, self.m))
            self._check_inside("`oracle` must play points of the domain", w, f" in round {len(self.losses) + 1}")
            self._w = w
        return _xp.copy(self._w)

    def learn(self, loss: Loss) -> None:
        """Show the loss of this round: a vector g for <g, w>, or a pair of functions, the value and a subgradient."""
        w = self.point()
        value, g = self._values(loss, w)
        self.state = self.oracle.learn(self.state, LinearLoss(s=-self.domain.flat(g), m=self.m, scale=1.0))
        self.points.append(w)
        self.revealed.append(loss if isinstance(loss, tuple) and callable(loss[0]) else g)
        self.losses.append(value)
        self.gradients.append(g)
        self._w = None

    def outcome(self, comparator: Array | None = None) -> Outcome:
        """Regret and bound so far, against the best fixed point or against ``comparator``, a point of the domain."""
        if not self.losses:
            raise ValueError("An outcome needs one round at least; `learn` was not called yet.")
        if comparator is None:
            u, best_loss, slack = self._best()
        else:
            u, slack = self._array("comparator", comparator), 0.0
            self._check_inside("`comparator` must be a point of the domain", u)
            best_loss = self._total(u)[0]
        return Outcome(
            name=getattr(self.oracle, "name", type(self.oracle).__name__),
            domain=self.domain,
            points=_xp.namespace(self.m).stack(self.points),
            losses=tuple(self.losses),
            best=u,
            best_loss=best_loss,
            slack=slack,
            bound=self._bound(u),
            reference=_reference(self._learner or self.oracle),
        )

    def _best(self) -> tuple[Array, float, float]:
        """The best fixed point, its loss, and how much less there may be.

        The regret against any point is at most that on the linear losses that the oracle saw, which is known exactly.
        """
        G = self._pulled(_sum(self.gradients))
        corner = self.set.minimize(G)
        if all(_xp.is_array(loss) for loss in self.revealed):
            return corner, self._total(corner)[0], 0.0
        linear = math.fsum(self._dot(g, w - corner) for g, w in zip(self.gradients, self.points, strict=True))
        u, value, gap = minimised(self.set, self._program, _sum(self.points) / len(self.points))
        return u, value, min(gap, max(0.0, linear - (math.fsum(self.losses) - value)))

    def _program(self, u: Coordinates) -> tuple[float, Coordinates]:
        value, g = self._total(u)
        return value, self._pulled(g)

    def _total(self, u: Array) -> tuple[float, Array]:
        """The sum of all losses at u, and a subgradient."""
        values, gradients = zip(*(self._values(loss, u) for loss in self.revealed), strict=True)
        return math.fsum(values), _sum(gradients)

    def _bound(self, u: Array) -> float:
        """What the oracle states against u; inf if nothing, or if it is not one over the set of the domain.

        Most state a bound against the identity, proved for every point: it is asked for on sets where u, or an expert
        in u, takes the place of the identity, unless the oracle would start elsewhere there than it did.
        """
        over = getattr(self.oracle, "set", getattr(self.oracle, "experts", None))
        if not _is_same(over, self.set) or not isinstance(self.oracle, (OverSet, OverExperts)):
            return math.inf
        pulled = [self._pulled(g) for g in self.gradients]
        if hasattr(self.oracle, "bound_against"):
            r, *norms = (float(np.linalg.norm(_xp.to_numpy(v))) for v in (u - self.points[0], *pulled))
            return float(self.oracle.bound_against(self.m, r, norms))
        if max(float(np.ptp(_xp.to_numpy(g))) for g in pulled) > getattr(self._learner, "scale", math.inf):
            return math.inf  # the range that was promised to `Squint`
        energy = math.fsum(self.domain.size(g) ** 2 for g in pulled)
        twins = [self.make(S) for S in self.domain.aimed(u)]
        first = _xp.to_numpy(self.points[0])
        starts = [_xp.to_numpy(self.domain.point(twin.play(twin.init(self.m), self.m))) for twin in twins]
        if not all(np.array_equal(start, first) for start in starts):
            return math.inf
        return max(float(twin.regret_bound(self.m, energy)) for twin in twins)  # type: ignore[attr-defined]

    @property
    def _learner(self) -> Any:
        return getattr(self.oracle, "learner", None)

    def _values(self, loss: Loss, w: Array) -> tuple[float, Array]:
        """The loss at w and a subgradient there."""
        if isinstance(loss, tuple) and len(loss) == 2 and all(map(callable, loss)):
            value, g = _value(loss[0](_xp.copy(w))), self._array("loss[1](w)", loss[1](_xp.copy(w)))
        else:
            g = self._array("loss", loss)
            value = self._dot(g, w)
        if not math.isfinite(value):
            raise ValueError(f"A loss must be finite on the domain; got {value}.")
        return value, g

    def _array(self, name: str, value: Any) -> Array:
        """A copy of the value as an array in the shape of a point; raise unless it is one, and finite."""
        try:
            found = _xp.copy((_xp.from_numpy if isinstance(value, np.ndarray) else _xp.like)(value, self.m))
        except (TypeError, ValueError) as error:
            if _xp.is_array(value):
                raise TypeError(
                    f"`{name}` must be an array of the library of the domain, NumPy unless `like` is given; "
                    f"got {brief(value)}."
                ) from error
            raise TypeError(
                f"`{name}` must be a vector of numbers, or a pair of functions, value and subgradient; "
                f"got {brief(value)}."
            ) from error
        if tuple(found.shape) != self.domain.shape:
            raise ValueError(f"`{name}` must have the shape of a point, {self.domain.shape}; got {tuple(found.shape)}.")
        if not _xp.all_finite(found):
            raise ValueError(f"`{name}` must be finite; got {brief(value)}.")
        return found

    def _pulled(self, g: Array) -> Coordinates:
        """A gradient in the coordinates of the set."""
        return self.set.pullback(self.domain.flat(g), self.m)

    def _dot(self, g: Array, w: Array) -> float:
        return float(np.vdot(_xp.to_numpy(g), _xp.to_numpy(w)))

    def _check_inside(self, rule: str, w: Array, when: str = "") -> None:
        """Raise unless w is in the domain; the coordinates of the set are those of the point."""
        near = _xp.to_numpy(self.set.project(w))
        far, size = float(np.linalg.norm(_xp.to_numpy(w) - near)), 1 + float(np.linalg.norm(near))
        if not far <= INSIDE * _xp.machine_eps(w) * size:
            raise ValueError(f"{rule}; the distance from {self.domain} is {far:.3g}{when}.")


def _is_same(over: Any, S: OperatorSet) -> bool:
    """Whether an oracle is over this set, or over a hull of the same operators."""
    if isinstance(over, Hull) and isinstance(S, Hull):
        return len(over.operators) == len(S.operators) and all(
            one is other for one, other in zip(over.operators, S.operators, strict=True)
        )
    return over is S


def play(
    oracle: Callable[[OperatorSet], Oracle], losses: Iterable[Loss], domain: Domain, comparator: Array | None = None
) -> Outcome:
    r"""Play an oracle of the library on your own convex losses: regret and bound.

    Args:
        oracle: what makes an oracle from a set: a class, as `o2nc.oracles.OGD`, or ``lambda S: OMD(S, eta=0.1)``.
        losses: one a round: a vector g, which is the linear loss $\langle g,w\rangle$, or a pair of functions, a convex
            $f(w)$ and a subgradient of it. To choose them after seeing points, use `Game`.
        domain: where points lie: `Simplex`, `Box`, `Ball` or `Spectral`.
        comparator: the point that the regret is against; the best one in hindsight if not given.

    Reference: Definition 1 (static regret minimization oracle).

    >>> from o2nc.oracles import OGD
    >>> from o2nc.online import Box
    >>> rng = np.random.default_rng(0)
    >>> print(play(OGD, rng.normal(size=(100, 3)), Box(3)))
    OGD on the box [-1, 1]^3, 100 rounds
    loss of the learner     -2.36508
    loss of the best point  -11.4266
    regret                  9.06153
    bound on the regret     86.4183, certified: Zinkevich (2003); for the step without eta, Streeter and McMahan (2010)
    """
    game = Game(oracle, domain)
    try:
        given = iter(losses)
    except TypeError:
        raise TypeError(f"`losses` must be a sequence of losses, one a round; got {brief(losses)}.") from None
    for loss in given:
        game.learn(loss)
    return game.outcome(comparator)


def _sum(arrays: Any) -> Array:
    total = arrays[0]
    for a in arrays[1:]:
        total = total + a
    return total


def _value(value: Any) -> float:
    """The value of a loss; raise unless it is one number."""
    try:
        return _xp.number(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`loss[0](w)` must be one number; got {brief(value)}.") from error


def _reference(learner: Any) -> str:
    """The first sentence of the reference in the docstring of a learner."""
    words = inspect.getdoc(type(learner)) or ""
    found = re.search(r"^Reference: (.*?)(?:\n\n|\Z)", words, flags=re.MULTILINE | re.DOTALL)
    return re.split(r"\. (?=[A-Z])|\.$", " ".join(found[1].split()))[0] if found else type(learner).__name__
