r"""What the samples of a run say against the declared constants, as bets that true constants cannot win.

Let $y_t$ be the points of the samples $s_t=g(y_t)+\xi_t$. If $\beta$ and $\sigma$ are true,

$$z_t=\bigl(\|s_t-s_{t-1}\|-\beta\|y_t-y_{t-1}\|\bigr)_+^2\le\|\xi_t-\xi_{t-1}\|^2,$$

whose mean, given all before $s_{t-1}$, is at most $2\sigma^2$. So over disjoint pairs of rounds the product of
$1+\lambda(z_t/2\sigma^2-1)$ is a nonnegative supermartingale that starts at 1, for every fixed $\lambda$ in (0, 1]: it
ever reaches K with probability at most 1/K. Here are the logarithms of such products, for a few $\lambda$.
"""

import math
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates.declared import Seen
from ..vectors import Blocks, Vector, inner, leaf, zero_scalar, zeros_like

STAKES = (1 / 2, 1 / 8, 1 / 32, 1 / 128)  # the lambda
DENSE, SPARSE = 2, 8  # rounds from pair to pair, up to round EARLY and later
EARLY = 64
ROUNDINGS = 64  # how many of them the norm of a sample, or of a point, may be off by


@dataclass(frozen=True)
class Claims:
    """What the constants claim of samples; the gradients of two rounds differ by at most beta |y - y'| + apart.

    Reference: declared constants, in the theory pages.

    >>> Claims(sigma=0.5, beta=2.0).rows(1)
    ('noise',)
    """

    sigma: float  # root of the variance
    beta: float = 0.0  # the Lipschitz constant of the gradient
    apart: float = 0.0  # 2 L of bounded gradients; twice the bias of clipped samples
    B: float = math.inf  # root of the second moment of a sample
    twice: bool = False  # whether each sample is taken again at the next point, where beta is that of the samples

    def rows(self, n: int) -> tuple[str, ...]:
        """What is bet on with n replications."""
        chosen = {"noise": True, "common": n > 1, "second": self.B < math.inf, "again": self.twice}
        return tuple(name for name, is_chosen in chosen.items() if is_chosen)


class Evidence(NamedTuple):
    """What is remembered of the samples; the rows are those of `Claims`, the columns the stakes.

    Reference: declared constants, in the theory pages.

    >>> import numpy as np
    >>> now = no_evidence(np.zeros(2), Claims(sigma=0.5, beta=1.0))
    >>> t, s, moved = np.asarray([1], dtype=np.int32), np.asarray([1.0, 1.0]), np.asarray([0.0])
    >>> for _ in range(4):
    ...     now, t, s = seen(now, t, s, moved, Claims(sigma=0.5, beta=1.0)), t + 1, -s
    >>> [round(float(v), 2) for v in now.ratios / now.pairs]  # the point stays, the sample turns: 8 is not 2 sigma^2
    [16.0]
    """

    s: Vector  # the sample of the last round
    moved: Array  # the squared distance from its point to the next, (..., 1)
    way: Array  # the sum of these, (..., 1)
    start: Array  # the norm of the first point, (..., 1)
    due: Array  # the round in which the next pair is complete, (1,)
    pairs: Array  # how many were compared, (1,)
    ratios: Array  # the sums of z_t / 2 sigma^2, and the like, (rows, 1)
    wealth: Array  # the logarithms of the products, (rows, stakes)
    most: Array  # the largest that they ever were, (rows, stakes)


def replications(x: Vector) -> int:
    """How many there are along the leading axes.

    >>> import numpy as np
    >>> replications(np.zeros((4, 3)))
    4
    """
    return 1 if isinstance(x, Blocks) else math.prod(x.shape[:-1])


def no_evidence(x: Vector, claims: Claims) -> Evidence:
    """Before the first sample, at the point x."""
    zero, like, rows = zero_scalar(x), leaf(x), len(claims.rows(replications(x)))
    nothing = _xp.zeros((rows, len(STAKES)), like)
    return Evidence(
        s=zeros_like(x),
        moved=zero,
        way=zero,
        start=_norm(x),
        due=_xp.first_round(like) + 1,
        pairs=_xp.zeros((1,), like),
        ratios=_xp.zeros((rows, 1), like),
        wealth=nothing,
        most=nothing,
    )


def seen(now: Evidence, t: Array, s: Vector, moved: Array, claims: Claims, again: Vector | None = None) -> Evidence:
    """After round t with the sample s, whose point moves on by the root of ``moved``."""

    def bet(due: Array, pairs: Array, ratios: Array, wealth: Array, most: Array) -> tuple[Array, ...]:
        found = _ratios(now, t, s, claims, again)
        xp = _xp.namespace(wealth)
        wealth = wealth + xp.log1p(_xp.like(STAKES, wealth) * (found - 1))
        wait = xp.where(t < EARLY, 0 * t + DENSE, 0 * t + SPARSE)
        return due + wait, pairs + 1, ratios + found, wealth, xp.maximum(most, wealth)

    bets = _xp.only(t == now.due, bet, now.due, now.pairs, now.ratios, now.wealth, now.most)
    return Evidence(s, moved, now.way + moved, now.start, *bets)


def bets_of(now: Evidence, claims: Claims) -> Seen:
    """The bets as plain numbers; of runs side by side, as ``vmap`` makes them, those of all of them.

    >>> import numpy as np
    >>> bets_of(no_evidence(np.zeros(2), Claims(sigma=0.5)), Claims(sigma=0.5))
    Seen(rows=('noise',), most=[0.0], ratios=[0.0], bets=4)
    """
    rows = next(rows for n in (1, 2) if len(rows := claims.rows(n)) == now.most.shape[-2])
    most, pairs = _xp.floats(now.most), max(_xp.floats(now.pairs)[0], 1.0)
    ratios, K, size = _xp.floats(now.ratios), len(STAKES), len(rows)
    each = [max(value for i, value in enumerate(most) if i // K % size == row) for row in range(size)]
    return Seen(rows, each, [fmean(ratios[row::size]) / pairs for row in range(size)], bets=len(most))


def _ratios(now: Evidence, t: Array, s: Vector, claims: Claims, again: Vector | None) -> Array:
    """What true constants make at most 1 in the mean, (rows, 1)."""
    xp, like, n = _xp.namespace(now.moved), now.moved, replications(s)
    tiny, step = _xp.smallest_normal(like) ** 0.5, xp.sqrt(now.moved)
    far = now.start + xp.sqrt(now.way * _xp.like(t, like))  # at least the norm of any point so far
    sizes = _norm(now.s), _norm(s)
    rounding = (sizes[0] + sizes[1] + claims.beta * far) * (ROUNDINGS * _xp.machine_eps(like))
    reach, apart = claims.beta * step + claims.apart + rounding, s - now.s
    found = {"noise": _mean(_beyond(_norm(apart), reach, math.sqrt(2) * claims.sigma + rounding + tiny))}
    if n > 1:
        axes = tuple(range(s.ndim - 1))
        total = xp.sum(apart, axis=axes)
        reaches, roundings = xp.sum(reach, axis=axes), xp.sum(rounding, axis=axes)
        found["common"] = _beyond(_norm(total), reaches, math.sqrt(2 * n) * claims.sigma + roundings + tiny)
    if claims.B < math.inf:
        found["second"] = _mean((sizes[0] ** 2 + sizes[1] ** 2) * (0.5 / claims.B**2))
    if again is not None and claims.twice:
        found["again"] = _mean(_beyond(_norm(again - now.s), rounding, claims.beta * step + rounding + tiny))
    return xp.stack([found[name] for name in claims.rows(n)])


def _beyond(length: Array, reach: Array, unit: Array) -> Array:
    """The square of what is beyond reach, in units."""
    return (_xp.at_least(length - reach, 0.0) / unit) ** 2


def _mean(values: Array) -> Array:
    """Over all replications, (1,)."""
    xp = _xp.namespace(values)
    return xp.reshape(values if math.prod(values.shape) == 1 else xp.mean(values), (1,))


def _norm(v: Vector) -> Array:
    square = inner(v, v)
    return _xp.namespace(square).sqrt(square)
