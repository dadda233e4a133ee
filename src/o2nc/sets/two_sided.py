"""The average of a learned factor from the left and one from the right."""

import math
from dataclasses import dataclass, field
from typing import Any

from .. import _xp
from .._xp import Array
from ..operators import Mixture, Operator, trusted
from ..vectors import Vector
from .base import OperatorSet, Static, registry
from .kronecker import LeftFactors, RightFactors, check_factors, check_shape, squarest
from .spectral import SpectralBall


@dataclass(frozen=True)
class TwoSided(Static):
    r"""$\{X\mapsto\frac12(AX+XB) : A\in\mathcal A,\ B\in\mathcal B\}$ for one matrix X of shape (p, q).

    The coordinates are the entries of A, then those of B, in one array of shape (..., p^2 + q^2).

    Args:
        shape: (p, q); an array of shape (..., p q) is X column by column, as the paper's vec, and `Blocks` are X.
        left: the set of the matrices A: `SpectralBall` (the default), `PositiveContractions` or `Fantope`.
        right: the set of the matrices B.

    Reference: the set-up of Algorithm 1, with $U=\frac12(I\otimes A+B\otimes I)$.

    >>> import numpy as np
    >>> S, x = TwoSided((2, 1)), np.asarray([1.0, 2.0])
    >>> S.identity(x)
    array([1., 0., 0., 1., 1.])
    >>> S.operator(np.asarray([0.0, 1.0, 1.0, 0.0, 1.0])) @ x
    array([1.5, 1.5])
    """

    shape: tuple[int, int]
    left: OperatorSet = field(default_factory=SpectralBall)
    right: OperatorSet = field(default_factory=SpectralBall)
    axes = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", check_shape("TwoSided(shape=...)", self.shape))
        check_factors("TwoSided(left=...)", self.left)
        check_factors("TwoSided(right=...)", self.right)

    def start(self, x: Vector) -> Array:
        """Where learners of the two factors start."""
        return self._joined(*(S.start(x) for S in self._sides))

    def operator(self, u: Array) -> Operator:
        """The average of the two products."""
        operators = tuple(S.operator(A) for S, A in zip(self._sides, self._factors(u), strict=True))
        return trusted(Mixture, weights=_xp.zeros((2,), u) + 0.5, operators=operators)

    def pullback(self, p: Vector, m: Vector) -> Array:
        """Half of the gradients of the two sides."""
        return 0.5 * self._joined(*(S.pullback(p, m) for S in self._sides))

    def project(self, u: Array) -> Array:
        """The projections of the two factors."""
        return self._joined(*(S.project(A) for S, A in zip(self._sides, self._factors(u), strict=True)))

    def minimize(self, g: Array) -> Array:
        """The minimisers over the two factors."""
        return self._joined(*(S.minimize(A) for S, A in zip(self._sides, self._factors(g), strict=True)))

    def diameter(self, x: Vector) -> float:
        """The root of the sum of the squares of those of the factors."""
        return math.hypot(*(S.diameter(x) for S in self._sides))

    def gradient_factor(self, x: Vector) -> float:
        """1/sqrt(2): half of the root of the sum of two squares, each at most 1."""
        return math.sqrt(0.5)

    def identity(self, x: Vector) -> Array | None:
        """Both factors the identity."""
        return self._joined(*(S.identity(x) for S in self._sides)) if self.holds_identity else None

    @property
    def holds_identity(self) -> bool:
        """Whether the identity is a factor on both sides."""
        return self.left.holds_identity and self.right.holds_identity

    @property
    def _sides(self) -> tuple[LeftFactors, RightFactors]:
        return LeftFactors(self.shape, self.left), RightFactors(self.shape, self.right)

    def _joined(self, A: Any, B: Any) -> Array:
        return _xp.namespace(A).concat([_xp.flatten_matrix(A), _xp.flatten_matrix(B)], axis=-1)

    def _factors(self, u: Array) -> tuple[Array, Array]:
        (p, q), reshape = self.shape, _xp.namespace(u).reshape
        batch = u.shape[:-1]
        return reshape(u[..., : p * p], (*batch, p, p)), reshape(u[..., p * p :], (*batch, q, q))


registry.add("two-sided", lambda experts, x: TwoSided(squarest(x)), "X -> (A X + X B) / 2", over="factors")
