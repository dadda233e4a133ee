"""Single operators: the identity, diagonals, projectors and matrices."""

from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from ..vectors import Blocks, Vector, apply, check_vector
from .base import OfMatrix, check_below_one, check_matrix, trusted


@dataclass(frozen=True)
class Identity:
    """The identity $I_d$, the comparator of the theorems.

    Reference: Theorem 1.

    >>> import numpy as np
    >>> Identity() @ np.asarray([1.0, 2.0])
    array([1., 2.])
    """

    contraction = identity = True

    def __matmul__(self, v: Vector) -> Vector:
        return v


@dataclass(frozen=True, eq=False)
class Diagonal:
    r"""$\mathrm{diag}(u)$ with $|u_i|\le 1$: one factor for each coordinate.

    Args:
        diagonal: array of shape (..., d), or `Blocks` in the shapes of the vector.

    Reference: the set-up of Algorithm 1.

    >>> import numpy as np
    >>> Diagonal(np.asarray([1.0, 0.5])) @ np.asarray([2.0, 2.0])
    array([2., 1.])
    """

    diagonal: Vector

    def __post_init__(self) -> None:
        check_vector("Diagonal(diagonal=...)", self.diagonal)
        for u in self.diagonal.arrays if isinstance(self.diagonal, Blocks) else (self.diagonal,):
            check_below_one("Diagonal(diagonal=...)", _xp.namespace(u).abs(u), u)

    contraction = True

    def __matmul__(self, v: Vector) -> Vector:
        return apply(lambda u, x: x * _xp.like(u, x), self.diagonal, v)


@dataclass(frozen=True, eq=False)
class Projector:
    r"""The orthogonal projector $P=BB^\top$ onto the span of the columns of $B$.

    Args:
        basis: array of shape (d, k) with orthonormal columns.

    Reference: the experts of the numerical section.

    >>> import numpy as np
    >>> Projector(np.asarray([[0.6], [0.8]])) @ np.asarray([1.0, 0.0])
    array([0.36, 0.48])
    >>> Projector.from_mask(np.asarray([True, False])) @ np.asarray([2.0, 2.0])
    array([2., 0.])
    """

    basis: Array

    def __post_init__(self) -> None:
        check_matrix("Projector(basis=...)", self.basis, "(d, k), one orthonormal column a direction", axes=2)
        if _xp.is_traced(self.basis):
            return
        xp, (d, k) = _xp.namespace(self.basis), self.basis.shape
        gram = xp.matmul(xp.matrix_transpose(self.basis), self.basis)
        error = float(xp.max(xp.abs(gram - _xp.eye(k, self.basis)))) if k else 0.0
        if not error <= 100 * max(d, 1) * _xp.machine_eps(self.basis):
            raise ValueError(
                f"`Projector(basis=...)` must have orthonormal columns; B^T B differs from I by {error:g}, "
                "so B B^T is no projector."
            )

    @classmethod
    def from_mask(cls, mask: Array) -> Diagonal:
        """The projector that keeps the coordinates where ``mask`` is true: a diagonal operator."""
        if not _xp.is_array(mask) or mask.ndim == 0:
            raise TypeError(f"`mask` must be a boolean array of shape (..., d); got {mask!r}.")
        xp = _xp.namespace(mask)
        if not xp.isdtype(mask.dtype, "bool"):
            raise TypeError(f"`mask` must be boolean; got dtype {mask.dtype}.")
        return trusted(Diagonal, diagonal=xp.astype(mask, xp.float32))  # 0 and 1 are exact in every dtype

    contraction = True

    def __matmul__(self, v: Array) -> Array:
        xp, B = _xp.namespace(v), _xp.like(self.basis, v)
        return xp.matmul(xp.matmul(v, B), xp.matrix_transpose(B))


@dataclass(frozen=True, eq=False)
class Dense(OfMatrix):
    r"""A matrix $U$ with $\|U\|_{op}\le 1$.

    Args:
        matrix: array of shape (..., d, d).

    Reference: the set-up of Algorithm 1; the proofs use the norm and not the symmetry.

    >>> import numpy as np
    >>> Dense(np.asarray([[0.0, 1.0], [1.0, 0.0]])) @ np.asarray([1.0, 2.0])
    array([2., 1.])
    """

    contraction = True

    def __matmul__(self, v: Array) -> Array:
        return _xp.matvec(_xp.like(self.matrix, v), v)
