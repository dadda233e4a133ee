"""The two sweeps over memory that make a step of `Hedged`: one that judges, one that moves."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from .arguments import width
from .books import Books
from .buckets import SIZE
from .experts import View
from .kernels import compiled, judge, move, track
from .plan import FACTORS, Part
from .shards import local, shard, totals
from .whole import directions

Tensor = torch.Tensor
WHOLE = 2**62  # no tensor has so many entries


class Judgement(NamedTuple):
    """What the gradients say of the last step, by row."""

    there: Tensor  # whether there is a gradient
    squares: Tensor  # the mean of s^2
    kept: Tensor  # of what each expert had promised, (rows, experts)
    promised: Tensor  # ... and what that was
    f: Tensor  # of the next step


class Sweep:
    """A step with the gradients ``s`` of the parameters in ``rows``.

    Args:
        books: of the optimizer.
        groups: of the optimizer.
        s: the gradients, by row.
        rows: which parameters have one.
        foreach: whether tensors are packed and cut for moving too; for judging they always are.
        compile: whether the work on a bucket is compiled.

    Reference: `tests/reference_practical.py`.
    """

    def __init__(
        self,
        books: Books,
        groups: Sequence[dict[str, Any]],
        s: Sequence[Any],
        rows: tuple[int, ...],
        foreach: bool,
        compile: bool,
    ):
        self.books, self.groups, self.s, self.compile = books, groups, s, compile
        self.rows = torch.tensor(rows, dtype=torch.long)
        self.plan = books.plan(rows, SIZE, WHOLE if compile else SIZE)
        self.parts = self.plan.parts if foreach else books.plan(rows, 1, WHOLE).parts
        self.state = books.tensors
        points = self.state["x"]
        params = zip(books.params, books.in_parts, points, strict=True)
        self.x = [(local(p) if cut else p.detach()) if point is None else point for p, cut, point in params]
        kernels: tuple[Any, ...] = compiled() if compile else (judge, track, move)
        self.reduce, self.track, self.shift = kernels
        self.scratch: Any = None
        self.packs: dict[tuple[Part, str], Tensor] = {}

    def judge(self, there: Tensor) -> Judgement:
        """What the gradients say, on all processes together; ``there`` are those that this one has, by row."""
        books, factors = self.books, self._factors()
        judged = bool(books.t.any()) and any(learner.K > 1 for _, learner in books.learners)
        found = []
        for part in self.plan.parts:
            s, experts, bucket = self._sample(part), part.experts if judged else (), part.bucket
            found += self.reduce(experts, s, self._view(part, factors), bucket.owner, len(bucket.rows))
            found += found[-2:] * (len(part.experts) - len(experts))  # anything: it is multiplied by 0
        table = torch.zeros(len(books.params), 3 + 2 * self.plan.choice.shape[1], dtype=torch.float64)
        if found:
            table.index_put_(self.plan.places, torch.cat(found).to("cpu", torch.float64), accumulate=True)
        table[:, -1] = there
        table = totals(table, books.params) if any(books.in_parts) else table
        scale = torch.tensor([factors[name] for name in FACTORS], dtype=torch.float64).gather(0, self.plan.factor.T).T
        hat = torch.tensor(factors["hat"], dtype=torch.float64)
        there = table[:, -1] > 0
        kept, promised = (table[:, 2 + i : -1 : 2].gather(1, self.plan.choice) * scale for i in range(2))
        adam = promised.gather(1, self.plan.adam.clamp(min=0)[:, None])[:, 0]
        f = torch.where((self.plan.adam >= 0) & (books.t > 0), adam / (hat * table[:, 1]), math.nan)
        played = (books.played * there)[:, None]
        return Judgement(
            there=there,
            squares=table[:, 0] / torch.tensor(books.sizes).clamp(min=1),
            kept=kept * played,
            promised=promised * hat[:, None] * played,
            f=f,
        )

    def learn(self, judgement: Judgement) -> None:
        """Let the learners learn from what was kept of what was promised."""
        for rows, learner in self.books.learners:
            learner.judge(judgement.kept[rows, : learner.K], judgement.promised[rows, : learner.K])

    def count(self, judgement: Judgement) -> None:
        """Average the mean of s^2 in. Gradients before the first that is not 0 do not count."""
        books, rows, squares, f = self.books, self.rows, judgement.squares, judgement.f
        b2, lr = (self._per_row(read)[rows] for read in (lambda group: group["betas"][1], lambda group: group["lr"]))
        counts = (books.t[rows] > 0) | (squares[rows] > 0)
        books.t[rows] += counts
        books.q[rows] = b2 * books.q[rows] + (1 - b2) * squares[rows]
        scale = ((1 - b2 ** books.t[rows]) / books.q[rows]).sqrt()
        books.f[rows] = torch.where(f[rows].isfinite(), f[rows], torch.where(books.q[rows] > 0, scale, 0))
        books.played.zero_()
        books.played[rows] = lr * counts

    def move(self) -> None:
        """Update the trackers, compute the new directions and move along their mixtures."""
        factors, shares, later = self._factors(), self._shares(), []
        self._follow()
        for part in self.parts:
            m, root = self._packed(part, "m"), self._root(part)
            self.track(self._sample(part), m, root, self._rates(part, m))
            part.bucket.put(m, self.state["m"])
            if root is not None:
                part.bucket.put(root, self.state["root"])
            if part.is_whole:
                later.append(part)
            else:
                self._shift(part, shares, self._view(part, factors, m, root))
        self._directions(factors["u"])
        for part in later:
            self._shift(part, shares, self._view(part, factors))
        for row in self.plan.narrow:
            local(self.books.params[row]).copy_(self.x[row])

    def mixture(self) -> list[Tensor]:
        """What the last step has added to each of the rows: `move` from 0, with nothing new."""
        self.x = [None if m is None else torch.zeros_like(m) for m in self.state["m"]]
        factors, shares = self._factors(), self._shares()
        for part in self.parts:
            self._shift(part, shares, self._view(part, factors))
        return [self.x[row] for row in self.rows]

    def _follow(self) -> None:
        """Where a narrow parameter is no longer the rounding of its point, since it was changed, the point follows."""
        for row in self.plan.narrow:
            p, x = local(self.books.params[row]), self.x[row]
            x.copy_(torch.where(x.to(p.dtype) == p, x, p.to(x.dtype)))

    def _directions(self, u: Sequence[float]) -> None:
        """The directions of the experts that need whole tensors."""
        m, params, cut = self.state["m"], self.books.params, []
        for row, expert in self.plan.whole:
            if self.books.in_parts[row]:
                cut.append((row, expert))
            else:
                self.state[expert.keeps[0]][row].copy_(expert.whole(m[row] * u[row]))
        found = directions([(expert, shard(m[row] * u[row], params[row])) for row, expert in cut])
        for (row, expert), d in zip(cut, found, strict=True):
            self.state[expert.keeps[0]][row].copy_(d)

    def _shares(self) -> Callable[[str, tuple[int, ...]], list[float]]:
        """From a factor and the experts that have one direction: lr times the factor times their weight, by row."""
        factors, weights, lr = self._factors(), self.books.weights(), self._per_row(lambda group: group["lr"])

        @cache
        def share(factor: str, ks: tuple[int, ...]) -> list[float]:
            return (lr * torch.tensor(factors[factor], dtype=torch.float64) * weights[:, ks].sum(-1)).tolist()

        return share

    def _shift(self, part: Part, share: Callable[[str, tuple[int, ...]], list[float]], view: View) -> None:
        group, x = self.groups[part.group], part.bucket.take(self.x)
        pairs = zip(part.experts, part.ks, strict=True)
        shares = [self._number(part, share(expert.factor, ks), x) for expert, ks in pairs]
        shrink = self._constant(1 - float(group["lr"]) * float(group["weight_decay"]), x)
        self.shift(x, part.experts, view, shares, shrink)
        part.bucket.put(x, self.x)

    def _sample(self, part: Part) -> Tensor:
        if (part, "s") not in self.packs:
            s = part.bucket.take(self.s).to(width(self.books.params[part.bucket.rows[0]]))
            s = -s if self.groups[part.group]["maximize"] else s
            if part.bucket.piece is not None:
                return s  # a view, or a copy that should not stay
            self.packs[part, "s"] = s
        return self.packs[part, "s"]

    def _view(self, part: Part, factors: dict[str, list[float]], m: Any = None, root: Any = None) -> View:
        m = self._packed(part, "m") if m is None else m
        return View(
            m=m,
            root=self._root(part) if root is None else root,
            floor=self._number(part, factors["floor"], m),
            kept={key: part.take(key, self.state[key]) for key in part.kept},
            scratch=self._scratch(m),
        )

    def _root(self, part: Part) -> Tensor | None:
        return self._packed(part, "root") if part.has_root else None

    def _packed(self, part: Part, key: str) -> Tensor:
        """State that only `track` changes: what was packed for judging serves for moving."""
        if (part, key) not in self.packs:
            self.packs[part, key] = part.take(key, self.state[key])
        return self.packs[part, key]

    def _scratch(self, like: Tensor) -> Any:
        if self.compile:
            return None
        if self.scratch is None or self.scratch.dtype != like.dtype or len(self.scratch) < len(like):
            self.scratch = torch.empty(max(len(like), SIZE), dtype=like.dtype, device=like.device)
        return self.scratch[: len(like)]

    def _factors(self) -> dict[str, list[float]]:
        """The factors of the arrays of experts, of m in m^, and eps in the units of the root, by row."""
        t = self.books.t
        b1, b2 = (self._per_row(lambda group, i=i: group["betas"][i]) for i in range(2))
        hat = torch.where(t > 0, 1 / (1 - b1**t), 0)
        root = torch.where(t > 0, (1 - b2**t).sqrt(), 1)
        floor = root * self._per_row(lambda group: group["eps"])
        found = {"one": torch.ones_like(t), "u": hat * self.books.f, "adam": hat * root, "hat": hat, "floor": floor}
        return {name: values.tolist() for name, values in found.items()}

    def _per_row(self, read: Any) -> Tensor:
        values = torch.tensor([float(read(group)) for group in self.groups], dtype=torch.float64)
        return values[self.books.group_of]

    def _number(self, part: Part, values: Any, like: Tensor) -> Any:
        return self._constant(part.bucket.numbers(values, like), like)

    def _rates(self, part: Part, like: Tensor) -> list[Any]:
        """1 - b1, the root of b2, and 1 - b2."""
        b1, b2 = self.groups[part.group]["betas"]
        return [self._constant(rate, like) for rate in (1.0 - b1, math.sqrt(b2), 1.0 - b2)]

    def _constant(self, value: Any, like: Tensor) -> Any:
        """A number, as a tensor if it goes into compiled code, which would be compiled anew for every other float."""
        return torch.tensor(value, dtype=like.dtype) if self.compile and isinstance(value, float) else value
