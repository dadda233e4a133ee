r"""What the samples of a run say against the declared constants, as bets that true constants cannot win.

Let $y_t$ be the points of the samples $s_t=g(y_t)+\xi_t$. If $\beta$ and $\sigma$ are true,

$$z_t=\bigl(\|s_t-s_{t-1}\|-\beta\|y_t-y_{t-1}\|\bigr)_+^2\le\|\xi_t-\xi_{t-1}\|^2,$$

whose mean, given all before $s_{t-1}$, is at most $2\sigma^2$. So over disjoint pairs of rounds the product of
$1+\lambda(z_t/2\sigma^2-1)$ is a nonnegative supermartingale that starts at 1, for every fixed $\lambda$ in (0, 1]: it
ever reaches K with probability at most 1/K. Here are the logarithms of such products, for a few $\lambda$.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates.declared import Seen
from ..vectors import Vector, inner, leaf, zero_scalar, zeros_like

STAKES = (1 / 2, 1 / 8, 1 / 32, 1 / 128)  # the lambda
DENSE, SPARSE = 2, 16  # rounds from pair to pair, up to round EARLY and later
EARLY = 128
ROUNDINGS = 64  # how many of them the norm of a sample, or of a point, may be off by


@dataclass(frozen=True)
class Claims:
    """What the constants claim of samples; the gradients of two rounds differ by at most beta |y - y'| + apart.

    Reference: declared constants, in the theory pages.

    >>> Claims(sigma=0.5, eta=0.1, beta=2.0).rows
    ('noise',)
    """

    sigma: float  # root of the variance
    eta: float  # the largest step size
    beta: float = 0.0  # the Lipschitz constant of the gradient
    apart: float = 0.0  # 2 L of bounded gradients; twice the bias of clipped samples
    B: float = math.inf  # root of the second moment of a sample
    twice: bool = False  # whether each sample is taken again at the next point, where beta is that of the samples

    @property
    def rows(self) -> tuple[str, ...]:
        """What is bet on."""
        chosen = {"noise": True, "second": math.inf > self.B, "again": self.twice}
        return tuple(name for name, is_chosen in chosen.items() if is_chosen)


class Evidence(NamedTuple):
    """What is remembered of the samples; rows are those of `Claims`, K the number of stakes.

    Reference: declared constants, in the theory pages.

    >>> import numpy as np
    >>> claims, still, W = Claims(sigma=0.5, eta=0.1, beta=1.0), np.asarray([0.0]), np.asarray([0.0])
    >>> now, t, s = no_evidence(np.zeros(2), claims), np.asarray([1], dtype=np.int32), np.asarray([1.0, 1.0])
    >>> for _ in range(4):
    ...     now, t, s = seen(now, t, s, still, W, claims), t + 1, -s
    >>> (now.ratios / now.pairs).round(2)  # the point stays, the sample turns: 8 is not 2 sigma^2
    array([16.])
    """

    s: Vector  # the sample of the last round
    moved: Array  # the squared distance from its point to the next over eta^2, (..., 1)
    start: Array  # the norm of the first point, (..., 1)
    due: Array  # the round in which the next pair is complete, (1,)
    pairs: Array  # how many were compared, (1,)
    ratios: Array  # the sums of z_t / 2 sigma^2, and the like, (..., rows)
    wealth: Array  # the logarithms of the products, (..., K, rows)
    most: Array  # the largest that they ever were, (..., K, rows)


def no_evidence(x: Vector, claims: Claims) -> Evidence:
    """Before the first sample, at the point x."""
    zero, like, rows = zero_scalar(x), leaf(x), len(claims.rows)
    nothing = _xp.zeros((*zero.shape[:-1], len(STAKES), rows), like)
    return Evidence(
        s=zeros_like(x),
        moved=zero,
        start=_norm(x),
        due=_xp.first_round(like) + 1,
        pairs=_xp.zeros((1,), like),
        ratios=_xp.zeros((*zero.shape[:-1], rows), like),
        wealth=nothing,
        most=nothing,
    )


def seen(
    now: Evidence, t: Array, s: Vector, moved: Array, W: Array, claims: Claims, again: Vector | None = None
) -> Evidence:
    """After round t with the sample s, whose point moves on; ``moved`` and the sum W of such squares are over eta^2."""
    bet = partial(_bet, now, t, s, W, claims, again)
    bets = _xp.only(t == now.due, bet, now.due, now.pairs, now.ratios, now.wealth, now.most)
    return Evidence(s, moved, now.start, *bets)


def bets_of(now: Evidence, claims: Claims) -> Seen:
    """The bets as plain numbers. Those of independent replications are one bet, whose product is that of all.

    >>> import numpy as np
    >>> claims = Claims(sigma=0.5, eta=0.1)
    >>> bets_of(no_evidence(np.zeros(2), claims), claims).together
    [[0.0], [0.0], [0.0], [0.0]]
    """
    shape, pairs = (-1, *now.most.shape[-2:]), max(_xp.floats(now.pairs)[0], 1.0)
    most, wealth = (_xp.to_numpy(v).astype(float).reshape(shape) for v in (now.most, now.wealth))
    ratios = _xp.to_numpy(now.ratios).astype(float).reshape(-1, shape[-1]).mean(0) / pairs
    return Seen(claims.rows, most.max((0, 1)).tolist(), wealth.sum(0).tolist(), ratios.tolist(), runs=len(most))


def _bet(
    now: Evidence,
    t: Array,
    s: Vector,
    W: Array,
    claims: Claims,
    again: Vector | None,
    due: Array,
    pairs: Array,
    ratios: Array,
    wealth: Array,
    most: Array,
) -> tuple[Array, ...]:
    """The bets on the pair that round t completes."""
    xp, found = _xp.namespace(wealth), _ratios(now, t, s, W, claims, again)
    stakes = _xp.like([[stake] for stake in STAKES], wealth)
    wealth = wealth + xp.log1p(stakes * (found - 1)[..., None, :])
    return xp.where(t < EARLY, due + DENSE, due + SPARSE), pairs + 1, ratios + found, wealth, xp.maximum(most, wealth)


def _ratios(now: Evidence, t: Array, s: Vector, W: Array, claims: Claims, again: Vector | None) -> Array:
    """What true constants make at most 1 in the mean, (..., rows)."""
    xp, like = _xp.namespace(now.moved), now.moved
    tiny, step = _xp.smallest_normal(like) ** 0.5, xp.sqrt(now.moved) * claims.eta
    far = now.start + xp.sqrt(W * _xp.like(t, like)) * claims.eta  # at least the norm of any point so far
    last, this = _norm(now.s), _norm(s)
    rounding = (last + this + claims.beta * far) * (ROUNDINGS * _xp.machine_eps(like)) + tiny
    reach = claims.beta * step + claims.apart + rounding
    found = {"noise": beyond(_norm(s - now.s), reach, math.sqrt(2) * claims.sigma + rounding)}
    if math.inf > claims.B:
        found["second"] = (last**2 + this**2) * (0.5 / claims.B**2)
    if again is not None and claims.twice:
        found["again"] = beyond(_norm(again - now.s), rounding, claims.beta * step + rounding)
    rows = [found[name] for name in claims.rows]
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=-1)


def beyond(length: Array, reach: Array, unit: Array) -> Array:
    """The square of what is beyond reach, in units."""
    return (_xp.at_least(length - reach, 0.0) / unit) ** 2


def _norm(v: Vector) -> Array:
    square = inner(v, v)
    return _xp.namespace(square).sqrt(square)
