"""A step of `Hedged`: gradients and directions are checked, then every bucket is looked at, and moved.

The weights and the scale of a step were learned before it. So nothing waits for its losses, and what is found on one
tensor matters for no other: once nothing can fail, a part of the model is looked at and moved before the next one is.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.graph import increment_version

from .._xp import inverse
from ..conversions.traces import SLEEPY, counts, discount
from ..directions.base import LENGTH
from .kernels import View, compiled, look_at, move_all, sums
from .shards import local, totals
from .stacks import Bucket, Part, Stack, flat
from .state import Table
from .stored import Stored, fitted, point
from .weights import Floats

Tensor = torch.Tensor
NORMAL = torch.finfo(torch.float32).smallest_normal
NONE = np.zeros(0, int)


class Numbers(NamedTuple):
    """What is known of a step before it is made, by row."""

    t: Floats  # steps, with this one
    rate: Floats
    w: Floats  # the weights of the experts
    shares: Floats  # ... and of the kernels
    times: Floats  # how often each kernel counts in its trace: 0 if it sleeps
    hat: Floats  # the factor of m^
    own: Floats  # the factors of the arrays of kernels
    eps: Floats
    known: Floats  # eps in the units of the root and of m, then and now; the discount of traces, what decay leaves


class Step:
    """A step with the gradients ``s`` of the parameters in ``rows``.

    Args:
        table: of the optimizer.
        s: the gradients, by row.
        rows: which parameters have one.
        compile: whether the work on a bucket is compiled.

    Reference: `o2nc.conversions.PracticalConversion`, which must agree.
    """

    def __init__(self, table: Table, s: Sequence[Any], rows: tuple[int, ...], compile: bool):
        self.table, self.s, self.compile = table, s, compile
        self.rows, self.chosen, self.narrow, self.parts = table.layout(rows)
        self.look: Any
        self.shift: Any
        self.look, self.shift = compiled() if compile else (look_at, move_all)
        self.rates: dict[Any, Any] = {}
        self.rooms: dict[Any, tuple[Any, list[Any]]] = {}
        self.memory: dict[Any, Tensor] = {}

    def check(self, there: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The sums of s^2, and whether there are gradients, on all processes together; ``there`` is of this one."""
        buckets = [bucket for part in self.parts for bucket in part.buckets]
        squares = flat([sums(s, s) for s in (bucket.by_row(self._sample(bucket)) for bucket in buckets)])
        mine: Any = np.bincount(np.concatenate([NONE, *(part.rows for part in self.parts)]), squares, len(there))
        if self.table.is_cut:
            mine, there = self._totals(np.stack((mine, there), 1)).T
        return mine, there > 0

    def prepare(self, squares: Floats) -> str:
        """Compute what may fail, before anything is written; returns what is wrong with it, or nothing."""
        self.numbers = self._numbers(squares)
        self.stored = Stored(self.table, self.s, self.chosen, self.numbers.hat, self.numbers.times)
        return self.stored.objection()

    def move(self) -> None:
        """Update the trackers and the directions, move along their mixtures, and learn for the next step."""
        table, narrow = self.table, self.narrow
        held = map(local, table.params) if table.is_cut else (p.detach() for p in table.params)
        self.x = [p if x is None else x for p, x in zip(held, table.tensors["x"], strict=True)]
        for row in narrow:  # where a parameter is no longer the rounding of its point, the point follows
            self.x[row].copy_(point(table, row))
        self.stored.write()
        losses: Any = sum(self._moved(part) for part in self.parts)
        for row in narrow:
            local(table.params[row]).copy_(self.x[row])
        table.learn(losses, self.numbers.w)
        table.t[...] = self.numbers.t
        table.played[self.rows] = (self.numbers.rate * (self.numbers.t > 0))[self.rows]

    def _numbers(self, squares: Floats) -> Numbers:
        table, rows = self.table, self.rows
        b1, b2, lr, eps, decay, sight = table.options()
        t = table.t.copy()
        t[rows] += (t[rows] > 0) | (squares[rows] > 0)  # zeros before the first do not count
        has_begun, w, rate = t > 0, table.weights(), lr * table.factor()
        left, root = started(b1, t), np.sqrt(started(b2, t))
        hat, floor, low = has_begun / left, root * eps, np.maximum(eps * left, NORMAL)
        then = floor, low
        if not table.all_kept:
            then = np.sqrt(started(b2, table.t)) * eps, np.maximum(eps * started(b1, table.t), NORMAL)
        known = np.array((*then, floor, low, table.is_traced * discount(sight, t), 1 - rate * decay))
        own: Any = np.array((has_begun, hat, hat * root))[table.factors, table.numbered]
        shares = w if table.all_differ else (w[:, :, None] * table.chooses).sum(1)
        times: Any = counts(shares, t[:, None]) if shares.min() < SLEEPY else np.ones_like(shares)
        return Numbers(t, rate, w, shares, times, hat, own, np.maximum(eps, NORMAL), known)

    def _moved(self, part: Part) -> Floats:
        """Look at some buckets, and move them; returns what the experts are charged."""
        K, known = self.table.choice.shape[1], part.numbers(self.numbers.known, self.compile)
        views, found = [self._view(bucket) for bucket in part.buckets], list[Tensor]()
        for where in part.batches:
            found += self._looked(part.buckets[where], views[where], known[where])
        sums = self._totals(part.table(found, len(self.table.params)))
        worth = sums[:, :K] * self.table.length
        later = part.numbers(np.concatenate(self._coefficients(part, sums[:, K:]), 1).T, self.compile)
        for where in part.batches:
            self._shifted(part.buckets[where], views[where], known[where], later[where])
        increment_version([self.table.params[row] for row in part.rows])
        if not self.table.all_differ:
            worth = np.take_along_axis(worth, self.table.choice, 1)
        return -worth * self.table.played[:, None]

    def _looked(self, buckets: list[Bucket], *numbers: Any) -> list[Tensor]:
        """The sums of buckets for which one call serves."""
        each = zip(buckets, *numbers, strict=True)
        batch = [(self._sample(b), b.traces, view, known, self._room(b)[1]) for b, view, known in each]
        found: list[Tensor] = self.look(*self._rule(buckets[0].stack), batch)
        return found

    def _shifted(self, buckets: list[Bucket], *numbers: Any) -> None:
        """Move them."""
        xs = [bucket.take(self.x, self._room(bucket)[0]).data for bucket in buckets]
        each = zip(buckets, xs, *numbers, strict=True)
        batch = [(self._late(b), x, b.traces, *mine, self._room(b)[1]) for b, x, *mine in each]
        self.shift(*self._rule(buckets[0].stack), batch)
        for bucket, x in zip(buckets, xs, strict=True):
            bucket.put(x, self.x)

    def _coefficients(self, part: Part, sums: Floats) -> tuple[Floats, Floats]:
        """What the arrays of kernels are multiplied by, in u and in the traces, from their inner products; by row.

        A single direction is played as it is. Several are brought to one length, and so is their mixture.
        """
        table, numbers, n = self.table, self.numbers, self.table.entries
        gram = (sums[:, 1:] / n[:, None])[:, places(table.choice.shape[1])]
        fade = np.minimum(numbers.hat * np.sqrt(sums[:, 0] / n), numbers.eps) / numbers.eps
        to_own: Any = inverse(np.sqrt(gram.diagonal(axis1=1, axis2=2))) * LENGTH  # brings each to its length
        mix = numbers.shares * (numbers.times > 0) * to_own
        size = np.sqrt(np.maximum((mix[:, None] * gram * mix[:, :, None]).sum((1, 2)), 0))
        to_length: Any = fade * LENGTH * inverse(size)
        is_mixed = table.differ[:, None] > 1
        size = np.where(is_mixed[:, 0], size * to_length, numbers.own[:, 0] * np.sqrt(gram[:, 0, 0]))
        table.size[part.rows] = size[part.rows]
        share = np.where(is_mixed, mix * to_length[:, None], numbers.own)
        length = np.where(is_mixed, to_own * numbers.times * fade[:, None], numbers.own)
        if not table.all_kept:
            table.length[part.rows] = np.where(table.is_kept, 1.0, length)[part.rows]
        return share * numbers.rate[:, None], length

    def _sample(self, bucket: Bucket) -> Tensor:
        row = bucket.rows[0]
        out = self._room(bucket)[0] if self.s[row].dtype == bucket.m.dtype else None
        return fitted(self.table, bucket.take(self.s, out), row).data

    def _view(self, bucket: Bucket) -> View:
        stored = {key: bucket.of(d) for key, d in self.stored.of(bucket.stack).items()}
        return View(bucket.m, bucket.root, kept={**bucket.masks, **stored})

    def _room(self, bucket: Bucket) -> tuple[Any, list[Any]]:
        """Memory for what is taken of several tensors, and for the arrays of kernels that are computed.

        All buckets share it, so that little is asked of the system; compiled code needs none.
        """
        stack, m = bucket.stack, bucket.m
        if (key := (stack.needs, m.shape, m.dtype)) not in self.rooms:
            taken, *scratch = [self._memory(k, m) if needed else None for k, needed in enumerate(stack.needs)]
            self.rooms[key] = taken, scratch
        return self.rooms[key]

    def _memory(self, k: int, like: Tensor) -> Tensor | None:
        if self.compile:
            return None
        if (key := (k, like.dtype)) not in self.memory:
            most = max(bucket.m.numel() for part in self.parts for bucket in part.buckets)
            self.memory[key] = like.new_empty(most)
        return self.memory[key][: like.numel()].view(like.shape)

    def _late(self, bucket: Bucket) -> Tensor | None:
        """The gradient for code that has not tracked it when it looked at it."""
        return self._sample(bucket) if self.compile else None

    def _rule(self, stack: Stack) -> tuple[Any, Any]:
        """The kernels of a stack; 1 - b1, the root of b2, and 1 - b2, of which compiled code wants a tensor."""
        m, (b1, b2) = stack.arrays["m"], self.table.groups[stack.group]["betas"]
        if (key := (b1, b2, m.dtype, m.device)) not in self.rates:
            rates = [1.0 - b1, math.sqrt(b2), 1.0 - b2]
            self.rates[key] = m.new_tensor(rates) if self.compile else rates
        return stack.kernels, self.rates[key]

    def _totals(self, sums: Floats) -> Floats:
        """Sums over all processes."""
        if not self.table.is_cut:
            return sums
        return totals(torch.from_numpy(sums), self.table.params).numpy()


def started(b: Floats, t: Floats) -> Floats:
    """1 - b^t, the weight of all but the zero start of an average; 1 before it has begun."""
    return 1 - b**t + (t == 0)


@cache
def places(K: int) -> NDArray[np.int_]:
    """Where the entries of a symmetric matrix are in a list of those below the diagonal, and on it.

    >>> places(2)
    array([[0, 1],
           [1, 2]])
    """
    found = np.zeros((K, K), int)
    rows, columns = np.tril_indices(K)
    found[rows, columns] = found[columns, rows] = range(len(rows))
    return found
