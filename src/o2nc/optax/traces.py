"""The practical rule on trees: with traces like the parameters, all or nothing, and without what sleeps."""

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .. import _xp
from .._xp import Array
from ..conversions import PracticalConversion
from ..conversions.by_block import blocks_of, taken
from ..conversions.mixtures import Groups, Seen, firsts, shares_of
from ..conversions.practical import PER_BLOCK, ROOM, PracticalState
from ..conversions.traces import counts
from ..directions import Direction, Numbers, OnMatrices
from ..states import ByBlock, leaves, rebuild
from ..vectors import Blocks, Vector, zeros_like


class Traces(NamedTuple):
    """The traces of all leaves."""

    shared: tuple[Blocks, ...]  # those that every leaf has
    own: ByBlock  # of each leaf the others: a matrix may have more than a vector


class PracticalOnTrees(PracticalConversion):
    """The same rule, which keeps as many traces as it can as vectors, in the place of a tuple for each block.

    How many that are depends on the experts alone, so that a state has one structure for all trees: every block has a
    trace for each direction that differs from the others where there is no matrix.

    Reference: none.

    >>> import numpy as np
    >>> x = Blocks((np.zeros((2, 2)), np.zeros(3)))
    >>> e = PracticalOnTrees(["muon", "soap"]).init(x).e
    >>> len(e.shared), [len(part) for part in e.own.parts]
    (1, [1, 0])
    """

    def init(self, x: Vector, *, tau: Any = None) -> PracticalState:
        """No gradient so far."""
        return self._apart(super().init(x))

    def update(
        self, s: Vector, state: PracticalState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, PracticalState]:
        """The step of the rule; nothing, if the gradient or a direction is not finite, or the gradient too large."""
        before = _together(state)
        dx, after = super().update(s, before, x)
        xp = _xp.namespace(after.regret)
        numbers = (*blocks_of(dx), after.regret)  # what is not finite in a direction is not in the move
        is_made = reduce(and_, (xp.all(xp.isfinite(a)) for a in numbers), (after.t > before.t)[0])
        dx, after = _chosen(is_made, (dx, after), (zeros_like(dx), before))
        return dx, self._apart(after)

    def sums(self, state: PracticalState) -> dict[str, Array]:
        """Those of the rule, and how many steps were made."""
        return {**super().sums(state), "steps": state.t}

    def _tracked(self, s: Vector, square: Array, lr: Array, state: PracticalState) -> PracticalState:
        """A gradient that does not fit is no step, which its count says."""
        xp = _xp.namespace(square)
        fits = xp.all(square <= ROOM * float(xp.finfo(square.dtype).max))
        found = super()._tracked(s, square, lr, state)
        return found._replace(t=xp.where(fits, found.t, state.t))

    def _direction(self, k: int, w: Array, m: Vector, groups: Groups, state: PracticalState) -> Vector:
        """Directions of matrices are computed if they are awake on any."""
        each, own, xp = self._directions[k], state.experts[k], _xp.namespace(w)
        mine = self._matrices(each, m) if len(self._directions) > 1 else []
        if not mine:
            return each.direction(own, m)

        def computed(own: Any, m: Blocks) -> tuple[Array, ...]:
            d = each.direction(own, m)
            return tuple(d.arrays[i] for i in mine)

        nothing: Any = lambda own, m: tuple(jnp.zeros_like(m.arrays[i]) for i in mine)
        awake = [
            counts(xp.concat(shares_of(w, same)), taken(m, state.n, rows)[:, None])[:, same[k]] > 0
            for rows, same in groups
            if set(rows) & set(mine)
        ]
        whole = jax.lax.cond(xp.any(xp.concat(awake)), computed, nothing, own, m)
        if len(mine) == len(m.arrays):
            return Blocks(whole)
        others = each.direction(own, m).arrays  # of which the matrices are not used, and jit leaves them out
        at = dict(zip(mine, whole, strict=True))
        return Blocks(tuple(at.get(i, a) for i, a in enumerate(others)))

    def _matrices(self, each: Direction, m: Vector) -> list[int]:
        """The blocks on which a direction is one of matrices."""
        if not isinstance(each, OnMatrices) or not isinstance(m, Blocks):
            return []
        return [i for i, on in enumerate(each.on(m)) if on is each]

    def _seen(self, w: Array, s: Vector, groups: Groups, state: PracticalState, unbiased: Numbers) -> list[Seen]:
        """Directions that are computed entry by entry are functions of the state, and need no memory of their own."""
        if any(each.whole for each in self._directions) or not isinstance(s, Blocks):
            return super()._seen(w, s, groups, state, unbiased)
        return [self._entrywise(rows, firsts(same), state, unbiased) for rows, same in groups]

    def _entrywise(self, rows: list[int], ks: list[int], state: PracticalState, unbiased: Numbers) -> Seen:
        experts, states = [self._directions[k] for k in ks], tuple(state.experts[k] for k in ks)
        kept = [value for _, value in leaves(states, kept=PER_BLOCK)]
        vectors = [state.m, *(value for value in kept if isinstance(value, Blocks))]
        numbers = [unbiased, *(value for value in kept if isinstance(value, Numbers))]

        def of(numbers: Sequence[Array], m: Array, *pieces: Array) -> list[Array]:
            unbiased, *others = numbers
            rest, own_numbers = iter(pieces), iter(others)

            def piece(value: Any) -> Any:
                if isinstance(value, Blocks):
                    return next(rest)
                return Numbers(next(own_numbers)) if isinstance(value, Numbers) else value

            own, hat = rebuild(states, map(piece, kept), PER_BLOCK), m * unbiased
            return [hat, *(each.direction(one, hat) for each, one in zip(experts, own, strict=True))]

        blocks = [tuple(v.arrays[i] for v in vectors) for i in rows]
        return Seen(blocks, of, [taken(state.m, c.values, rows) for c in numbers])

    def _apart(self, state: PracticalState) -> PracticalState:
        elsewhere = [each.fallback if isinstance(each, OnMatrices) else each for each in self._directions]
        n = len([each for k, each in enumerate(elsewhere) if each not in elsewhere[:k]]) if self.judges else 0
        shared = tuple(Blocks(tuple(part[j] for part in state.e.parts)) for j in range(n))
        traces: Any = Traces(shared, ByBlock(tuple(part[n:] for part in state.e.parts)))
        return state._replace(e=traces)


def _chosen(condition: Any, new: Any, old: Any) -> Any:
    """One of two trees, bit by bit."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def _together(state: PracticalState) -> PracticalState:
    traces: Any = state.e
    shared = [tuple(vector.arrays[i] for vector in traces.shared) for i in range(len(traces.own.parts))]
    return state._replace(e=ByBlock(tuple(a + b for a, b in zip(shared, traces.own.parts, strict=True))))
