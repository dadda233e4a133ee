"""What sets of symmetric matrices share."""

from .. import _xp
from .._xp import Array
from ..operators import Dense, Operator, trusted
from ..vectors import Blocks, Vector
from .base import Static


class Matrices(Static):
    """Symmetric matrices of norm at most 1, in the coordinates of the matrix itself."""

    axes = 2
    symmetric = True  # whether all of its matrices are

    def start(self, x: Array) -> Array:
        """The identity."""
        if isinstance(x, Blocks):
            raise TypeError(f"`{type(self).__name__}` acts on one array; got Blocks. Use `Box`, or one set a block.")
        return _xp.zeros((*x.shape[:-1], x.shape[-1], x.shape[-1]), x) + _xp.eye(x.shape[-1], x)

    def operator(self, u: Array) -> Operator:
        """The matrix as an operator."""
        return trusted(Dense, matrix=u)

    def pullback(self, p: Array, m: Array) -> Array:
        """The symmetric part of the outer product of p and m."""
        return _xp.symmetric(p[..., :, None] * m[..., None, :])

    def gradient_factor(self, x: Vector) -> float:
        """1: the outer product has Frobenius norm |p| |m|."""
        return 1.0
