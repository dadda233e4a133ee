"""A step of `Hedged`: one pass over memory that judges the last step, and one that moves."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import torch

from ..conversions.practical import length
from ..directions import Direction, Polar
from ..states import leaves
from ..vectors import Blocks
from .buckets import FACTORS, SIZE, UNCUT, Bucket
from .checkpoint import scatter
from .kernels import Kernel, View, compiled, judge, move, track
from .parameter_groups import width
from .shards import by_owners, laid_out, local, shard, totals
from .state import Table

Tensor = torch.Tensor
NORMAL = torch.finfo(torch.float32).smallest_normal


class Judgement(NamedTuple):
    """What the gradients say of the last step, by row."""

    there: Tensor  # whether there is a gradient
    squares: Tensor  # the mean of s^2
    kept: Tensor  # of what each expert had promised, (rows, experts)
    promised: Tensor  # ... and what that was
    f: Tensor  # of the next step


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
        self.layout = table.layout(rows, SIZE, UNCUT if compile else SIZE)
        self.buckets = self.layout.buckets if foreach else table.layout(rows, 1, UNCUT).buckets
        self.narrow = [row for row in rows if table.params[row].dtype != width(table.params[row])]
        params = zip(table.params, table.is_sharded, self.state["x"], strict=True)
        self.x = [(local(p) if cut else p.detach()) if point is None else point for p, cut, point in params]
        kernels: Any = compiled() if compile else (judge, track, move)
        self.reduce, self.track, self.shift = kernels
        self.scratch: Any = None
        self.packs: dict[tuple[Bucket, str], Tensor] = {}
        self.ready: list[tuple[Tensor, Any]] = []  # tensors of the state, and what `prepare` found for them

    def judge(self, there: Tensor) -> Judgement:
        """What the gradients say, on all processes together; ``there`` are those that this one has, by row."""
        table, layout, factors = self.table, self.layout, self._factors()
        judged = bool(table.t.any()) and any(learner.K > 1 for _, learner in table.learners)
        found: list[Tensor] = []
        for bucket in layout.buckets:
            kernels, owner = bucket.kernels if judged else (), bucket.entries.owner
            view = self._view(bucket, factors)
            found += self.reduce(kernels, self._sample(bucket), view, owner, len(bucket.entries.rows))
            found += found[-2:] * (len(bucket.kernels) - len(kernels))  # anything: it is multiplied by 0
        sums = torch.zeros(len(table.params), 3 + 2 * layout.choice.shape[1], dtype=torch.float64)
        if found:
            sums.index_put_(layout.places, torch.cat(found).to("cpu", torch.float64), accumulate=True)
        sums[:, -1] = there
        sums = totals(sums, table.params) if any(table.is_sharded) else sums
        scale = torch.tensor([factors[name] for name in FACTORS], dtype=torch.float64).gather(0, layout.factor.T).T
        hat = torch.tensor(factors["hat"], dtype=torch.float64)
        there = sums[:, -1] > 0
        kept, promised = (sums[:, 2 + i : -1 : 2].gather(1, layout.choice) * scale for i in range(2))
        adam = promised.gather(1, table.adam.clamp(min=0)[:, None])[:, 0]
        f = torch.where((table.adam >= 0) & (table.t > 0), adam / (hat * sums[:, 1]), 0)
        played = (table.played * there)[:, None]
        squares = sums[:, 0] / torch.tensor(table.sizes).clamp(min=1)
        return Judgement(there, squares, kept * played, promised * hat[:, None] * played, f)

    def learn(self, judgement: Judgement) -> None:
        """Let the learners learn, and average the mean of s^2 in. Zeros before the first gradient do not count."""
        table, rows, squares = self.table, self.rows, judgement.squares
        for mine, learner in table.learners:
            learner.judge(judgement.kept[mine, : learner.K], judgement.promised[mine, : learner.K])
        b2, lr = self._per_row(lambda group: group["betas"][1])[rows], self._per_row(lambda group: group["lr"])[rows]
        counts = (table.t[rows] > 0) | (squares[rows] > 0)
        table.t[rows] += counts
        table.q[rows] = b2 * table.q[rows] + (1 - b2) * squares[rows]
        f = torch.where(judgement.f.isfinite(), judgement.f, 0)[rows]
        scale: Any = length(f, table.q[rows], 1 - b2 ** table.t[rows])
        table.f[rows] = scale
        table.played.zero_()
        table.played[rows] = lr * counts

    def prepare(self) -> None:
        """Compute the directions that may fail, which are not our own; nothing is written before `move`.

        They see the tracker as it will be.
        """
        factors, table = self._factors(), self.table
        for row, name, direction, kernel in self._stored(factors):
            if type(direction) is not Polar:
                b1 = table.groups[table.group_of[row]]["betas"][0]
                m = torch.lerp(self.state["m"][row], self._signed(row), 1.0 - b1)
                u = m * factors["hat" if direction.scale_free else "u"][row]
                self._prepare(row, name, direction, kernel.key, u)

    def move(self) -> None:
        """Update the trackers, compute the new directions and move along their mixtures."""
        factors, later = self._factors(), []
        share = self._shares(factors, self._per_row(lambda group: group["lr"]))
        self._follow()
        for bucket in self.buckets:
            m, root = self._packed(bucket, "m"), self._root(bucket)
            self.track(self._sample(bucket), m, root, self._rates(bucket, m))
            for key in bucket.tracked:
                bucket.entries.put(self._packed(bucket, key), self.state[key])
            if bucket.has_stored:
                later.append(bucket)
            else:
                self._shift(bucket, share, self._view(bucket, factors))
        if later:
            self._directions(factors)
        for bucket in later:
            self._shift(bucket, share, self._view(bucket, factors))
        for row in self.narrow:
            local(self.table.params[row]).copy_(self.x[row])

    def mixture(self) -> list[Tensor]:
        """What the last step has added to each of the rows, for lr = 1: `move` from 0, with nothing new."""
        self.x = [None if m is None else torch.zeros_like(m) for m in self.state["m"]]
        factors = self._factors()
        share = self._shares(factors, torch.ones_like(self.table.t))
        for bucket in self.buckets:
            self._shift(bucket, share, self._view(bucket, factors))
        return [self.x[row] for row in self.rows]

    def _follow(self) -> None:
        """Where a narrow parameter is no longer the rounding of its point, since it was changed, the point follows."""
        for row in self.narrow:
            p, x = local(self.table.params[row]), self.x[row]
            x.copy_(torch.where(x.to(p.dtype) == p, x, p.to(x.dtype)))

    def _directions(self, factors: dict[str, list[float]]) -> None:
        """The directions that have no kernel: tensor by tensor, on shards if they are elementwise."""
        for d, found in self.ready:
            d.copy_(found)
        table, owned = self.table, []
        for row, name, direction, kernel in self._stored(factors):
            if type(direction) is Polar:
                u, d = self.state["m"][row] * factors["hat"][row], self.state[kernel.key][row]
                polar = partial(self._polar, direction, table.memory(row, name))
                if table.is_sharded[row]:
                    owned.append((d, polar, shard(u, table.params[row])))
                else:
                    d.copy_(polar(u))
        for (d, *_), found in zip(owned, by_owners([(function, u) for _, function, u in owned]), strict=True):
            d.copy_(found)

    def _stored(self, factors: dict[str, list[float]]) -> Iterator[tuple[int, str, Direction, Kernel]]:
        """The directions without a kernel, row by row; gradients before the first that is not 0 count for nothing."""
        table = self.table
        for row in self.rows.tolist():
            if factors["hat"][row] != 0:
                for (name, direction), kernel in zip(table.experts[row].items(), table.kernels[row], strict=True):
                    if kernel.is_stored:
                        yield row, name, direction, kernel

    def _polar(self, direction: Polar, memory: Any, u: Tensor) -> Tensor:
        return direction.direction(memory, Blocks((u,))).arrays[0]

    def _prepare(self, row: int, name: str, direction: Direction, key: str, u: Tensor) -> None:
        """The direction of a tensor by its pure function; if it has a state, that learns from the sample before.

        What may fail must fail on all processes: each gathers a tensor that is needed as a whole.
        """
        p, memory = self.table.params[row], self.table.memory(row, name)
        is_gathered = direction.whole and self.table.is_sharded[row]

        def seen(part: Tensor) -> Tensor:
            return shard(part, p).full_tensor() if is_gathered else part  # type: ignore[attr-defined]

        u = seen(u)
        if next(leaves(memory), None) is not None:
            memory = direction.learn(memory, Blocks((seen(self._signed(row)),)))
            self.ready += [(self.state[k][row], a) for k, a in scatter(memory, 1, name)[0].items()]
        d: Any = direction.direction(memory, Blocks((u,))).arrays[0]
        check_direction(name, d, u)
        self.ready.append((self.state[key][row], local(laid_out(d, p)) if is_gathered else d))

    def _signed(self, row: int) -> Tensor:
        """The gradient of a row, in the dtype of the state."""
        s: Tensor = self.s[row].to(width(self.table.params[row]))
        return -s if self.table.groups[self.table.group_of[row]]["maximize"] else s

    def _shares(self, factors: dict[str, list[float]], lr: Tensor) -> Callable[[str, tuple[int, ...]], list[float]]:
        """From a factor and the experts that have one direction: lr times the factor times their weight, by row."""
        weights = self.table.weights()

        @cache
        def share(factor: str, ks: tuple[int, ...]) -> list[float]:
            return (lr * torch.tensor(factors[factor], dtype=torch.float64) * weights[:, ks].sum(-1)).tolist()

        return share

    def _shift(self, bucket: Bucket, share: Callable[[str, tuple[int, ...]], list[float]], view: View) -> None:
        group, x = self.table.groups[bucket.group], bucket.entries.take(self.x)
        pairs = zip(bucket.kernels, bucket.ks, strict=True)
        shares = [self._number(bucket, share(kernel.factor, ks), x) for kernel, ks in pairs]
        shrink = self._constant(1 - float(group["lr"]) * float(group["weight_decay"]), x)
        self.shift(x, bucket.kernels, view, shares, shrink)
        bucket.entries.put(x, self.x)

    def _sample(self, bucket: Bucket) -> Tensor:
        if (bucket, "s") not in self.packs:
            s = bucket.entries.take(self.s).to(width(self.table.params[bucket.entries.rows[0]]))
            s = -s if self.table.groups[bucket.group]["maximize"] else s
            if bucket.entries.piece is not None:
                return s  # a view, or a copy that should not stay
            self.packs[bucket, "s"] = s
        return self.packs[bucket, "s"]

    def _view(self, bucket: Bucket, factors: dict[str, list[float]]) -> View:
        m, kept = self._packed(bucket, "m"), {key: bucket.take(key, self.state[key]) for key in bucket.kept}
        floor, low = (self._number(bucket, factors[name], m) for name in ("floor", "low"))
        return View(m, self._root(bucket), floor, kept, self._scratch(m), low)

    def _root(self, bucket: Bucket) -> Tensor | None:
        return self._packed(bucket, "root") if "root" in bucket.tracked else None

    def _packed(self, bucket: Bucket, key: str) -> Tensor:
        """State that only `track` changes: what was packed for judging serves for moving."""
        if (bucket, key) not in self.packs:
            self.packs[bucket, key] = bucket.take(key, self.state[key])
        return self.packs[bucket, key]

    def _scratch(self, like: Tensor) -> Any:
        if self.compile:
            return None
        if self.scratch is None or self.scratch.dtype != like.dtype or len(self.scratch) < len(like):
            self.scratch = torch.empty(max(len(like), SIZE), dtype=like.dtype, device=like.device)
        return self.scratch[: len(like)]

    def _factors(self) -> dict[str, list[float]]:
        """The factors of the arrays of experts, of m in m^, and eps in the units of the root and of m, by row."""
        t = self.table.t
        b1, b2 = (self._per_row(lambda group, i=i: group["betas"][i]) for i in range(2))
        hat = torch.where(t > 0, 1 / (1 - b1**t), 0)
        root = torch.where(t > 0, (1 - b2**t).sqrt(), 1)
        eps = self._per_row(lambda group: group["eps"])
        floors = {"floor": root * eps, "low": torch.where(t > 0, eps * (1 - b1**t), 1).clamp(min=NORMAL)}
        found = {"one": torch.ones_like(t), "u": hat * self.table.f, "adam": hat * root, "hat": hat, **floors}
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


def check_direction(name: str, d: Any, u: Tensor) -> None:
    """Raise unless the direction of a user is a tensor like u, and finite."""
    if not isinstance(d, Tensor) or d.shape != u.shape:
        got = f"shape {tuple(d.shape)}" if isinstance(d, Tensor) else repr(d)
        raise ValueError(f"The expert {name!r} must return a tensor in the shape {tuple(u.shape)}; got {got}.")
    if not bool(d.isfinite().all()) and bool(u.any()):
        raise ValueError(f"The expert {name!r} must return numbers that are finite; some are not.")
