"""All contractions, symmetric or not."""

import math
from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..operators import polar
from ..vectors import Vector
from .base import registry
from .matrices import Matrices
from .spectral import SLOW


@dataclass(frozen=True)
class Contractions(Matrices):
    r"""$\{U\in\mathbb R^{d\times d} : \|U\|_{op}\le1\}$: the operator-norm ball, of matrices symmetric or not.

    The paper asks for symmetric matrices, and its proofs use the norm only.

    Reference: the set-up of Algorithm 1.

    >>> import numpy as np
    >>> Contractions().project(np.asarray([[0.0, 2.0], [0.5, 0.0]]))
    array([[0. , 1. ],
           [0.5, 0. ]])
    """

    radius = 1.0  # of the ball
    symmetric = False

    def from_ball(self, X: Array) -> Array:
        """The point for a matrix of norm at most 1: itself."""
        return X

    def pullback(self, p: Array, m: Array) -> Array:
        """The outer product of p and m."""
        return p[..., :, None] * m[..., None, :]

    def project(self, u: Array) -> Array:
        """The singular values clipped."""
        xp = _xp.namespace(u)
        V, sigma, W = xp.linalg.svd(u, full_matrices=False)
        return xp.matmul(V * xp.clip(sigma, max=1.0)[..., None, :], W)

    def minimize(self, g: Array) -> Array:
        """Minus the polar factor."""
        return -polar(g)

    def diameter(self, x: Vector) -> float:
        """2 sqrt(d), the Frobenius distance of I and -I."""
        return 2 * math.sqrt(x.shape[-1])

    def identity(self, x: Vector) -> Array:
        """The identity matrix."""
        return self.start(x)

    @property
    def holds_identity(self) -> bool:
        """Yes."""
        return True


registry.add(
    "contractions",
    lambda experts, x: Contractions(),
    f"matrices of norm at most 1, symmetric or not; {SLOW}",
    over="matrix",
)
