"""A step of `Hedged`: gradients are checked, then every bucket is looked at, and moved.

The weights and the scale of a step were learned before it. So nothing waits for its losses, and what is found on one
tensor matters for no other: a part of the model is looked at and moved before the next one is.
"""

import math
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd.graph import increment_version

from .._xp import inverse
from ..conversions.traces import SLEEPY, counts, discount
from ..directions import Direction, Soap
from ..directions.base import LENGTH
from ..states import leaves
from ..vectors import Blocks
from .batches import POLARS, direct, learn
from .checkpoint import scatter
from .kernels import View, compiled, look_at, move_all, sums
from .parameter_groups import width
from .shadow import Shadow
from .shards import by_owners, laid_out, local, shard, totals
from .stacks import Bucket, Part, Stack, flat, runs
from .state import Table
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
        self.ready: list[tuple[Tensor, Any]] = []  # tensors of the state, and what `prepare` found for them
        self.found: dict[tuple[int, str], Tensor] = {}  # directions that were found one by one, by row and key

    def check(self, there: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The sums of s^2, and whether there are gradients, on all processes together; ``there`` is of this one."""
        buckets = [bucket for part in self.parts for bucket in part.buckets]
        squares = flat([sums(s, s) for s in (bucket.by_row(self._sample(bucket)) for bucket in buckets)])
        mine: Any = np.bincount(np.concatenate([NONE, *(part.rows for part in self.parts)]), squares, len(there))
        if self.table.is_cut:
            mine, there = self._totals(np.stack((mine, there), 1)).T
        return mine, there > 0

    def prepare(self, squares: Floats) -> None:
        """Compute what may fail, before anything is written: directions that are found tensor by tensor."""
        self.numbers, owned, table = self._numbers(squares), [], self.table
        for row in (row for row in table.apart if row in self.chosen and self.numbers.hat[row]):
            for j, (name, (direction, kernel)) in enumerate(table.differing(row).items()):
                if not kernel.is_stored or table.is_batched(row, direction):
                    continue
                if self.numbers.times[row, j] == 0 and not isinstance(direction, Shadow):
                    self._learned(row, name, direction)  # it sleeps
                elif type(direction) in POLARS:
                    u = shard(self._tracked(row, direction), table.params[row])
                    owned.append((row, kernel.key, partial(self._direction, direction, table.memory(row, name)), u))
                else:
                    self.found[row, kernel.key] = self._prepared(row, name, direction)
        results = by_owners([(function, u) for *_, function, u in owned])
        self.found |= {(row, key): d for (row, key, *_), d in zip(owned, results, strict=True)}

    def move(self) -> None:
        """Update the trackers and the directions, move along their mixtures, and learn for the next step."""
        table, narrow = self.table, self.narrow
        held = map(local, table.params) if table.is_cut else (p.detach() for p in table.params)
        self.x = [p if x is None else x for p, x in zip(held, table.tensors["x"], strict=True)]
        for row in narrow:  # where a parameter is no longer the rounding of its point, the point follows
            self.x[row].copy_(self._point(row))
        for a, after in self.ready:
            a.copy_(after)
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
        K, stored, known = self.table.choice.shape[1], dict[int, Any](), part.numbers(self.numbers.known, self.compile)
        views, found = list[View](), list[Tensor]()
        for bucket in part.buckets:
            if id(bucket.stack) not in stored:
                stored[id(bucket.stack)] = self._stored(bucket.stack)
            views.append(self._view(bucket, stored[id(bucket.stack)]))
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

    def _stored(self, stack: Stack) -> dict[str, Tensor]:
        """Directions that have no kernel, each of shape (rows, entries); 0 where there was no gradient yet."""
        if not stack.stored:
            return {}
        m, hats, times = stack.flat("m"), self.numbers.hat[stack.rows], self.numbers.times[stack.rows]
        found, batched = {key: torch.zeros_like(m) for key in stack.stored}, list[tuple[int, str, Any, str]]()
        for j, (kernel, (name, direction)) in enumerate(zip(stack.kernels, stack.directions.items(), strict=True)):
            if kernel.is_stored and self.table.is_batched(stack.rows[0], direction):
                batched.append((j, name, direction, kernel.key))
            elif kernel.is_stored:
                for k, row in enumerate(stack.rows):
                    if (row, kernel.key) in self.found:
                        found[kernel.key][k] = self.found.pop((row, kernel.key)).reshape(-1)
        awake = [tuple(times[k, j] > 0 for j, *_ in batched) for k in range(len(stack.rows))]
        places = [k for k, row in enumerate(stack.rows) if row in self.chosen and hats[k] > 0]
        for where in runs(places, awake.__getitem__) if batched else ():
            rows = stack.rows[where]
            s, m, state = self._signed(rows), stack.arrays["m"][where], None
            for (_, name, direction, key), is_awake in zip(batched, awake[where.start], strict=True):
                if isinstance(direction, Soap):
                    state = self.table.stacked(stack, name, where)
                    learn([self.table.experts[row][name] for row in rows], s, state)
                if is_awake:
                    found[key][where] = direct(direction, self._tracker(rows, m, s, direction), state)
        return found

    def _tracker(self, rows: Sequence[int], m: Tensor, s: Tensor, direction: Any) -> Tensor:
        """The trackers of some rows as they will be, stacked; one sample ahead for who looks there."""
        share = 1.0 - self.table.groups[self.table.group_of[rows[0]]]["betas"][0]
        m = torch.lerp(m, s, share)
        if getattr(direction, "looks_ahead", False):
            m.lerp_(s, share)
        hat = torch.from_numpy(self.numbers.hat[rows]).to(m.device, m.dtype)
        return m.mul_(hat.view(-1, *[1] * (m.ndim - 1)))

    def _tracked(self, row: int, direction: Any) -> Tensor:
        """The same for one row."""
        return self._tracker([row], self.table.tensors["m"][row][None], self._signed([row]), direction)[0]

    def _point(self, row: int) -> Tensor:
        """The point of a parameter before the step."""
        p, x = local(self.table.params[row]), self.table.tensors["x"][row]
        return p if x is None else torch.where(x.to(p.dtype) == p, x, p.to(x.dtype))

    def _direction(self, direction: Any, memory: Any, u: Tensor) -> Any:
        return direction.direction(memory, Blocks((u,))).arrays[0]

    def _prepared(self, row: int, name: str, direction: Direction | Shadow) -> Tensor:
        """The direction of a tensor by its pure function, or by the step of an optimizer."""
        u, p = self._whole(row, direction, self._tracked(row, direction)), self.table.params[row]
        if isinstance(direction, Shadow):
            memory, sample = self.table.memory(row, name), self._whole(row, direction, self._signed([row])[0])
            d, after = direction.step(memory, self._whole(row, direction, self._point(row)), sample)
            self.ready += [(self.table.tensors[key][row], a) for key, a in after.items()]
        else:
            d = self._direction(direction, self._learned(row, name, direction), u)
        check_direction(name, d, u)
        return (local(laid_out(d, p)) if self._is_gathered(row, direction) else d).contiguous()

    def _learned(self, row: int, name: str, direction: Direction) -> Any:
        """The state of a direction after the sample."""
        memory = self.table.memory(row, name)
        if next(leaves(memory), None) is not None:
            memory = direction.learn(memory, Blocks((self._whole(row, direction, self._signed([row])[0]),)))
            self.ready += [(self.table.tensors[key][row], a) for key, a in scatter(memory, 1, name)[0].items()]
        return memory

    def _is_gathered(self, row: int, direction: Any) -> bool:
        return direction.whole and self.table.is_sharded[row]

    def _whole(self, row: int, direction: Any, part: Tensor) -> Tensor:
        """What a direction sees of a tensor: what may fail must fail on all processes, so each gathers a whole one."""
        if not self._is_gathered(row, direction):
            return part
        return shard(part, self.table.params[row]).full_tensor()  # type: ignore[attr-defined]

    def _signed(self, rows: Sequence[int]) -> Tensor:
        """The gradients of some rows of one shape, stacked, in the dtype of the state."""
        return self._fitted(torch.stack([self.s[row] for row in rows]), rows[0])

    def _sample(self, bucket: Bucket) -> Tensor:
        row = bucket.rows[0]
        out = self._room(bucket)[0] if self.s[row].dtype == bucket.m.dtype else None
        return self._fitted(bucket.take(self.s, out), row).data

    def _fitted(self, s: Tensor, row: int) -> Tensor:
        s = s.to(width(self.table.params[row]))
        return -s if self.table.groups[self.table.group_of[row]]["maximize"] else s

    def _view(self, bucket: Bucket, stored: dict[str, Tensor]) -> View:
        return View(bucket.m, bucket.root, kept={**bucket.masks, **{key: bucket.of(d) for key, d in stored.items()}})

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


def check_direction(name: str, d: Any, u: Tensor) -> None:
    """Raise unless the direction of a user is a tensor like u, and finite."""
    if not isinstance(d, Tensor) or d.shape != u.shape:
        got = f"shape {tuple(d.shape)}" if isinstance(d, Tensor) else repr(d)
        raise ValueError(f"The expert {name!r} must return a tensor in the shape {tuple(u.shape)}; got {got}.")
    if not bool(d.isfinite().all()) and bool(u.any()):
        raise ValueError(f"The expert {name!r} must return numbers that are finite; some are not.")
