"""Symmetric matrices with bounded eigenvalues."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..vectors import Vector
from .base import registry
from .matrices import Matrices


class Spectral(Matrices):
    """Symmetric U with every eigenvalue in [low, high], in the coordinates of the matrix itself."""

    low: float
    high: float = 1.0

    def project(self, u: Array) -> Array:
        """The eigenvalues clipped."""
        return _xp.spectral_map(lambda w: _xp.namespace(w).clip(w, min=self.low, max=self.high), u)

    def factorwise(self, function: Callable[[Array], Array], u: Array) -> Array:
        """``function`` on the eigenvalues."""
        return _xp.spectral_map(function, u)

    def minimize(self, g: Array) -> Array:
        """high on the eigenvectors of g with a negative eigenvalue, low on those with a positive one.

        An eigenvalue that may be 0 but for rounding counts as 0, and has 0, or what of the set is nearest to that: its
        sign would differ between libraries.
        """
        rest = min(max(0.0, self.low), self.high)

        def best(w: Array) -> Array:
            rounding = w.shape[-1] * _xp.machine_eps(w) * _xp.largest(_xp.namespace(w).abs(w))
            below, above = _xp.indicator(w < -rounding, w), _xp.indicator(w > rounding, w)
            return self.high * below + self.low * above + rest * (1 - below - above)

        return _xp.spectral_map(best, g)

    def from_ball(self, X: Array) -> Array:
        """The point for a matrix of norm at most 1: the centre of the ball, and its radius times the symmetric part."""
        return (self.low + self.high) / 2 * _xp.eye(X.shape[-1], X) + self.radius * _xp.symmetric(X)

    @property
    def radius(self) -> float:
        """Half of high - low: the set is a ball of the operator norm."""
        return (self.high - self.low) / 2

    def diameter(self, x: Vector) -> float:
        """(high - low) sqrt(d), the Frobenius distance of high I and low I."""
        return (self.high - self.low) * math.sqrt(x.shape[-1])

    def identity(self, x: Vector) -> Array | None:
        """The identity matrix."""
        return self.start(x) if self.holds_identity else None

    @property
    def holds_identity(self) -> bool:
        """Whether 1 is between low and high."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True)
class SpectralBall(Spectral):
    r"""$\{U=U^\top : \|U\|_{op}\le 1\}$, the largest set that the paper allows.

    Reference: the set-up of Algorithm 1.

    >>> import numpy as np
    >>> SpectralBall().project(np.asarray([[2.0, 0.0], [0.0, -3.0]]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """

    low = -1.0


@dataclass(frozen=True)
class PositiveContractions(Spectral):
    r"""$\{U=U^\top : 0\preceq U\preceq I\}$.

    Reference: the set-up of Algorithm 1; the experts of the numerical section lie in it.

    >>> import numpy as np
    >>> PositiveContractions().minimize(np.asarray([[2.0, 0.0], [0.0, -3.0]]))
    array([[0., 0.],
           [0., 1.]])
    """

    low = 0.0


SLOW = "slow, d^3 a round and replication"
registry.add(
    "positive",
    lambda experts, x: PositiveContractions(),
    f"symmetric matrices with eigenvalues in [0, 1]; {SLOW}",
    over="matrix",
    cli=True,
)
registry.add(
    "spectral",
    lambda experts, x: SpectralBall(),
    f"symmetric matrices with eigenvalues in [-1, 1]; {SLOW}",
    over="matrix",
    cli=True,
)
