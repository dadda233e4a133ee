"""A step of `Hedged`: a pass over memory that judges the traces, and one that moves; mixtures are measured between."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from ..conversions.practical import counts, discount
from ..directions import Direction, Muon, Polar
from ..directions.base import LENGTH
from ..states import leaves
from ..vectors import Blocks
from .buckets import FACTORS, SIZE, UNCUT, Bucket
from .checkpoint import scatter
from .kernels import View, compiled, judge, measure, move, track
from .parameter_groups import width
from .shadow import Shadow
from .shards import by_owners, laid_out, local, shard, totals
from .state import Table

Tensor = torch.Tensor
NORMAL = torch.finfo(torch.float32).smallest_normal
MEMORYLESS = (Polar, Muon)  # directions of matrices that each process may compute for some


class Judgement(NamedTuple):
    """What the gradients say, by row."""

    there: Tensor  # whether there is a gradient
    squares: Tensor  # the sum of s^2
    losses: Tensor  # what each expert is charged, (rows, experts)


class Coefficients(NamedTuple):
    """What the arrays of the kernels are multiplied by, (rows, kernels)."""

    share: Tensor  # in u
    length: Tensor  # in the traces


class Step:
    """A step with the gradients ``s`` of the parameters in ``rows``.

    Args:
        table: of the optimizer.
        s: the gradients, by row.
        rows: which parameters have one.
        foreach: whether tensors are packed and cut for moving too; for judging they always are.
        compile: whether the work on a bucket is compiled.

    Reference: `o2nc.conversions.PracticalConversion`, which must agree.
    """

    def __init__(self, table: Table, s: Sequence[Any], rows: tuple[int, ...], foreach: bool, compile: bool):
        self.table, self.s, self.compile, self.state = table, s, compile, table.tensors
        self.rows = torch.tensor(rows, dtype=torch.long)
        self.judged = table.layout(rows, SIZE, UNCUT if compile else SIZE)
        self.layout = self.judged if foreach else table.layout(rows, 1, UNCUT)
        self.narrow = [row for row in rows if table.params[row].dtype != width(table.params[row])]
        params = zip(table.params, table.is_sharded, self.state["x"], strict=True)
        self.x = [(local(p) if cut else p.detach()) if point is None else point for p, cut, point in params]
        kernels: Any = compiled() if compile else (judge, track, measure, move)
        self.reduce, self.track, self.measure, self.shift = kernels
        self.scratch: list[Tensor] = []
        self.packs: dict[tuple[Bucket, str], Tensor] = {}
        self.ready: list[tuple[Tensor, Any]] = []  # tensors of the state, and what `prepare` found for them
        self.found: dict[str, dict[int, Tensor]] = {}  # directions that have no kernel, by key and row

    def judge(self, there: Tensor) -> Judgement:
        """What the gradients say, on all processes together; ``there`` are those that this one has, by row."""
        table, layout, found = self.table, self.judged, []
        for bucket in layout.buckets:
            traces = [bucket.take(key, self.state[key]) for key in bucket.traces]
            found += self.reduce(self._sample(bucket), traces, bucket.entries.owner, len(bucket.entries.rows))
        K = layout.choice.shape[1]
        sums = self._placed(found, layout.judged, 2 + K)
        sums[:, -1] = there
        sums = self._totals(sums)
        there = sums[:, -1] > 0
        losses = -sums[:, 1 : 1 + K].gather(1, layout.choice) * (table.played * there)[:, None]
        return Judgement(there, sums[:, 0], losses)

    def learn(self, judgement: Judgement) -> None:
        """Let the learners learn for the next step. Zeros before the first gradient do not count."""
        table, rows = self.table, self.rows
        self.w, self.factor = table.weights(), table.factor()  # those of this step
        for mine, learner in table.learners:
            learner.judge(judgement.losses[mine, : learner.K])
        table.learn_scale(-(self.w * judgement.losses).sum(-1))
        has_begun = (table.t[rows] > 0) | (judgement.squares[rows] > 0)
        self.rate = self._per_row(lambda group: group["lr"]) * self.factor
        table.t[rows] += has_begun
        self.gamma = discount(self._per_row(lambda group: group["sight"]), table.t).tolist()
        table.played[rows] = self.rate[rows] * has_begun
        self.shares = torch.zeros_like(self.w).scatter_add_(1, self.judged.choice, self.w)
        times: Any = counts(self.shares, table.t[:, None])
        self.times: Tensor = times

    def prepare(self) -> None:
        """Compute the directions that have no kernel, some of which may fail; nothing is written before `move`.

        They see the tracker as it will be.
        """
        table, hats, owned = self.table, self._factors()["hat"], []
        for row in self.rows.tolist():
            if hats[row] == 0:  # gradients before the first that is not 0 count for nothing
                continue
            b1 = table.groups[table.group_of[row]]["betas"][0]
            for j, (name, (direction, kernel)) in enumerate(table.differing(row).items()):
                if not kernel.is_stored:
                    continue
                if self.times[row, j] == 0 and not isinstance(direction, Shadow):
                    self._learned(row, name, direction)  # it sleeps
                    continue
                m = torch.lerp(self.state["m"][row], self._signed(row), 1.0 - b1)
                if getattr(direction, "looks_ahead", False):
                    m.lerp_(self._signed(row), 1.0 - b1)
                u, found = m.mul_(hats[row]), self.found.setdefault(kernel.key, {})
                if type(direction) in MEMORYLESS and table.is_sharded[row]:
                    polar = partial(self._direction, direction, table.memory(row, name))
                    owned.append((found, row, polar, shard(u, table.params[row])))
                else:
                    found[row] = self._prepared(row, name, direction, u)
        results = by_owners([(function, u) for *_, function, u in owned])
        for (found, row, *_), d in zip(owned, results, strict=True):
            found[row] = d

    def move(self) -> None:
        """Update the trackers and the directions, and move along their mixtures."""
        factors, later, found = self._factors(), [], []
        self._follow()
        for a, after in self.ready:
            a.copy_(after)
        single = self._single(factors)
        for bucket in self.layout.buckets:
            m, root = self._packed(bucket, "m"), self._root(bucket)
            self.track(self._sample(bucket), m, root, self._rates(bucket, m))
            for key in bucket.tracked:
                bucket.entries.put(self._packed(bucket, key), self.state[key])
            view = self._view(bucket, factors)
            if self.layout is self.judged:
                found += self._measure(bucket, view)
            if bucket.is_mixed:
                later.append(bucket)
            else:
                self._shift(bucket, single, view)
        if self.layout is not self.judged:  # the sums are the same ones
            found = [a for bucket in self.judged.buckets for a in self._measure(bucket, self._view(bucket, factors))]
        mixed = self._mixed(found, factors)
        for bucket in later:
            self._shift(bucket, mixed, self._view(bucket, factors))
        for row in self.narrow:
            local(self.table.params[row]).copy_(self.x[row])

    def _single(self, factors: dict[str, list[float]]) -> Coefficients:
        """The coefficients where one direction is played: it is that."""
        own = torch.tensor([factors[name] for name in FACTORS], dtype=torch.float64).gather(0, self.layout.factor.T).T
        return Coefficients(own, own)

    def _measure(self, bucket: Bucket, view: View) -> list[Tensor]:
        entries, scratch = bucket.entries, self._scratch(bucket, view.m)
        sums: list[Tensor] = self.measure(bucket.kernels, view, entries.owner, len(entries.rows), scratch)
        return sums

    def _mixed(self, found: list[Tensor], factors: dict[str, list[float]]) -> Coefficients:
        """The coefficients where directions are mixed, from the inner products of the arrays; and the size of u."""
        layout, table = self.judged, self.table
        K = layout.choice.shape[1]
        sums = self._totals(self._placed(found, layout.measured, 1 + K * (K + 1) // 2))
        n = torch.tensor(table.sizes, dtype=torch.float64).clamp(min=1)
        rows, columns = torch.tril_indices(K, K)
        gram = torch.zeros(len(n), K, K, dtype=torch.float64)
        gram[:, rows, columns] = gram[:, columns, rows] = sums[:, 1:] / n[:, None]
        eps = self._per_row(lambda group: group["eps"]).clamp(min=NORMAL)
        hat = torch.tensor(factors["hat"], dtype=torch.float64)
        fade = (hat * (sums[:, 0] / n).sqrt()).minimum(eps) / eps
        own = inverse(gram.diagonal(dim1=1, dim2=2).sqrt()) * LENGTH  # brings each to its length
        mix = self.shares * (self.times > 0) * own
        size = torch.einsum("rj,rjk,rk->r", mix, gram, mix).clamp(min=0).sqrt()
        to_length = (fade * LENGTH * inverse(size))[:, None]
        single = self._single(factors).share[:, 0] * gram[:, 0, 0].sqrt()
        table.size[self.rows] = torch.where(layout.differing > 1, size * to_length[:, 0], single)[self.rows]
        return Coefficients(mix * to_length, own * self.times * fade[:, None])

    def _follow(self) -> None:
        """Where a narrow parameter is no longer the rounding of its point, since it was changed, the point follows."""
        for row in self.narrow:
            self.x[row].copy_(self._point(row))

    def _point(self, row: int) -> Tensor:
        """The point of a parameter before the step."""
        p, x = local(self.table.params[row]), self.x[row]
        return torch.where(x.to(p.dtype) == p, x, p.to(x.dtype)) if p.dtype != x.dtype else x

    def _direction(self, direction: Any, memory: Any, u: Tensor) -> Any:
        return direction.direction(memory, Blocks((u,))).arrays[0]

    def _prepared(self, row: int, name: str, direction: Direction | Shadow, u: Tensor) -> Tensor:
        """The direction of a tensor by its pure function, or by the step of an optimizer."""
        u = self._whole(row, direction, u)
        if isinstance(direction, Shadow):
            memory, sample = self.table.memory(row, name), self._whole(row, direction, self._signed(row))
            d, after = direction.step(memory, self._whole(row, direction, self._point(row)), sample)
            self.ready += [(self.state[key][row], a) for key, a in after.items()]
        else:
            d = self._direction(direction, self._learned(row, name, direction), u)
        check_direction(name, d, u)
        p = self.table.params[row]
        return (local(laid_out(d, p)) if self._is_gathered(row, direction) else d).contiguous()

    def _learned(self, row: int, name: str, direction: Direction) -> Any:
        """The state of a direction after the sample."""
        memory = self.table.memory(row, name)
        if next(leaves(memory), None) is not None:
            memory = direction.learn(memory, Blocks((self._whole(row, direction, self._signed(row)),)))
            self.ready += [(self.state[key][row], a) for key, a in scatter(memory, 1, name)[0].items()]
        return memory

    def _is_gathered(self, row: int, direction: Any) -> bool:
        return direction.whole and self.table.is_sharded[row]

    def _whole(self, row: int, direction: Any, part: Tensor) -> Tensor:
        """What a direction sees of a tensor: what may fail must fail on all processes, so each gathers a whole one."""
        if not self._is_gathered(row, direction):
            return part
        return shard(part, self.table.params[row]).full_tensor()  # type: ignore[attr-defined]

    def _signed(self, row: int) -> Tensor:
        """The gradient of a row, in the dtype of the state."""
        s: Tensor = self.s[row].to(width(self.table.params[row]))
        return -s if self.table.groups[self.table.group_of[row]]["maximize"] else s

    def _shift(self, bucket: Bucket, coefficients: Coefficients, view: View) -> None:
        group, x = self.table.groups[bucket.group], bucket.entries.take(self.x)
        traces = [bucket.take(key, self.state[key]) for key in bucket.traces]
        shares, lengths = (
            [self._number(bucket, each[:, j].tolist(), x) for j in range(len(bucket.kernels))]
            for each in (coefficients.share * self.rate[:, None], coefficients.length)
        )
        decay = 1 - self.rate[bucket.entries.rows[0]].item() * float(group["weight_decay"])
        shrink, scratch = self._constant(decay, x), self._scratch(bucket, x)
        gamma = self._number(bucket, self.gamma, x)
        self.shift(x, bucket.kernels, view, shares, shrink, traces, lengths, gamma, scratch)
        bucket.entries.put(x, self.x)
        for key, trace in zip(bucket.traces, traces, strict=True):
            bucket.entries.put(trace, self.state[key])

    def _sample(self, bucket: Bucket) -> Tensor:
        if (bucket, "s") not in self.packs:
            s = bucket.entries.take(self.s).to(width(self.table.params[bucket.entries.rows[0]]))
            s = -s if self.table.groups[bucket.group]["maximize"] else s
            if bucket.entries.piece is not None:
                return s  # a view, or a copy that should not stay
            self.packs[bucket, "s"] = s
        return self.packs[bucket, "s"]

    def _view(self, bucket: Bucket, factors: dict[str, list[float]]) -> View:
        m, kept = self._packed(bucket, "m"), {key: self._kept(bucket, key) for key in bucket.kept}
        floor, low = (self._number(bucket, factors[name], m) for name in ("floor", "low"))
        return View(m, self._root(bucket), floor, kept, low)

    def _kept(self, bucket: Bucket, key: str) -> Tensor:
        """A mask, or a direction that `prepare` found; 0 where there was no gradient yet."""
        if key in self.state:
            return bucket.take(key, self.state[key])
        found, m = self.found.get(key, {}), self.state["m"]
        return bucket.entries.take({row: found.get(row, torch.zeros_like(m[row])) for row in bucket.entries.rows})

    def _root(self, bucket: Bucket) -> Tensor | None:
        return self._packed(bucket, "root") if "root" in bucket.tracked else None

    def _packed(self, bucket: Bucket, key: str) -> Tensor:
        """State that only `track` changes: what was packed for judging serves for moving."""
        if (bucket, key) not in self.packs:
            self.packs[bucket, key] = bucket.take(key, self.state[key])
        return self.packs[bucket, key]

    def _scratch(self, bucket: Bucket, like: Tensor) -> list[Any]:
        """Memory for the array of each kernel; none in compiled code."""
        if self.compile:
            return [None] * len(bucket.kernels)
        size = max(len(like), SIZE)
        if self.scratch and (self.scratch[0].dtype != like.dtype or len(self.scratch[0]) < len(like)):
            self.scratch = []
        while len(self.scratch) < len(bucket.kernels):
            self.scratch.append(torch.empty(size, dtype=like.dtype, device=like.device))
        return [each[: len(like)] for each in self.scratch[: len(bucket.kernels)]]

    def _placed(self, found: list[Tensor], places: tuple[Tensor, ...], columns: int) -> Tensor:
        """Sums that were found bucket by bucket, by row."""
        sums = torch.zeros(len(self.table.params), columns, dtype=torch.float64)
        return sums.index_put_(places, torch.cat(found).to("cpu", torch.float64), accumulate=True) if found else sums

    def _totals(self, sums: Tensor) -> Tensor:
        """Sums over all processes."""
        return totals(sums, self.table.params) if any(self.table.is_sharded) else sums

    def _factors(self) -> dict[str, list[float]]:
        """The factors of the arrays of experts, and eps in the units of the root and of m, by row."""
        t = self.table.t
        b1, b2 = (self._per_row(lambda group, i=i: group["betas"][i]) for i in range(2))
        hat = torch.where(t > 0, 1 / (1 - b1**t), 0)
        root = torch.where(t > 0, (1 - b2**t).sqrt(), 1)
        eps = self._per_row(lambda group: group["eps"])
        floors = {"floor": root * eps, "low": torch.where(t > 0, eps * (1 - b1**t), 1).clamp(min=NORMAL)}
        found = {"one": (t > 0) * 1.0, "hat": hat, "adam": hat * root, **floors}
        return {name: values.tolist() for name, values in found.items()}

    def _per_row(self, read: Any) -> Tensor:
        values = torch.tensor([float(read(group)) for group in self.table.groups], dtype=torch.float64)
        return values[self.table.groups_of]

    def _number(self, bucket: Bucket, values: Any, like: Tensor) -> Any:
        return self._constant(bucket.entries.numbers(values, like), like)

    def _rates(self, bucket: Bucket, like: Tensor) -> list[Any]:
        """1 - b1, the root of b2, and 1 - b2."""
        b1, b2 = self.table.groups[bucket.group]["betas"]
        return [self._constant(rate, like) for rate in (1.0 - b1, math.sqrt(b2), 1.0 - b2)]

    def _constant(self, value: Any, like: Tensor) -> Any:
        """A number, as a tensor if it goes into compiled code, which would be compiled anew for every other float."""
        return torch.tensor(value, dtype=like.dtype) if self.compile and isinstance(value, float) else value


def inverse(v: Tensor) -> Tensor:
    """1 / v, and 0 for 0.

    >>> inverse(torch.tensor([2.0, 0.0]))
    tensor([0.5000, 0.0000])
    """
    return torch.where(v > 0, 1 / v, 0)


def check_direction(name: str, d: Any, u: Tensor) -> None:
    """Raise unless the direction of a user is a tensor like u, and finite."""
    if not isinstance(d, Tensor) or d.shape != u.shape:
        got = f"shape {tuple(d.shape)}" if isinstance(d, Tensor) else repr(d)
        raise ValueError(f"The expert {name!r} must return a tensor in the shape {tuple(u.shape)}; got {got}.")
    if not bool(d.isfinite().all()) and bool(u.any()):
        raise ValueError(f"The expert {name!r} must return numbers that are finite; some are not.")
