"""Kronecker operators: a matrix block times a small matrix, from one side.

For X of shape (p, q), X -> A X is the Kronecker product of I and A on vec(X), and X -> X B that of B^T and I, which
are never formed. Their average is a `Mixture`. Both act on the last two axes of an array, so they are operators for a
block of `Blockwise`, whose ``shapes`` make matrices of the slices of a vector.
"""

from dataclasses import dataclass

from .. import _xp
from .._xp import Array
from .base import OfMatrix


@dataclass(frozen=True, eq=False)
class LeftFactor(OfMatrix):
    r"""$X\mapsto AX$ with $\|A\|_{op}\le1$, on the matrices of the last two axes.

    Args:
        matrix: A, an array of shape (..., p, p).

    Reference: the paper's vec and mat, $\mathrm{vec}(AX)=(I\otimes A)\,\mathrm{vec}(X)$.

    >>> import numpy as np
    >>> from o2nc.operators import Blockwise
    >>> U = Blockwise((LeftFactor(np.asarray([[0.0, 1.0], [1.0, 0.0]])),), shapes=((2, 2),))
    >>> U @ np.asarray([1.0, 2.0, 3.0, 4.0])
    array([2., 1., 4., 3.])
    """

    shape = "(..., p, p)"

    contraction = True

    def __matmul__(self, X: Array) -> Array:
        return _xp.namespace(X).matmul(_xp.like(self.matrix, X), X)


@dataclass(frozen=True, eq=False)
class RightFactor(OfMatrix):
    r"""$X\mapsto XB$ with $\|B\|_{op}\le1$, on the matrices of the last two axes.

    Args:
        matrix: B, an array of shape (..., q, q).

    Reference: the paper's vec and mat, $\mathrm{vec}(XB)=(B^\top\otimes I)\,\mathrm{vec}(X)$.

    >>> import numpy as np
    >>> from o2nc.operators import Blockwise
    >>> U = Blockwise((RightFactor(np.asarray([[0.0, 1.0], [1.0, 0.0]])),), shapes=((2, 2),))
    >>> U @ np.asarray([1.0, 2.0, 3.0, 4.0])
    array([3., 4., 1., 2.])
    """

    shape = "(..., q, q)"

    contraction = True

    def __matmul__(self, X: Array) -> Array:
        return _xp.namespace(X).matmul(X, _xp.like(self.matrix, X))
