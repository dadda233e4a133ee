r"""The practical rule: hedging between the directions of other optimizers, for training.

A round judges the last step by the new gradient, lets the learner learn from it, tracks the gradient, and moves. The
front ends run this rule on trees and tensors; ``tests/reference_practical.py`` has it in plain loops.

The learner and `charge` see K numbers. What there is once a block (counters, lengths) has shape (n,) for n `Blocks`,
and (..., 1) for an array.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..directions import Adam, Direction, Numbers, OnMatrices, find_all
from ..learners import Learner, ShortMemoryHedge
from ..learners.base import check_learner
from ..states import leaves, rebuild
from ..vectors import (
    Blocks,
    Vector,
    apply,
    check_like,
    check_vector,
    dimension,
    leaf,
    zero_scalar,
    zeros_like,
)
from .base import Conversion, check_given, registry

PRACTICAL = "practical: the learning rate is your own, and the learner states no bound, so no theorem applies"
COST = 0.4  # of a promise that is not kept, on top of what is missing
PER_BLOCK = (Blocks, Numbers)


class PracticalState(NamedTuple):
    """What the rule remembers between two steps."""

    t: Array  # the steps so far, (1,)
    m: Vector  # the tracker, the average gradient
    c1: Array  # its weight 1 - b1^t, with t counted from the first gradient of the block that is not 0
    q: Array  # the average mean square of the gradient of a block
    c2: Array  # its weight 1 - b2^t
    f: Array  # the factor of the tracker in u
    played: Array  # the learning rate of the last step; 0 where there was none
    experts: tuple[Any, ...]  # the states of the directions
    d: tuple[Vector, ...]  # the last directions of those that need a whole block; others are computed again
    learner: Any  # the state of the learner
    regret: Array  # what the mixture was charged minus what each expert was, (..., K)


class Judgement(NamedTuple):
    """What a gradient says of the last step."""

    kept: Array  # what is left of what each expert had promised, (..., K)
    promised: Array  # what that was, (..., K)
    square: Array  # the mean square of the gradient of a block
    f: Array  # the factor at which the tracker would have promised what Adam's direction did; 0 if there is none


class LastStep(NamedTuple):
    """What `judge` needs to know of a step, of all blocks or of one."""

    s: Vector  # the gradient where it ended
    m: Vector  # the tracker of the step
    c1: Numbers
    f: Numbers
    played: Numbers
    experts: tuple[Any, ...]  # the states of the directions that are computed again
    d: tuple[Vector, ...]  # the directions that were kept


def charge(kept: Array, promised: Array) -> Array:
    r"""What experts are charged: $\ell_k=-\bigl(g_k-\tfrac25(p_k-g_k)\bigr)/\max_jp_j$, with $|g_k|\le|p_k|$.

    To first order expert k had promised the decrease $p_k$, and the next gradient finds that $g_k$ of it was kept. What
    was kept counts, and what was not costs two fifths of itself on top. If nobody promised anything, losses are 0.

    Args:
        kept: g, of shape (..., K).
        promised: p, of shape (..., K).

    Reference: not in the paper; `tests/reference_practical.py`.

    >>> import numpy as np
    >>> charge(np.asarray([4.0, 1.0, -9.0]), np.asarray([2.0, 4.0, 1.0])).round(3)
    array([-0.5 ,  0.05,  0.45])
    """
    xp, bound = _xp.namespace(kept), _xp.namespace(kept).abs(promised)
    kept = xp.minimum(xp.maximum(kept, -bound), bound)
    return -(kept - COST * (promised - kept)) * _xp.inverse(_xp.largest(promised))


def counted(c: Array, b: Any, begun: Array) -> Array:
    """The weight 1 - b^t of an average after one more round, if the rounds of its block have begun."""
    xp = _xp.namespace(c)
    return xp.where(begun, b * c + (1 - b), xp.zeros_like(c))


def length(f: Array, q: Array, c2: Array) -> Array:
    """The factor of the tracker in u: what the judgement found, else one over the root mean square of the past."""
    xp = _xp.namespace(f)
    return xp.where(f > 0, f, xp.sqrt(c2 * _xp.inverse(q)))


def rate(lr: Any) -> Any:
    """A learning rate of a schedule: raise if it is a number that is not finite, or negative; in an array that is 0.

    Arrays may have no value yet, under ``jit``. With a rate of 0 a step moves nothing and promises nothing.

    >>> import numpy as np
    >>> rate(np.asarray([0.1, np.nan, -1.0]))
    array([0.1, 0. , 0. ])
    """
    if not _xp.is_array(lr):
        for value in lr if isinstance(lr, tuple) else (lr,):
            check_number("lr", value)
        return lr
    xp = _xp.namespace(lr)
    return xp.where(xp.isfinite(lr) & (lr >= 0), lr, xp.zeros_like(lr))


@dataclass(frozen=True, eq=False)
class PracticalConversion(Conversion):
    r"""Weighs the directions of other optimizers by how well they keep what they promise.

    $$x\leftarrow(1-lr\,\lambda)\,x-lr\sum_kw_kd_k,\qquad m\leftarrow b_1m+(1-b_1)s.$$

    The gradient at the end of a step judges the step: expert k had promised a decrease of
    $p_k=lr\langle\hat m,d_k\rangle$, of which the new gradient finds $g_k=lr\langle s,d_k\rangle$, and is charged as
    `charge` says. The learner makes the weights of these losses. Scale-free directions see the tracker $\hat m$ without
    the weight of its zero start, and are played as they are. The others see $u=f\hat m$, with the factor f of the block
    at which it would have promised what `Adam` did in the last step, $f=\langle\hat m,d\rangle/\langle\hat m,\hat m
    \rangle$; in the first step, and where no expert is `Adam`, $f=1/\sqrt{\hat q}$ with the average $\hat q$ of $s^2$
    over the block and its past. Gradients of a block before the first that is not 0 count for nothing.

    Args:
        experts: names of `o2nc.directions.registry`, directions, or functions of u.
        lr: the learning rate, that of AdamW: a number, one a block, or a schedule of the steps so far; a value of an
            array that is not finite, or negative, counts as 0.
        b1: the discount of the tracker.
        b2: the discount of squared gradients, also that of directions given by name.
        eps: of directions given by name.
        weight_decay: $\lambda$, decoupled.
        learner: over K losses.
        matrices: for each block, whether directions of matrices may take it as one; by default all may.

    Reference: not in the paper, and without a certificate; `tests/reference_practical.py` has it in plain loops.

    >>> import numpy as np
    >>> conversion, x = PracticalConversion(["momentum", "adam"], lr=0.1), np.asarray([2.0, -1.0])
    >>> state = conversion.init(x)
    >>> for _ in range(50):
    ...     dx, state = conversion.update(2 * x, state, x)
    ...     x = x + dx
    >>> bool(np.max(np.abs(x)) < 0.3), conversion.weights(state).shape
    (True, (2,))
    """

    experts: Sequence[str | Direction | Callable] = ("momentum", "adam", "polar")
    lr: Any = 1e-3
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    learner: Learner = field(default_factory=lambda: ShortMemoryHedge(rho=0.99, c=10.0))
    matrices: Sequence[bool] | None = None

    def __post_init__(self) -> None:
        numbers = {"b1": check_share, "b2": check_share, "eps": check_number, "weight_decay": check_number}
        if not callable(self.lr) and not isinstance(self.lr, tuple):
            numbers["lr"] = check_number
        for name, check in numbers.items():
            if not _xp.is_array(getattr(self, name)):  # an array may have no value yet
                check(f"PracticalConversion({name}=...)", getattr(self, name))
        experts = find_all(self.experts, b2=self.b2, eps=self.eps)
        if self.matrices is not None:
            experts = [replace(e, matrices=self.matrices) if isinstance(e, OnMatrices) else e for e in experts]
        object.__setattr__(self, "experts", tuple(experts))
        check_learner("PracticalConversion(learner=...)", self.learner, len(experts))

    @property
    def needs(self) -> frozenset[str]:
        """The point, if weights decay."""
        decays = _xp.is_array(self.weight_decay) or self.weight_decay > 0
        return frozenset({"x"} if decays else ())

    def init(self, x: Vector, *, tau: Any = None) -> PracticalState:
        """No gradient so far."""
        check_vector("x", x)
        zero = Numbers.zeros(x).values
        losses = _xp.zeros((*zero_scalar(x).shape[:-1], len(self.experts)), leaf(x))
        return PracticalState(
            t=_xp.first_round(leaf(x)) - 1,
            m=zeros_like(x),
            c1=zero,
            q=zero,
            c2=zero,
            f=zero,
            played=zero,
            experts=tuple(expert.init(x) for expert in self._directions),
            d=tuple(zeros_like(x) for expert in self._directions if expert.whole),
            learner=self.learner.init(losses),
            regret=losses,
        )

    def update(
        self, s: Vector, state: PracticalState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, PracticalState]:
        """Judge the last step by the gradient s, learn, track, and move."""
        check_like("s", s, state.m)
        check_given(self, x=x)
        judgement, w = self.judge(s, state), self.weights(state)
        losses = charge(judgement.kept, judgement.promised)
        learned = self.learner.learn(state.learner, losses)
        regret = state.regret + _xp.inner(w, losses) - losses
        w = self.learner.weights(learned)
        s = apply(lambda a: _xp.after(a, w), s)
        lr = _xp.like(rate(self.lr(state.t[0]) if callable(self.lr) else self.lr), leaf(s))
        tracked = self.track(s, lr, judgement, state)._replace(learner=learned, regret=regret)
        dx, after = self.move(w, tracked)
        return (dx - Numbers(self.weight_decay * lr + 0 * after.played).times(x) if self.needs else dx), after

    def weights(self, state: PracticalState) -> Array:
        """w, of shape (..., K)."""
        return self.learner.weights(state.learner)

    def sums(self, state: PracticalState) -> dict[str, Array]:
        """The regret against each expert, (..., K)."""
        return {"regrets": state.regret}

    def hypothesis(self, rounds: int | None = None) -> str:
        """The step, the samples and the learner are not those of a theorem."""
        return PRACTICAL

    def judge(self, s: Vector, state: PracticalState) -> Judgement:
        """What the gradient s says of the step that led to it."""
        experts = tuple(() if e.whole else own for e, own in zip(self._directions, state.experts, strict=True))
        c1, f, played = (Numbers(values) for values in (state.c1, state.f, state.played))
        step = LastStep(s, state.m, c1, f, played, experts, state.d)
        blocks = [_block(step, i) for i in range(len(s.arrays))] if isinstance(s, Blocks) else [step]
        kept = promised = 0 * state.regret
        square, found, concat = [], [], _xp.namespace(state.regret).concat
        for one, adam in zip(blocks, self._adam(s), strict=True):
            ss, mm, *products = self._products(one)
            kept = kept + concat(products[::2], axis=-1) * one.played.values
            hats = one.played.values * _xp.inverse(one.c1.values)
            promised = promised + concat(products[1::2], axis=-1) * hats
            square.append(ss / max(dimension(one.s), 1))
            found.append(0 * mm if adam is None else one.c1.values * products[2 * adam + 1] * _xp.inverse(mm))
        return Judgement(kept, promised, concat(square, axis=-1), concat(found, axis=-1))

    def track(self, s: Vector, lr: Array, judgement: Judgement, state: PracticalState) -> PracticalState:
        """Average the gradient in, and show it to the directions."""
        b1, b2 = self.b1, self.b2
        begun = (state.c1 > 0) | (judgement.square > 0)
        q, c2 = b2 * state.q + (1 - b2) * judgement.square, counted(state.c2, b2, begun)
        pairs = zip(self._directions, state.experts, strict=True)
        return state._replace(
            t=state.t + 1,
            m=apply(lambda m, a: b1 * m + (1 - b1) * a, state.m, s),
            c1=counted(state.c1, b1, begun),
            q=q,
            c2=c2,
            f=length(judgement.f, q, c2),
            played=lr * _xp.indicator(begun, lr),
            experts=tuple(_chosen(begun, expert.learn(before, s), before) for expert, before in pairs),
        )

    def move(self, w: Array, state: PracticalState) -> tuple[Vector, PracticalState]:
        """The displacement along the mixture of the directions, and the state with those to keep."""
        found = self._played(state.m, Numbers(state.c1), Numbers(state.f), state.experts, None)
        step = found[0] * w[..., :1]
        for k, d in enumerate(found[1:], start=1):
            step = step + d * w[..., k : k + 1]
        kept = tuple(d for d, expert in zip(found, self._directions, strict=True) if expert.whole)
        return Numbers(-state.played).times(step), state._replace(d=kept)

    @property
    def _directions(self) -> tuple[Direction, ...]:
        return self.experts  # type: ignore[return-value]

    def _played(self, m: Vector, c1: Numbers, f: Numbers, experts: Sequence[Any], kept: Any) -> list[Vector]:
        """The directions for the tracker m: scale-free ones see m^, the others u; whole ones are ``kept``, if given."""
        hat = c1.map(_xp.inverse).times(m)
        u, last = f.times(hat), iter(kept or ())
        pairs = zip(self._directions, experts, strict=True)
        return [next(last) if kept and e.whole else e.direction(own, hat if e.scale_free else u) for e, own in pairs]

    def _products(self, step: LastStep) -> list[Array]:
        """<s, s> and <m, m> of one block, and for the last direction d of each expert <s, d> and <m, d>."""
        inside = [v for _, v in leaves(step, kept=PER_BLOCK)]

        def terms(*pieces: Array) -> list[Array]:
            new = iter(pieces)
            filled = (Blocks((next(new),)) if isinstance(v, Blocks) else v for v in inside)
            s, m, c1, f, _, experts, kept = rebuild(step, filled, PER_BLOCK)
            ds = [leaf(d) for d in self._played(m, c1, f, experts, kept)]
            return [leaf(s) ** 2, leaf(m) ** 2, *(a * d for d in ds for a in (leaf(s), leaf(m)))]

        if isinstance(step.s, Blocks):
            return _xp.sums(terms, *(v.arrays[0] for v in inside if isinstance(v, Blocks)))
        return [_xp.namespace(term).sum(term, axis=-1, keepdims=True) for term in terms()]

    def _adam(self, s: Vector) -> list[int | None]:
        """For each block, which expert plays the direction of `Adam`, if any does."""
        n = len(s.arrays) if isinstance(s, Blocks) else 1
        on = [e.on(s) if isinstance(e, OnMatrices) and isinstance(s, Blocks) else (e,) * n for e in self._directions]
        return [next((k for k, blocks in enumerate(on) if isinstance(blocks[i], Adam)), None) for i in range(n)]


def _block(state: Any, i: int) -> Any:
    """What a state has to say of block i of `Blocks`."""

    def part(v: Any) -> Any:
        if isinstance(v, Blocks):
            return Blocks((v.arrays[i],))
        return v.map(lambda values: values[i : i + 1]) if isinstance(v, Numbers) else v

    return rebuild(state, (part(v) for _, v in leaves(state, kept=PER_BLOCK)), PER_BLOCK)


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


registry.add("practical", lambda oracle: PracticalConversion(["adam", "sign"], lr=0.05), "the rule for training")
