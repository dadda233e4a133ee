"""Diagonal operators with factors in a Euclidean ball."""

from dataclasses import dataclass

from .. import _xp
from ..checks import check_number
from ..operators import Diagonal, Operator, trusted
from ..vectors import Vector, apply, inner, project_ball, zeros_like
from .base import Static, registry


@dataclass(frozen=True)
class DiagonalBall(Static):
    r"""$\{\mathrm{diag}(u) : \|u\|_2\le r\}$, in the coordinates u: contractions if $r\le1$.

    Learners start at its centre, as on a simplex. Works on arrays and on `Blocks`.

    Args:
        radius: r; operators may have any size up to it.

    Reference: online gradient descent on a ball (Zinkevich, 2003).

    >>> import numpy as np
    >>> DiagonalBall(0.5).project(np.asarray([3.0, 4.0]))
    array([0.3, 0.4])
    """

    radius: float = 1.0
    axes = 1

    def __post_init__(self) -> None:
        check_number("DiagonalBall(radius=...)", self.radius, positive=True)

    @property
    def any_size(self) -> bool:
        """Whether operators need not be contractions."""
        return self.radius > 1

    def start(self, x: Vector) -> Vector:
        """The centre, 0."""
        return zeros_like(x)

    def operator(self, u: Vector) -> Operator:
        """diag(u)."""
        return trusted(Diagonal, diagonal=u)

    def pullback(self, p: Vector, m: Vector) -> Vector:
        """The products p_i m_i."""
        return apply(lambda a, b: a * b, p, m)

    def project(self, u: Vector) -> Vector:
        """u, shortened to the radius."""
        return project_ball(u, self.radius)[0]

    def minimize(self, g: Vector) -> Vector:
        """-r g / |g|, and 0 for g = 0."""
        square = inner(g, g)
        return -(g * (self.radius * _xp.inverse(_xp.namespace(square).sqrt(square))))

    def diameter(self, x: Vector) -> float:
        """2 r."""
        return 2 * self.radius

    def gradient_factor(self, x: Vector) -> float:
        """1: the products p_i m_i have norm at most |p| |m|."""
        return 1.0

    def identity(self, x: Vector) -> None:
        """None: in more than one dimension a ball of contractions has none."""

    @property
    def holds_identity(self) -> bool:
        """Never."""
        return False


registry.add("diagonal-ball", lambda experts, x: DiagonalBall(), "diagonal matrices in a ball", over="diagonal")
