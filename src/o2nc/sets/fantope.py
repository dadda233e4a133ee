"""Positive contractions of bounded trace: the convex hull of the projectors of bounded rank."""

import math
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..vectors import Vector
from .base import registry
from .matrices import Matrices


@dataclass(frozen=True)
class Fantope(Matrices):
    r"""$\{U=U^\top : 0\preceq U\preceq I,\ \mathrm{tr}\,U\le k\}$, the convex hull of the projectors of rank at most k.

    For vectors of dimension d > k. It does not hold the identity, so that no learner over it can state a bound.
    `OverOracles` can, over such a learner and `Constant`.

    Args:
        k: the largest rank.

    Reference: Vu, Cho, Lei and Rohe (2013), where the trace is k; the projectors of the numerical section lie in it.

    >>> import numpy as np
    >>> Fantope(1).project(np.asarray([[2.0, 0.0], [0.0, 1.5]]))
    array([[0.75, 0.  ],
           [0.  , 0.25]])
    >>> Fantope(1).minimize(np.asarray([[-2.0, 0.0], [0.0, -3.0]]))
    array([[0., 0.],
           [0., 1.]])
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise ValueError(f"`Fantope(k=...)` must be a whole number of at least 1; got {self.k!r}.")

    def start(self, x: Array) -> Array:
        """k/d times the identity, the point nearest to it."""
        identity = super().start(x)
        if self.k >= x.shape[-1]:
            raise ValueError(
                f"`Fantope(k=...)` must be below the dimension, {x.shape[-1]}, since the trace is no bound from there "
                f"on (that is `PositiveContractions`); got {self.k}."
            )
        return identity * (self.k / x.shape[-1])

    def project(self, u: Array) -> Array:
        """The eigenvalues shifted down by one number, at least 0, until those clipped to [0, 1] sum to at most k."""
        return _xp.spectral_map(self._capped, u)

    def minimize(self, g: Array) -> Array:
        """1 on the eigenvectors of the k smallest eigenvalues of g, where these are negative by more than rounding."""

        def best(w: Array) -> Array:
            xp, d = _xp.namespace(w), w.shape[-1]
            first = xp.arange(d, device=_xp.device(w)) < self.k  # eigenvalues ascend
            negative = w < -d * _xp.machine_eps(w) * _xp.largest(xp.abs(w))
            return _xp.indicator(xp.logical_and(first, negative), w)

        return _xp.spectral_map(best, g)

    def diameter(self, x: Vector) -> float:
        """sqrt(min(2k, d)), the Frobenius distance of two projectors of rank k that share as little as they can."""
        return math.sqrt(min(2 * self.k, x.shape[-1]))

    def identity(self, x: Vector) -> None:
        """None: its trace is d > k."""

    @property
    def holds_identity(self) -> bool:
        """Never."""
        return False

    def _capped(self, w: Array) -> Array:
        """clip(w - theta, 0, 1), with the smallest theta >= 0 for which the sum F(theta) is at most k.

        F falls, and is linear between the sorted numbers w_i - 1 and w_i. On the last of these pieces whose left end
        has F >= k, theta is where its line meets k.
        """
        xp, top = _xp.namespace(w), _xp.largest(w)
        w = w - top  # theta alone changes; large numbers would round the sum
        ends = xp.sort(xp.concat([w - 1, w], axis=-1), axis=-1)
        F = xp.sum(xp.clip(w[..., None, :] - ends[..., :, None], min=0.0, max=1.0), axis=-1)
        left, right, fall = ends[..., :-1], ends[..., 1:], F[..., :-1] - F[..., 1:]
        share = xp.clip((F[..., :-1] - self.k) / xp.where(fall > 0, fall, xp.ones_like(fall)), max=1.0)
        meets = xp.where(F[..., :-1] >= self.k, left + share * (right - left), left[..., :1])
        return xp.clip(w - xp.maximum(_xp.largest(meets), -top), min=0.0, max=1.0)


registry.add(
    "fantope", lambda experts, x: Fantope(max(1, x.shape[-1] // 2)), "the hull of projectors of rank k", over="matrix"
)
