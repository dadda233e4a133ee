"""Where the points of an online game lie: a simplex, a box, a ball, or symmetric matrices.

An oracle plays operators U. With one direction m for all rounds, $w=Um$ is a point, and here its coordinates are those
of U: diagonal operators with m = (1, ..., 1) make every vector, and $X\\mapsto AX$ with m the identity matrix makes A.
So each oracle of the library plays in R^d what it says of operators.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _xp, sets
from .._xp import Array
from ..checks import brief, check_horizon, check_number
from ..operators import Diagonal, Identity, Operator, act, declares, trusted
from ..sets.base import Coordinates, OperatorSet
from ..sets.box import check_bounds
from ..sets.wide import ANY_SIZE
from ..vectors import Vector, mat, vec


class Aimed:
    """A set whose stated bounds are about its ``comparator``: what they call the identity is this point."""

    comparator: Coordinates | None

    def identity(self, x: Vector) -> Coordinates | None:
        """The comparator."""
        return self.comparator

    @property
    def holds_identity(self) -> bool:
        """Whether there is a comparator."""
        return self.comparator is not None


@dataclass(frozen=True, eq=False)
class AimedBox(Aimed, sets.WideBox):
    """A box whose learners start in the middle."""

    comparator: Any = None

    def start(self, x: Vector) -> Vector:
        """The middle."""
        return super().start(x) * 0 + (self.low + self.high) / 2


@dataclass(frozen=True, eq=False)
class AimedBall(Aimed, sets.DiagonalBall):
    """A ball."""

    comparator: Any = None


@dataclass(frozen=True, eq=False)
class AimedFactors(Aimed, sets.LeftFactors):
    """Matrices whose learners start in the middle of their eigenvalues."""

    comparator: Any = None

    def start(self, x: Vector) -> Array:
        """The middle, if one number is that; else where learners of the matrices start."""
        u, low = super().start(x), getattr(self.factors, "low", None)
        return u if low is None else u * 0 + _xp.eye(u.shape[-1], u) * ((low + self.factors.high) / 2)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        if name in ("low", "high", "factorwise"):  # what mirror maps ask of matrices
            return getattr(self.factors, name)
        raise AttributeError(name)


@dataclass(frozen=True, eq=False)
class Aim(Identity):
    """An expert that stated bounds are about: what they call the identity is this operator."""

    operator: Operator
    identity = True

    @property
    def contraction(self) -> bool:  # type: ignore[override]
        """Whether the operator says that it is."""
        return declares(self.operator, "contraction")

    def __matmul__(self, v: Vector) -> Vector:
        return act(self.operator, v)


@dataclass(frozen=True, eq=False)
class Domain:
    """What the four kinds share; d is the dimension, and ``like`` an array of the library, dtype and device to use."""

    d: int
    like: Array | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_horizon(self.d, f"{type(self).__name__}(d=...)")
        if self.like is not None and not (_xp.is_array(self.like) and _xp.is_floating(self.like)):
            name = f"{type(self).__name__}(like=...)"
            raise TypeError(f"`{name}` must be an array with a real floating dtype; got {brief(self.like)}.")

    @property
    def set(self) -> OperatorSet:
        """The operators that an oracle chooses from."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """That of a point, and of a gradient."""
        return (self.d,)

    @property
    def m(self) -> Array:
        """The direction: (1, ..., 1)."""
        return _xp.zeros((self.d,), self.example) + 1.0

    @property
    def example(self) -> Array:
        """An array of the library, dtype and device."""
        return np.zeros(1) if self.like is None else self.like

    def point(self, U: Operator) -> Array:
        """w = U m."""
        return act(U, self.m)

    def flat(self, g: Array) -> Array:
        """A gradient as a vector like m."""
        return g

    def size(self, g: Array) -> float:
        r"""What a gradient counts in stated bounds: $\|g\|$."""
        return float(np.linalg.norm(_xp.to_numpy(g)))

    def aimed(self, u: Coordinates) -> list[OperatorSet]:
        """Sets whose bounds against the identity are bounds against points that u is a mixture of."""
        return [replace(self.set, comparator=u)]  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class Simplex(Domain):
    r"""The probability simplex $\{w\in R^d : w_i\ge0,\ \sum_iw_i=1\}$; a corner of it is an expert.

    A round costs $d^2$. Learners start at $(1/d,\dots,1/d)$.

    Args:
        d: how many experts there are.
        like: an array of the library, dtype and device to use; NumPy's float64 if not given.

    Reference: Algorithm 3 (Hedge), with the coordinate projectors as experts and m = (1, ..., 1).

    >>> W = Simplex(3)
    >>> W.set.start(W.m), W.point(W.set.operator(np.asarray([0.2, 0.3, 0.5])))
    (array([0.33333333, 0.33333333, 0.33333333]), array([0.2, 0.3, 0.5]))
    """

    @property
    def set(self) -> sets.Hull:
        """The hull of the projectors onto the coordinates."""
        return sets.Hull(tuple(trusted(Diagonal, diagonal=row) for row in self._corners()))

    def size(self, g: Array) -> float:
        r"""What a gradient counts in stated bounds: $\|g\|_\infty$."""
        return float(np.abs(_xp.to_numpy(g)).max())

    def aimed(self, u: Coordinates) -> list[OperatorSet]:
        """One hull for each expert in the mixture u: the bounds are about that expert."""
        operators = self.set.operators
        chosen = np.flatnonzero(_xp.to_numpy(u) > 0).tolist()
        return [sets.Hull((*operators[:k], Aim(operators[k]), *operators[k + 1 :])) for k in chosen]

    def _corners(self) -> list[Array]:
        eye = _xp.eye(self.d, self.example)
        return [eye[k, :] for k in range(self.d)]

    def __str__(self) -> str:
        return f"the simplex of {self.d} experts"


@dataclass(frozen=True, eq=False)
class Box(Domain):
    r"""The box $\{w\in R^d : low\le w_i\le high\}$. Learners start in its middle.

    Args:
        d: the dimension.
        low: the least coordinate.
        high: the greatest coordinate.
        like: an array of the library, dtype and device to use; NumPy's float64 if not given.

    Reference: diagonal operators with m = (1, ..., 1).

    >>> W = Box(2, low=-1.0, high=3.0)
    >>> W.set.start(W.m)
    array([1., 1.])
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds("Box", self.low, self.high, *ANY_SIZE)

    @property
    def set(self) -> AimedBox:
        """Diagonal operators."""
        return AimedBox(self.low, self.high)

    def __str__(self) -> str:
        return f"the box [{self.low:g}, {self.high:g}]^{self.d}"


@dataclass(frozen=True, eq=False)
class Ball(Domain):
    r"""The Euclidean ball $\{w\in R^d : \|w\|\le radius\}$. Learners start at 0.

    Args:
        d: the dimension.
        radius: the radius.
        like: an array of the library, dtype and device to use; NumPy's float64 if not given.

    Reference: `o2nc.sets.DiagonalBall` with m = (1, ..., 1).

    >>> W = Ball(2, radius=5.0)
    >>> W.set.project(np.asarray([6.0, 8.0]))
    array([3., 4.])
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("Ball(radius=...)", self.radius, positive=True)

    @property
    def set(self) -> AimedBall:
        """Diagonal operators."""
        return AimedBall(self.radius)

    def __str__(self) -> str:
        return f"the ball of radius {self.radius:g} in R^{self.d}"


@dataclass(frozen=True, eq=False)
class Spectral(Domain):
    r"""Symmetric d x d matrices whose eigenvalues are restricted. Points and gradients have the shape (d, d).

    A round costs $d^3$. Learners start in the middle of the eigenvalues, on a `Fantope` at k/d times the identity.

    Args:
        d: the number of rows.
        matrices: `o2nc.sets.SpectralBall` (eigenvalues in [-1, 1], the default), `o2nc.sets.PositiveContractions`
            (in [0, 1]), `o2nc.sets.WideSpectral` (in any interval) or `o2nc.sets.Fantope` (in [0, 1], trace at most k).
        like: an array of the library, dtype and device to use; NumPy's float64 if not given.

    Reference: `o2nc.sets.LeftFactors` with m the identity matrix.

    >>> W = Spectral(2, sets.PositiveContractions())
    >>> W.point(W.set.operator(W.set.start(W.m)))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    matrices: OperatorSet = field(default_factory=sets.SpectralBall)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.matrices, type) or not isinstance(self.matrices, OperatorSet) or self.matrices.axes != 2:
            raise TypeError(
                f"`Spectral(matrices=...)` must be a set of matrices, as SpectralBall(); got {self.matrices!r}."
            )

    @property
    def set(self) -> AimedFactors:
        """The products with a matrix."""
        return AimedFactors((self.d, self.d), self.matrices)

    @property
    def shape(self) -> tuple[int, ...]:
        """(d, d)."""
        return (self.d, self.d)

    @property
    def m(self) -> Array:
        """The identity matrix, as a vector."""
        return vec(_xp.eye(self.d, self.example))

    def point(self, U: Operator) -> Array:
        """The matrix A of X -> A X."""
        return mat(super().point(U), self.d, self.d)

    def flat(self, g: Array) -> Array:
        """The columns of g."""
        return vec(g)

    def __str__(self) -> str:
        return f"the {self.d} x {self.d} matrices of {self.matrices}"
