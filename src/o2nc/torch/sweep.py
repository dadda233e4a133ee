"""The two sweeps over memory that make a step of `Hedged`: one that judges, one that moves."""

from collections.abc import Sequence
from typing import Any

import torch

from .books import Books, width
from .buckets import SIZE, Bucket
from .experts import Expert, View, is_whole
from .kernels import compiled, move, products, track

Tensor = torch.Tensor
WHOLE = 2**62  # no tensor has so many entries


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
        self.books, self.groups, self.s, self.rows, self.foreach, self.compile = (
            books,
            groups,
            s,
            rows,
            foreach,
            compile,
        )
        self.products, self.track, self.shift = compiled() if compile else (products, track, move)
        self.plan = books.plan(rows, WHOLE if compile else SIZE)
        keys = {key for row in rows for key in books.state[books.params[row]]}
        self.state = {key: books.tensors(key) for key in keys}
        self.x = [p.detach() if x is None else x for p, x in zip(books.params, books.tensors("x"), strict=True)]

    def judge(self) -> None:
        """Let the gradients judge the directions that led to them, and the learners learn."""
        books = self.books
        if not books.played.any() or all(learner.K == 1 for _, learner in books.learners):
            return
        factors, found = self._factors(), []
        for bucket, experts in self.plan.buckets:
            distinct, s = list(dict.fromkeys(experts)), self._sample(bucket)
            pairs = self.products(distinct, s, self._view(bucket, experts, factors), bucket.sums)
            found += [torch.stack(pairs[distinct.index(expert)]) for expert in experts]
        sums = torch.zeros(2, len(books.params), max(learner.K for _, learner in books.learners), dtype=torch.float64)
        for total, values in zip(sums, torch.cat(found, dim=1).to("cpu", torch.float64), strict=True):
            total.index_put_(self.plan.places, values, accumulate=True)
        sums *= books.played[:, None]
        sums[1] *= torch.tensor(factors["hat"], dtype=torch.float64)[:, None]
        for rows, learner in books.learners:
            learner.judge(*sums[:, rows, : learner.K])

    def count(self, squares: Tensor, means: Tensor) -> None:
        """Average the means of s^2 and |s| in. Gradients before the first that is not 0 do not count."""
        books, rows = self.books, torch.tensor(self.rows)
        b2, lr = (self._per_row(read)[rows] for read in (lambda group: group["betas"][1], lambda group: group["lr"]))
        counts = (books.t[rows] > 0) | (squares > 0)
        books.t[rows] += counts
        books.q[rows] = b2 * books.q[rows] + (1 - b2) * squares
        books.e[rows] = b2 * books.e[rows] + (1 - b2) * means
        books.played.zero_()
        books.played[rows] = lr * counts

    def move(self) -> None:
        """Update the trackers, compute the new directions and move along their mixtures."""
        whole = [(Bucket((row,)), self.books.experts[row]) for row in self.rows]
        factors, weights, later = self._factors(), self.books.weights(), []
        self._follow()
        for bucket, experts in self.plan.buckets if self.foreach else whole:
            m, v = bucket.take(self.state["m"]), self._take(bucket, experts, "v")
            self.track(self._sample(bucket), m, v, self._group(bucket)["betas"])
            for key, changed in (("m", m), ("v", v)):
                if changed is not None:
                    bucket.put(changed, self.state[key])
            if any(is_whole(expert) for expert in experts):
                later.append((bucket, experts))
            else:
                self._shift(bucket, experts, weights, self._view(bucket, experts, factors, m, v))
        self._directions(factors["u"])
        for bucket, experts in later:
            self._shift(bucket, experts, weights, self._view(bucket, experts, factors))
        for row in self.rows:
            if self.books.params[row].dtype != self.x[row].dtype:
                self.books.params[row].copy_(self.x[row])

    def _follow(self) -> None:
        """Where a narrow parameter is no longer the rounding of its point, since it was changed, the point follows."""
        for row in self.rows:
            p, x = self.books.params[row], self.x[row]
            if p.dtype != x.dtype:
                x.copy_(torch.where(x.to(p.dtype) == p, x, p.to(x.dtype)))

    def _directions(self, u: Sequence[float]) -> None:
        """The directions of the experts that need whole tensors."""
        for row in self.rows:
            for expert in filter(is_whole, self.books.experts[row]):
                d = expert.whole(self.state["m"][row] * u[row])  # type: ignore[union-attr]
                self.state[expert.keeps[0]][row].copy_(d)

    def _shift(self, bucket: Bucket, experts: tuple[Expert, ...], weights: list[list[float]], view: View) -> None:
        group, x, distinct = self._group(bucket), bucket.take(self.x), list(dict.fromkeys(experts))
        lr = float(group["lr"])
        shares = []
        for expert in distinct:
            ks = [k for k, other in enumerate(experts) if other == expert]
            shares.append(self._number(bucket, {row: lr * sum(weights[row][k] for k in ks) for row in bucket.rows}, x))
        self.shift(x, distinct, view, shares, self._constant(1 - lr * float(group["weight_decay"]), x))
        bucket.put(x, self.x)

    def _sample(self, bucket: Bucket) -> Tensor:
        s = bucket.take(self.s).to(width(self.books.params[bucket.rows[0]]))
        return -s if self._group(bucket)["maximize"] else s

    def _view(
        self,
        bucket: Bucket,
        experts: tuple[Expert, ...],
        factors: dict[str, list[float]],
        m: Tensor | None = None,
        v: Tensor | None = None,
    ) -> View:
        m = bucket.take(self.state["m"]) if m is None else m
        keys = {key for expert in filter(is_whole, experts) for key in expert.keeps}
        return View(
            m=m,
            v=self._take(bucket, experts, "v") if v is None else v,
            mask=self._take(bucket, experts, "mask"),
            **{name: self._number(bucket, values, m) for name, values in factors.items()},
            eps=self._group(bucket)["eps"],
            kept={key: bucket.take(self.state[key]) for key in keys},
        )

    def _take(self, bucket: Bucket, experts: tuple[Expert, ...], key: str) -> Any:
        return bucket.take(self.state[key]) if any(key in expert.keeps for expert in experts) else None

    def _factors(self) -> dict[str, list[float]]:
        """What multiplies m and sqrt(v) to give m^, sqrt(v^) and u, by row; 0 before the first step."""
        t, q, e = self.books.t, self.books.q, self.books.e
        b1, b2 = (self._per_row(lambda group, i=i: group["betas"][i]) for i in range(2))
        hat = torch.where(t > 0, 1 / (1 - b1**t), 0)
        root = torch.where(t > 0, (1 - b2**t).rsqrt(), 0)
        u = torch.where(q > 0, hat * e / q, 0)
        return {"hat": hat.tolist(), "root": root.tolist(), "u": u.tolist()}

    def _per_row(self, read: Any) -> Tensor:
        values = torch.tensor([float(read(group)) for group in self.groups], dtype=torch.float64)
        return values[self.books.group_of]

    def _group(self, bucket: Bucket) -> dict[str, Any]:
        return self.groups[self.books.group_of[bucket.rows[0]]]

    def _number(self, bucket: Bucket, values: Any, like: Tensor) -> Any:
        return self._constant(bucket.numbers(values, like), like)

    def _constant(self, value: Any, like: Tensor) -> Any:
        """A number, as a tensor if it goes into compiled code, which would be compiled anew for every other float."""
        return torch.tensor(value, dtype=like.dtype) if self.compile and isinstance(value, float) else value
