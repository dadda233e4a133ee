"""Vectors: an array of shape (..., d), or `Blocks`, a tuple of arrays of any shapes taken as one vector.

The algorithms need of a vector only ``+``, ``-``, ``* scalar`` and `inner`. A scalar that is an array stands on the
right, ``v * c``, since arrays on the left would take `Blocks` apart. An array has its coordinates on the last
axis and replications on the leading ones, so its scalars have shape (..., 1). The scalars of `Blocks` have shape (1,).

>>> import numpy as np
>>> u = Blocks((np.ones((2, 2)), np.ones(3)))
>>> inner(u, 2.0 * u)
array([14.])
>>> inner(np.ones((5, 7)), np.ones((5, 7))).shape
(5, 1)
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from . import _xp
from ._xp import Array
from .checks import brief


class Blocks(NamedTuple):
    """A tuple of arrays of any shapes as one vector, $(x_1,\\dots,x_k)\\in R^{d_1}\\times\\dots\\times R^{d_k}$.

    Being a named tuple, it is a pytree for JAX and torch without registration.

    Reference: the paper's vec and mat, which identify a matrix with a vector.

    >>> import numpy as np
    >>> x = Blocks((np.zeros((2, 3)), np.zeros(4)))
    >>> (x + x - 0.5 * x).arrays[0].shape
    (2, 3)
    """

    arrays: tuple[Any, ...]  # of one library

    def __add__(self, other: "Blocks") -> "Blocks":  # type: ignore[override]
        return apply(lambda u, v: u + v, self, other)

    def __sub__(self, other: "Blocks") -> "Blocks":
        return apply(lambda u, v: u - v, self, other)

    def __neg__(self) -> "Blocks":
        return apply(lambda u: -u, self)

    def __mul__(self, scalar: "Scalar") -> "Blocks":  # type: ignore[override]
        return apply(lambda u: u * spread(scalar, u), self)

    def __rmul__(self, scalar: "Scalar") -> "Blocks":  # type: ignore[override]
        return self * scalar


Vector = Any  # an Array or Blocks
Scalar = float | Array  # of shape (..., 1), or (1,) beside Blocks


def spread(scalar: Scalar, block: Array) -> Scalar:
    """A scalar of shape (1,) in the shape that broadcasts against ``block`` without changing it."""
    if isinstance(scalar, (int, float)):
        return scalar
    return _xp.namespace(scalar).reshape(scalar, _xp.scalar_shape(block))


def apply(function: Callable[..., Array], *vectors: Vector) -> Vector:
    """``function`` on each block of the vectors, or on the arrays themselves.

    >>> import numpy as np
    >>> apply(np.exp, Blocks((np.zeros(2), np.zeros(1))))
    Blocks(arrays=(array([1., 1.]), array([1.])))
    """
    if not isinstance(vectors[0], Blocks):
        return function(*vectors)
    for v in vectors[1:]:
        _check_blocks(vectors[0], v)
    return Blocks(tuple(function(*blocks) for blocks in zip(*(v.arrays for v in vectors), strict=True)))


def _check_blocks(u: Blocks, v: Any) -> None:
    if not isinstance(v, Blocks) or len(v.arrays) != len(u.arrays):
        got = len(v.arrays) if isinstance(v, Blocks) else f"{type(v).__name__}, no Blocks"
        raise ValueError(f"Vectors must have the same blocks, here {len(u.arrays)}; got {got}.")


def inner(u: Vector, v: Vector) -> Array:
    """<u, v>, of shape (..., 1) for arrays and (1,) for `Blocks`."""
    if not isinstance(u, Blocks):
        return _xp.inner(u, v)
    _check_blocks(u, v)
    xp = _xp.namespace(u.arrays[0])
    meshes: dict[Any, Array] = {}  # blocks that are cut may lie on several, which know nothing of each other
    for a, b in zip(u.arrays, v.arrays, strict=True):
        mesh, term = getattr(a, "device_mesh", None), xp.reshape(xp.sum(a * b), (1,))
        meshes[mesh] = meshes[mesh] + term if mesh in meshes else term
    return reduce(add, map(_xp.gathered, meshes.values()))


def where(condition: Scalar, u: Vector, v: Vector) -> Vector:
    """``u`` where the scalar ``condition`` holds, ``v`` elsewhere."""
    if not isinstance(u, Blocks):
        return _xp.namespace(u).where(condition, u, v)
    return apply(lambda a, b: _xp.namespace(a).where(spread(condition, a), a, b), u, v)


def zeros_like(x: Vector) -> Vector:
    """The zero vector in the shape of ``x``."""
    return apply(lambda a: _xp.namespace(a).zeros_like(a), x)


def zero_scalar(x: Vector) -> Array:
    """The scalar 0 that goes with ``x``: shape (..., 1), or (1,) for `Blocks`."""
    return _xp.zeros((1,) if isinstance(x, Blocks) else (*x.shape[:-1], 1), leaf(x))


def leaf(x: Vector) -> Array:
    """An array of ``x``, to take library, dtype and device from."""
    return x.arrays[0] if isinstance(x, Blocks) else x


def shape_of(x: Vector) -> tuple:
    """The shape of an array, or the shapes of the blocks."""
    return tuple(tuple(a.shape) for a in x.arrays) if isinstance(x, Blocks) else tuple(x.shape)


def dimension(x: Vector) -> int:
    """How many coordinates one replication of ``x`` has."""
    return sum(math.prod(a.shape) for a in x.arrays) if isinstance(x, Blocks) else x.shape[-1]


def check_vector(name: str, x: Vector) -> None:
    """Raise unless ``x`` is a vector: floating arrays of one library, with at least one axis if not in `Blocks`."""
    arrays = x.arrays if isinstance(x, Blocks) else (x,)
    if not isinstance(arrays, tuple) or not arrays or not all(_xp.is_array(a) for a in arrays):
        raise TypeError(f"`{name}` must be an array or Blocks of a tuple of arrays; got {brief(x)}.")
    _xp.namespace(*arrays)
    for a in arrays:
        if not _xp.is_floating(a):
            raise ValueError(f"`{name}` must have a real floating dtype; got {a.dtype}.")
    if not isinstance(x, Blocks) and x.ndim == 0:
        raise ValueError(f"`{name}` must have shape (..., d); got shape ().")


def check_like(name: str, v: Vector, x: Vector) -> None:
    """Raise unless ``v`` is a vector in the shape and the array library of ``x``."""
    if type(v) is type(x) and not isinstance(x, Blocks) and v.shape == x.shape:
        return  # nearly always, and this is called in every round
    arrays = [u.arrays if isinstance(u, Blocks) else (u,) for u in (v, x)]
    if isinstance(v, Blocks) != isinstance(x, Blocks) or not all(_xp.is_array(a) for a in arrays[0]):
        raise TypeError(f"`{name}` must be a vector like `x`, {type(x).__name__}; got {brief(v)}.")
    if shape_of(v) != shape_of(x):
        raise ValueError(f"`{name}` must have the shape of `x`, {shape_of(x)}; got {shape_of(v)}.")
    _xp.namespace(*arrays[0], *arrays[1])


def check_shapes(name: str, shapes: Any) -> tuple[tuple[int, ...], ...]:
    """The shapes of blocks as tuples; raise unless each is (n,) or (p, q)."""
    wrong = TypeError(f"`{name}` must be a sequence of shapes (n,) or (p, q); got {brief(shapes)}.")
    if not isinstance(shapes, Sequence) or not all(isinstance(shape, Sequence) for shape in shapes):
        raise wrong
    if not all(len(shape) in (1, 2) and all(isinstance(n, int) and n >= 0 for n in shape) for shape in shapes):
        raise wrong
    return tuple(tuple(shape) for shape in shapes)


def project_ball(v: Vector, radius: float) -> tuple[Vector, Array]:
    r"""The projection $v\min(1, r/\|v\|)$ onto the ball of ``radius``, and the norm squared of ``v``.

    No branch, and no NaN at 0. Reference: Lemma 2 (projection).

    >>> import numpy as np
    >>> project_ball(np.asarray([3.0, 4.0]), 1.0)
    (array([0.6, 0.8]), array([25.]))
    """
    square = inner(v, v)
    return v * (radius / _xp.namespace(square).sqrt(_xp.at_least(square, radius**2))), square


def vec(X: Array) -> Array:
    """The columns of X stacked into a vector, the paper's vec: (..., p, q) -> (..., p q).

    >>> import numpy as np
    >>> vec(np.asarray([[1.0, 3.0], [2.0, 4.0]]))
    array([1., 2., 3., 4.])
    """
    if X.ndim < 2:
        raise ValueError(f"`X` must be a matrix, of shape (..., p, q); got shape {tuple(X.shape)}.")
    xp = _xp.namespace(X)
    return xp.reshape(xp.matrix_transpose(X), (*X.shape[:-2], X.shape[-2] * X.shape[-1]))


def mat(x: Array, p: int, q: int) -> Array:
    """The p x q matrix X with vec(X) = x, the paper's mat.

    >>> import numpy as np
    >>> mat(np.asarray([1.0, 2.0, 3.0, 4.0]), 2, 2)
    array([[1., 3.],
           [2., 4.]])
    """
    if p * q != x.shape[-1]:
        raise ValueError(f"`x` must have p q = {p} * {q} entries; got shape {tuple(x.shape)}.")
    xp = _xp.namespace(x)
    return xp.matrix_transpose(xp.reshape(x, (*x.shape[:-1], q, p)))


def split(x: Array, shapes: Sequence[tuple[int, ...]]) -> Blocks:
    """Consecutive slices of ``x`` in the given shapes; a matrix is filled column by column, as `mat` does.

    >>> import numpy as np
    >>> split(np.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), [(1,), (2, 2)])
    Blocks(arrays=(array([1.]), array([[2., 4.],
           [3., 5.]])))
    """
    if sum(math.prod(shape) for shape in shapes) != x.shape[-1] or any(len(shape) > 2 for shape in shapes):
        raise ValueError(f"`shapes` must be (n,) or (p, q) and fill the {x.shape[-1]} entries of `x`; got {shapes}.")
    blocks, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        piece = x[..., start:stop]
        blocks.append(mat(piece, *shape) if len(shape) == 2 else piece)
        start = stop
    return Blocks(tuple(blocks))


def join(blocks: Blocks, shapes: Sequence[tuple[int, ...]]) -> Array:
    """The inverse of `split`.

    >>> import numpy as np
    >>> x = np.arange(5.0)
    >>> join(split(x, [(1,), (2, 2)]), [(1,), (2, 2)])
    array([0., 1., 2., 3., 4.])
    """
    if len(blocks.arrays) != len(shapes):
        raise ValueError(f"`shapes` must be one a block, {len(blocks.arrays)}; got {shapes}.")
    pieces = [vec(X) if len(shape) == 2 else X for X, shape in zip(blocks.arrays, shapes, strict=True)]
    return _xp.namespace(*pieces).concat(pieces, axis=-1)
