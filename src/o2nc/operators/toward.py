"""The operator that sends one direction to another."""

from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..vectors import Vector, apply, check_vector, inner
from .base import check_below_one


@dataclass(frozen=True, eq=False)
class Toward:
    r"""A symmetric operator with $Um=d$ and $\|U\|_{op}=\|d\|/\|m\|\le 1$, at O(d) cost: a scaled reflection.

    $$U=-\epsilon\frac{\|d\|}{\|m\|}\Bigl(I-2\frac{ww^\top}{\|w\|^2}\Bigr),\qquad
      w=\frac m{\|m\|}+\epsilon\frac d{\|d\|},\qquad\epsilon=\mathrm{sign}\langle m,d\rangle,$$

    where the sign keeps $\|w\|^2\ge2$, so that nothing cancels for d along m or against it.
    It makes every direction no longer than the tracker a legal preconditioner. For d = 0 or m = 0 it is 0.

    Args:
        m: the direction that is mapped.
        d: where it goes, no longer than m.

    Reference: the set-up of Algorithm 1, which lets the set change with t.

    >>> import numpy as np
    >>> Toward(np.asarray([0.0, 2.0]), np.asarray([1.0, 0.0])) @ np.asarray([0.0, 2.0])
    array([1., 0.])
    """

    m: Vector
    d: Vector

    def __post_init__(self) -> None:
        check_vector("Toward(m=...)", self.m)
        check_vector("Toward(d=...)", self.d)
        ratio = _ratio(self.m, self.d)
        check_below_one("Toward(d=...)", ratio, ratio)

    contraction = True

    def __matmul__(self, x: Vector) -> Vector:
        m, d = (apply(_xp.like, v, x) for v in (self.m, self.d))
        along = inner(m, d)
        xp = _xp.namespace(along)
        sign = xp.where(along >= 0, xp.ones_like(along), -xp.ones_like(along))
        w = m * _inverse_norm(m) + d * (sign * _inverse_norm(d))
        square = inner(w, w)
        safe = xp.where(square > 0, square, xp.ones_like(square))
        return (w * (2 * inner(w, x) / safe) - x) * (sign * _ratio(m, d))


def _ratio(m: Vector, d: Vector) -> Array:
    """|d| / |m|, and 0 for m = 0."""
    square = inner(d, d)
    return _xp.namespace(square).sqrt(square) * _inverse_norm(m)


def _inverse_norm(v: Vector) -> Array:
    """1 / |v|, and 0 at 0."""
    square = inner(v, v)
    xp = _xp.namespace(square)
    safe = xp.where(square > 0, square, xp.ones_like(square))
    return xp.where(square > 0, 1 / xp.sqrt(safe), xp.zeros_like(square))
