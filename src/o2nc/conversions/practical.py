r"""The practical rule: hedging between the directions of other optimizers, for training.

A round judges the traces of the experts by the new gradient, tracks the gradient, and moves; what was learned serves
the next round. The front ends run this rule on trees and tensors; ``tests/reference_practical.py`` has it in loops.

The learner sees K numbers. What there is once a block (counters, rates) has shape (n,) for n `Blocks`, and (..., 1) for
an array.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple, cast

from .. import _xp
from .._xp import Array, xla
from ..checks import check_decay, check_number, check_share
from ..directions import Direction, Numbers, OnMatrices, find_all
from ..learners import Learner, ShortMemoryHedge
from ..learners.base import check_learner
from ..states import ByBlock, leaves, rebuild
from ..vectors import Blocks, Vector, apply, check_like, check_vector, leaf, zero_scalar, zeros_like
from .base import Conversion, check_given, registry
from .by_block import beside, blocks_of, in_order, sums, taken
from .mixtures import Groups, Seen, check_finite, factors, firsts, shares_of
from .rates import rate
from .scales import FixedScale, LearnedScale, Scale
from .traces import discount

PRACTICAL = "practical: the step is not that of a theorem, and the learner states no bound, so none applies"
SIGHT, RHO, RATE = 2.0, 0.997, 3.0  # of the traces; the discount of the learner, and the factor of its rate
ROOM = 1e-6  # of the largest number, for squares of gradients: traces sum many directions, and have inner products
START = 1e-2  # the learning rate where a learned scale starts, if none is given
PER_BLOCK = (Blocks, Numbers)


class PracticalState(NamedTuple):
    """What the rule remembers between two steps."""

    t: Array  # the steps so far, (1,)
    m: Vector  # the tracker, the average gradient
    n: Array  # the steps of a block, counted from its first gradient that is not 0
    played: Array  # the rate of the last move of a block; 0 if there was none
    experts: tuple[Any, ...]  # the states of the directions
    e: ByBlock  # for each block, the traces of the directions that differ on it; none if there is nothing to judge
    learner: Any  # the state of the learner
    scale: Any  # that of the scale
    regret: Array  # what the mixture was charged minus what each expert was, (..., K)
    ahead: Array  # the last of these differences
    error: Array  # the standard error of the regret: the root of half the sum of the squares of their changes


@dataclass(frozen=True, eq=False)
class PracticalConversion(Conversion):
    r"""Weighs the directions of other optimizers by what their last steps would still be worth.

    $$x\leftarrow(1-\eta\lambda)\,x-\eta\,u,\qquad u\propto\sum_kw_kd_k,\qquad\eta=lr\,\sigma,\qquad
    m\leftarrow b_1m+(1-b_1)s.$$

    Every expert has a trace $e_k\leftarrow\gamma_ne_k+d_k$ of its directions, $\gamma_n=1-1/(10+\mathrm{sight}\cdot n)$
    in step n, so that it sees as far back as the run is long, or a part of that. A new gradient charges it
    $\ell_k=-\eta\langle s,e_k\rangle$, to first order what the last steps along expert k would change now; what swings
    across a valley cancels in the trace. The learner makes the weights of these losses, and the scale $\sigma$ grows
    while the mixture $-\sum_kw_k\ell_k$ would still help. Both serve the next step: they lag by one, so that a step may
    judge and move in one pass.

    If all experts have one direction on a block, u is that one, at its own length. If not, each is brought to a root
    mean square of 0.2, and so is their mixture, since directions that disagree shorten each other. One whose weight is
    below a hundredth of the largest sleeps: it is left out of the mixture, and in every tenth step its trace counts it
    ten times, so that it need be computed no more often. Directions see the tracker $\hat m$ without the weight of its
    zero start; those that look ahead (`o2nc.directions.Muon`) see $b_1m+(1-b_1)s$ in its place. Below ``eps`` a mixture
    fades. Gradients of a block before the first that is not 0 count for nothing.

    Args:
        experts: names of `o2nc.directions.registry`, directions, or functions of $\hat m$.
        lr: the learning rate, that of AdamW: a number, one a block, or a schedule of the steps so far; a value of an
            array that is not finite, or negative, or at least $1/\lambda$, counts as 0.
        b1: the discount of the tracker.
        b2: the discount of the squared gradients of Adam, if it is given by name.
        eps: of directions given by name, and the size of a tracker below which a mixture fades.
        weight_decay: $\lambda$, decoupled; lr times it is less than 1, and a learned scale lets at most half of a
            weight decay in a step, or what lr alone lets.
        sight: the part of the steps so far that traces see; 0 for the last ten steps, None for the last one only.
        learner: over K losses.
        scale: `FixedScale` or `LearnedScale`.
        matrices: for each block, whether directions of matrices may take it as one; by default all may.

    Reference: not in the paper, and without a certificate; `tests/reference_practical.py` has it in plain loops.

    >>> import numpy as np
    >>> conversion, x = PracticalConversion(["momentum", "adam"], lr=0.1), np.asarray([2.0, -1.0])
    >>> state = conversion.init(x)
    >>> for _ in range(80):
    ...     dx, state = conversion.update(2 * x, state, x)
    ...     x = x + dx
    >>> bool(np.max(np.abs(x)) < 0.5), conversion.weights(state).shape
    (True, (2,))
    """

    experts: Sequence[str | Direction | Callable] = ("muon", "soap")
    lr: Any = START
    b1: float = 0.95
    b2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    sight: float | None = SIGHT
    learner: Learner = field(default_factory=lambda: ShortMemoryHedge(rho=RHO, c=RATE))
    scale: Scale = field(default_factory=FixedScale)
    matrices: Sequence[bool] | None = None

    def __post_init__(self) -> None:
        shares, numbers = ("b1", "b2"), ("eps", "weight_decay", *(() if self.sight is None else ("sight",)))
        checks = dict.fromkeys(shares, check_share) | dict.fromkeys(numbers, check_number)
        if not callable(self.lr) and not isinstance(self.lr, tuple):
            checks["lr"] = check_number
        for name, check in checks.items():
            if not _xp.is_array(getattr(self, name)):  # an array may have no value yet
                check(f"PracticalConversion({name}=...)", getattr(self, name))
        if isinstance(self.lr, (int, float, tuple)) and not _xp.is_array(self.weight_decay):
            for lr in self.lr if isinstance(self.lr, tuple) else (self.lr,):
                check_decay("PracticalConversion(lr=...)", lr, self.weight_decay)
        experts = find_all(self.experts, b2=self.b2, eps=self.eps)
        if self.matrices is not None:
            experts = [replace(e, matrices=self.matrices) if isinstance(e, OnMatrices) else e for e in experts]
        object.__setattr__(self, "experts", tuple(experts))
        check_learner("PracticalConversion(learner=...)", self.learner, len(experts))
        if not all(callable(getattr(self.scale, name, None)) for name in ("init", "factor", "learn")):
            got = repr(self.scale)
            raise TypeError(f"`PracticalConversion(scale=...)` must be a FixedScale or a LearnedScale; got {got}.")

    @property
    def needs(self) -> frozenset[str]:
        """The point, if weights decay."""
        decays = _xp.is_array(self.weight_decay) or self.weight_decay > 0
        return frozenset({"x"} if decays else ())

    def init(self, x: Vector, *, tau: Any = None) -> PracticalState:
        """No gradient so far."""
        check_vector("x", x)
        zero, blocks = Numbers.zeros(x).values, blocks_of(x)
        losses = _xp.zeros((*zero_scalar(x).shape[:-1], len(self.experts)), leaf(x))
        differing = (len(set(same)) if self.judges else 0 for same in self._same(x))
        return PracticalState(
            t=_xp.first_round(leaf(x)) - 1,
            m=zeros_like(x),
            n=zero,
            played=zero,
            experts=tuple(expert.init(x) for expert in self._directions),
            e=ByBlock(tuple((_xp.namespace(a).zeros_like(a),) * n for a, n in zip(blocks, differing, strict=True))),
            learner=self.learner.init(losses),
            scale=self.scale.init(zero_scalar(x)),
            regret=losses,
            ahead=losses,
            error=losses,
        )

    def update(
        self, s: Vector, state: PracticalState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, PracticalState]:
        """Judge the traces by the gradient s, track, move, and learn for the next step."""
        check_like("s", s, state.m)
        check_given(self, x=x)
        w, square, losses = self.weights(state), *self._judged(s, state)
        lr, decay = self._rates(state)
        lr = lr * self.scale.factor(state.scale, decay)
        tracked = self._tracked(s, square, lr, state)
        dx, e = self._moved(w, s, tracked)
        had = _xp.inner(w, losses)
        after = tracked._replace(
            e=e,
            learner=self.learner.learn(state.learner, losses),
            scale=self.scale.learn(state.scale, -had, decay),
            regret=state.regret + (had - losses),
            ahead=had - losses,
            error=_xp.hypot(state.error, (had - losses - state.ahead) * math.sqrt(0.5)),
        )
        return (dx - Numbers(self.weight_decay * lr + 0 * after.played).times(x) if self.needs else dx), after

    def weights(self, state: PracticalState) -> Array:
        """w, of shape (..., K)."""
        return self.learner.weights(state.learner)

    def factor(self, state: PracticalState) -> Array | float:
        """The factor of the learning rate in the next step, of shape (..., 1), or 1."""
        return self.scale.factor(state.scale)

    def _rates(self, state: PracticalState) -> tuple[Array, Array | None]:
        """The learning rate of the next step, and the largest share of a weight that decays with it alone."""
        given = rate(self.lr(state.t[0]) if callable(self.lr) else self.lr, self.weight_decay)
        lr, xp = _xp.like(given, leaf(state.m)), _xp.namespace(state.t)
        if not self.needs:
            return lr, None
        decay = lr * self.weight_decay
        lr = xp.where(decay < 1, lr, xp.zeros_like(lr))
        return lr, decay if decay.ndim == 0 else _xp.largest(decay)

    def sums(self, state: PracticalState) -> dict[str, Array]:
        r"""The regret against each expert, and its standard error by the noise of the gradients, (..., K).

        Traces change slowly, and noise is new in every round: half the mean square of the differences from round to
        round is its variance, whatever the trend (von Neumann, 1941).
        """
        capped = {"capped": state.scale.capped} if isinstance(self.scale, LearnedScale) else {}
        return {"regrets": state.regret, "errors": state.error, **capped}

    def hypothesis(self, rounds: int | None = None) -> str:
        """The step, the samples and the learner are not those of a theorem."""
        return PRACTICAL

    @property
    def judges(self) -> bool:
        """Whether there is anything to learn: several experts, or a scale."""
        return len(self.experts) > 1 or not isinstance(self.scale, FixedScale)

    @property
    def _looks_ahead(self) -> bool:
        return any(getattr(each, "looks_ahead", False) for each in self._directions)

    @property
    def _directions(self) -> tuple[Direction, ...]:
        return self.experts  # type: ignore[return-value]

    def _judged(self, s: Vector, state: PracticalState) -> tuple[Array, Array]:
        """The sum of s^2 of each block, and what the experts are charged, (..., K)."""
        squares, losses, xp = [], 0 * state.regret, _xp.namespace(state.regret)
        for rows, same in (groups := self._groups(s)):
            blocks = [(blocks_of(s)[i], *state.e.parts[i]) for i in rows]
            square, *products = sums(s, lambda _, a, *traces: [a * a, *(a * e for e in traces)], blocks)
            squares.append(square)
            if products:
                charged = [product * taken(s, state.played, rows) for product in products]
                if isinstance(s, Blocks):
                    charged = [xp.sum(each, axis=-1, keepdims=True) for each in charged]
                losses = losses - xp.concat([charged[j] for j in same], axis=-1)
        return in_order(squares, [rows for rows, _ in groups]), losses

    def _tracked(self, s: Vector, square: Array, lr: Array, state: PracticalState) -> PracticalState:
        """Average the gradient in, and show it to the directions."""
        b1, pairs = self.b1, zip(self._directions, state.experts, strict=True)
        begun = (state.n > 0) | (square > 0)
        return state._replace(
            t=state.t + 1,
            m=apply(lambda m, a: b1 * m + (1 - b1) * a, state.m, s),
            n=state.n + _xp.indicator(begun, state.n),
            played=lr * _xp.indicator(begun, lr),
            experts=tuple(_chosen(begun, expert.learn(before, s), before) for expert, before in pairs),
        )

    def _moved(self, w: Array, s: Vector, state: PracticalState) -> tuple[Vector, ByBlock]:
        """The displacement along the mixture of the directions, and the traces with them."""
        gamma, steps, parts, b1 = discount(self.sight, state.n), {}, {}, cast(Any, self.b1)
        groups = self._groups(s)
        found = self._seen(w, s, groups, state, Numbers(_xp.inverse(1 - b1**state.n)))
        for (rows, same), seen in zip(groups, found, strict=True):
            mix, lengths = self._factors(s, seen, shares_of(w, same), taken(s, state.n, rows))
            for k, i in enumerate(rows):
                _, *ds = seen.found(k)
                u = reduce(add, (d * beside(s, c, k, d) for d, c in zip(ds, mix, strict=True)))
                steps[i] = -u * beside(s, state.played, i, u)
                if traces := state.e.parts[i]:
                    _, *ds = seen.found(k, xla.again)
                old, kept = beside(s, gamma, i, u), zip(traces, ds, lengths, strict=self.judges)
                parts[i] = tuple(old * e + d * beside(s, c, k, d) for e, d, c in kept)
        moves, e = (tuple(each[i] for i in sorted(each)) for each in (steps, parts))
        return Blocks(moves) if isinstance(s, Blocks) else moves[0], ByBlock(e)

    def _seen(self, w: Array, s: Vector, groups: Groups, state: PracticalState, unbiased: Numbers) -> list[Seen]:
        """The trackers and the directions that differ, of each group of blocks."""
        b1, m = self.b1, unbiased.times(state.m)
        ahead = apply(lambda m, a: b1 * m + (1 - b1) * a, m, unbiased.times(s)) if self._looks_ahead else m
        views = [shown(each, m, ahead) for each in self._directions]
        found = [blocks_of(self._direction(k, w, view, groups, state)) for k, view in enumerate(views)]
        hats = blocks_of(m)
        return [
            Seen([(hats[i], *(found[k][i] for k in firsts(same))) for i in rows], lambda _, *arrays: arrays)
            for rows, same in groups
        ]

    def _direction(self, k: int, w: Array, m: Vector, groups: Groups, state: PracticalState) -> Vector:
        """The direction of expert k, which need not be right where it sleeps."""
        d = self._directions[k].direction(state.experts[k], m)
        check_finite(self._directions[k].name, blocks_of(d), blocks_of(m))
        return d

    def _factors(self, s: Vector, seen: Seen, shares: list[Array], n: Array) -> tuple[Any, Any]:
        """With what the directions of blocks are multiplied; a single one is played and judged as it is."""
        if len(shares) == 1:
            return [1.0], [1.0]
        totals = sums(s, seen.products, seen.blocks, seen.numbers)
        if not isinstance(s, Blocks):
            return factors([total / max(seen.blocks[0][0].shape[-1], 1) for total in totals], shares, n, self.eps)
        sizes = _xp.like([float(max(math.prod(arrays[0].shape), 1)) for arrays in seen.blocks], n)
        found = factors([(total / sizes)[:, None] for total in totals], shares, n[:, None], self.eps)
        mix, lengths = ([each[:, 0] for each in part] for part in found)
        return mix, lengths

    def _groups(self, x: Vector) -> Groups:
        """The blocks on which the same experts have the same direction, and for each expert the number of its own."""
        found: dict[tuple[int, ...], list[int]] = {}
        for i, same in enumerate(self._same(x)):
            found.setdefault(tuple(same), []).append(i)
        return [(rows, list(same)) for same, rows in found.items()]

    def _same(self, x: Vector) -> list[list[int]]:
        """For each block and expert the number of its direction, among those that differ on the block."""
        n = len(blocks_of(x))
        on = [e.on(x) if isinstance(e, OnMatrices) and isinstance(x, Blocks) else (e,) * n for e in self._directions]
        found = []
        for directions in zip(*on, strict=True):
            differing = [d for k, d in enumerate(directions) if d not in directions[:k]]
            found.append([differing.index(d) for d in directions])
        return found


def shown(direction: Direction, m: Vector, ahead: Vector) -> Vector:
    """What a direction sees: m, or what is one sample ahead if it looks ahead, which its fallback does not.

    >>> import numpy as np
    >>> from o2nc.directions import Muon
    >>> m, ahead = (Blocks((np.full((1, 1), c), np.full(1, c))) for c in (0, 1))
    >>> shown(Muon(), m, ahead)
    Blocks(arrays=(array([[1]]), array([0])))
    """
    if not getattr(direction, "looks_ahead", False):
        return m
    return direction.seen(ahead, m) if isinstance(direction, OnMatrices) else ahead


def _chosen(begun: Array, new: Any, old: Any) -> Any:
    """The new state of a direction for blocks whose rounds have begun, the old one for others."""

    def choose(new: Any, old: Any) -> Any:
        where = _xp.namespace(begun).where
        if new is old or not isinstance(new, PER_BLOCK):
            return new
        if isinstance(new, Numbers):
            return Numbers(where(begun, new.values, old.values))
        return apply(where, Numbers(begun).beside(new), new, old)

    values = zip(*([v for _, v in leaves(one, kept=PER_BLOCK)] for one in (new, old)), strict=True)
    return rebuild(new, (choose(*pair) for pair in values), PER_BLOCK)


registry.add(
    "practical",  # of one expert: a mixture has a length on each block, so that Blocks are not one array
    lambda oracle: PracticalConversion(["adam"], lr=0.05, scale=LearnedScale()),
    "the rule for training",
)
