"""Whether replications have noise of their own, and no more of it than was declared: bets across replications."""

import math
from typing import Any

from . import _xp
from .certificates.declared import dependence_objection, first_objection
from .conversions.evidence import DENSE, EARLY, ROUNDINGS, SPARSE, STAKES, Claims
from .vectors import Blocks, Vector, inner


class Independence:
    r"""A bet that independent replications cannot win, on disjoint pairs of rounds of a run with n of them.

    With $d_i$ the change of the sample of replication i and $\epsilon_i$ that of its noise,
    $(\|\sum_id_i\|-\beta\sum_i\|y_i-y_i'\|)_+^2\le\|\sum_i\epsilon_i\|^2$. Its mean is at most $2n\sigma^2$ if they are
    independent, and $2n^2\sigma^2$ if all are one.

    Args:
        x: the point before the first round.
        claims: what the constants claim of samples; None if nothing is.

    Reference: declared constants, in the theory pages.

    >>> import numpy as np
    >>> x, rng = np.zeros((8, 3)), np.random.default_rng(0)
    >>> shared, own = (Independence(x, Claims(sigma=1.0, eta=0.1)) for _ in range(2))
    >>> for t in range(1, 41):
    ...     shared.add(t, x + rng.normal(size=3) / 2, x, x)
    ...     own.add(t, rng.normal(size=(8, 3)) / 2, x, x)
    >>> shared.objection()[:34], own.objection()
    ('the replications are not independe', '')
    """

    def __init__(self, x: Vector, claims: Claims | None):
        self.claims = claims
        self.n = 1 if isinstance(x, Blocks) else math.prod(x.shape[:-1])
        self.due, self.pairs, self.total = 2, 0, 0.0
        self.last: Any = None  # the samples of the round before the next one that is due, and the sum of their reaches
        self.wealth, self.most = [0.0] * len(STAKES), 0.0
        self.first: list[float] = []  # squared distances of the first samples of two replications, if they share x_1

    def add(self, t: int, s: Vector, x: Vector, dx: Vector) -> None:
        """Round t, with the samples s at x, from where the points move by dx."""
        if self.claims is None or self.n == 1 or self.due - t > 1 or self.claims.sigma == 0:
            return
        if t == 1:
            self.first = _distances(s, x)
        if t == self.due:
            self._bet(s)
            self.due += DENSE if t < EARLY else 2 * SPARSE
        if t == self.due - 1:
            rounding = self._rounding(s) + self.claims.beta * ROUNDINGS * _xp.machine_eps(s) * _total_norm(x)
            self.last = s, self.claims.beta * _total_norm(dx) + self.n * self.claims.apart + rounding, rounding

    def _rounding(self, s: Vector) -> float:
        return 2 * ROUNDINGS * _xp.machine_eps(s) * _total_norm(s)

    def _bet(self, s: Vector) -> None:
        before, reach, rounding = self.last
        rounding += self._rounding(s)
        change = _xp.namespace(s).sum(s - before, axis=tuple(range(s.ndim - 1)))
        (length,) = _xp.floats(inner(change, change))
        unit = math.sqrt(2 * self.n) * self.claims.sigma + rounding  # type: ignore[union-attr]  # else there is no bet
        ratio = min((max(math.sqrt(length) - reach - rounding, 0.0) / unit) ** 2, 1e300)
        self.pairs, self.total = self.pairs + 1, self.total + ratio
        self.wealth = [w + math.log1p(stake * (ratio - 1)) for w, stake in zip(self.wealth, STAKES, strict=True)]
        self.most = max(self.most, *self.wealth)

    def objection(self) -> str:
        """Why the replications are not independent, in words with the numbers; nothing if they may be."""
        if self.claims is None or self.n == 1 or self.claims.sigma == 0:
            return ""
        if why := first_objection(self.claims.sigma, self.claims.apart, self.first):
            return why
        return dependence_objection(self.claims.sigma, self.most, self.total / max(self.pairs, 1), len(STAKES))


def _distances(s: Vector, x: Vector) -> list[float]:
    """Of the first and second sample, of the third and fourth, and so on, but for rounding."""
    d = x.shape[-1]
    starts, samples = (_xp.to_numpy(v).reshape(-1, d).astype(float) for v in (x, s))
    if (starts != starts[0]).any():
        return []
    one, two = samples[: len(samples) // 2 * 2 : 2], samples[1::2]
    rounding = ROUNDINGS * _xp.machine_eps(s) * ((one**2).sum(-1) ** 0.5 + (two**2).sum(-1) ** 0.5)
    lengths = ((one - two) ** 2).sum(-1) ** 0.5 - rounding
    return [max(float(length), 0.0) ** 2 for length in lengths]


def _total_norm(v: Vector) -> float:
    """The sum of the lengths of the replications."""
    return float((_xp.to_numpy(inner(v, v)) ** 0.5).sum())
