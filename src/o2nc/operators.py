"""Preconditioners: linear contractions of R^d, applied with ``U @ v``.

An operator acts on the last axis of an array, so replications on the leading axes need nothing; `Identity`, `Diagonal`,
`Mixture` and `Blockwise` act on `Blocks` too. What a user builds is checked at construction. What a learner plays holds
by construction and is made with `trusted`, without a check, so that it can be traced and costs nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from . import _xp
from ._xp import Array
from .constants import brief
from .vectors import Blocks, Scalar, Vector, apply, check_shapes, check_vector, inner, join, leaf, shape_of, split

Self = TypeVar("Self")


@runtime_checkable
class Operator(Protocol):
    r"""A linear map $U$ of R^d with $\|U\|_{op}\le 1$.

    Reference: the set-up of Algorithm 1.

    >>> isinstance(Identity(), Operator)
    True
    """

    def __matmul__(self, v: Vector) -> Vector:
        """U v."""
        ...


def trusted(kind: type[Self], **values: Any) -> Self:
    """An operator of class ``kind`` that holds by construction: its checks are skipped."""
    U = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(U, name, value)
    return U


def act(U: Operator, v: Vector) -> Vector:
    """U v as a method call, since torch.compile cannot trace ``U @ v`` of an object and a tensor."""
    return type(U).__matmul__(U, v)


def check_is_operator(name: str, U: Any) -> None:
    """Raise unless ``U`` is an operator."""
    if _xp.is_array(U):
        raise TypeError(
            f"`{name}` must be an operator; got an array. `Dense(matrix)` or `Diagonal(diagonal)` makes one."
        )
    if isinstance(U, type) or not isinstance(U, Operator):
        kind = f"the class {U.__name__}" if isinstance(U, type) else f"{U!r}"
        raise TypeError(f"`{name}` must be an operator, with U @ v; got {kind}.")


def check_acts(name: str, U: Operator, x: Vector) -> None:
    """Raise unless ``U`` maps vectors like ``x`` to such vectors, in one array library."""
    rule = f"`{name}` must act on vectors like `x`, of shape {shape_of(x)}; {type(U).__name__}"
    try:
        found = shape_of(act(U, x))
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError) as error:  # one for each array library
        raise ValueError(f"{rule} does not: {str(error).rstrip(' .')}.") from error
    if found != shape_of(x):
        raise ValueError(f"{rule} returns shape {found}.")
    for V in U.operators if isinstance(U, Mixture) else (U,):
        last = slice(None) if isinstance(x, Blocks) else -1  # every block, or the coordinates of an array
        if isinstance(V, Diagonal) and shape_of(V.diagonal)[last] != shape_of(x)[last]:
            raise ValueError(f"{rule} has shape {shape_of(V.diagonal)}.")  # it would broadcast


def _check_matrix(name: str, A: Any, rule: str, axes: int | None = None) -> None:
    if not _xp.is_array(A):
        raise TypeError(f"`{name}` must be an array of shape {rule}; got {brief(A)}.")
    if A.ndim < 2 or A.ndim != (axes or A.ndim):
        raise ValueError(f"`{name}` must be an array of shape {rule}; got shape {tuple(A.shape)}.")
    if not _xp.is_floating(A):
        raise TypeError(f"`{name}` must have a real floating dtype; got {A.dtype}.")


def check_operators(name: str, operators: Any) -> tuple[Operator, ...]:
    """The operators as a tuple; raise unless they are operators."""
    if not isinstance(operators, Iterable) or _xp.is_array(operators):
        raise TypeError(f"`{name}` must be a sequence of operators; got {brief(operators)}.")
    operators = tuple(operators)
    for U in operators:
        check_is_operator(name, U)
    return operators


def _check_below_one(name: str, norm: Array, v: Array) -> None:
    xp = _xp.namespace(v)
    if _xp.is_traced(v):
        return
    worst = float(xp.max(norm))
    if not worst <= 1 + 100 * _xp.machine_eps(v):
        raise ValueError(f"`{name}` must have operator norm at most 1; got {worst:g}.")


@dataclass(frozen=True)
class Identity:
    """The identity $I_d$, the comparator of the theorems.

    Reference: Theorem 1.

    >>> import numpy as np
    >>> Identity() @ np.asarray([1.0, 2.0])
    array([1., 2.])
    """

    def __matmul__(self, v: Vector) -> Vector:
        return v


@dataclass(frozen=True, eq=False)
class Diagonal:
    r"""$\mathrm{diag}(u)$ with $|u_i|\le 1$: one factor a coordinate.

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
            _check_below_one("Diagonal(diagonal=...)", _xp.namespace(u).abs(u), u)

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
        _check_matrix("Projector(basis=...)", self.basis, "(d, k), one orthonormal column a direction", axes=2)
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

    def __matmul__(self, v: Array) -> Array:
        xp, B = _xp.namespace(v), _xp.like(self.basis, v)
        return xp.matmul(xp.matmul(v, B), xp.matrix_transpose(B))


@dataclass(frozen=True, eq=False)
class Dense:
    r"""A matrix $U$ with $\|U\|_{op}\le 1$.

    Args:
        matrix: array of shape (..., d, d).

    Reference: the set-up of Algorithm 1; the proofs use the norm and not the symmetry.

    >>> import numpy as np
    >>> Dense(np.asarray([[0.0, 1.0], [1.0, 0.0]])) @ np.asarray([1.0, 2.0])
    array([2., 1.])
    """

    matrix: Array

    def __post_init__(self) -> None:
        A = self.matrix
        _check_matrix("Dense(matrix=...)", A, "(..., d, d)")
        if A.shape[-1] != A.shape[-2]:
            raise ValueError(f"`Dense(matrix=...)` must be square, of shape (..., d, d); got shape {tuple(A.shape)}.")
        if not _xp.is_traced(A):
            if not _xp.all_finite(A):
                raise ValueError(f"`Dense(matrix=...)` must be finite; got {A}.")
            _check_below_one("Dense(matrix=...)", _xp.namespace(A).linalg.matrix_norm(A, ord=2), A)

    def __matmul__(self, v: Array) -> Array:
        return _xp.matvec(_xp.like(self.matrix, v), v)


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""$\sum_k w_kU_k$ with $w$ on the simplex, what Hedge plays.

    Args:
        weights: array of shape (..., K), nonnegative, summing to 1.
        operators: K operators.

    Reference: the stochastic oracle and Hedge experts of the numerical section.

    >>> import numpy as np
    >>> P = Projector.from_mask(np.asarray([True, False]))
    >>> Mixture(np.asarray([0.5, 0.5]), (Identity(), P)) @ np.asarray([2.0, 2.0])
    array([2., 1.])
    """

    weights: Array
    operators: tuple[Operator, ...]

    def __post_init__(self) -> None:
        w = self.weights
        object.__setattr__(self, "operators", check_operators("Mixture(operators=...)", self.operators))
        check_vector("Mixture(weights=...)", w)
        if w.shape[-1] != len(self.operators) or not self.operators:
            raise ValueError(
                f"`Mixture(weights=...)` must have one weight an operator on its last axis, {len(self.operators)}; "
                f"got shape {tuple(w.shape)}."
            )
        if not _xp.is_traced(w):
            xp = _xp.namespace(w)
            if not (xp.min(w) >= 0 and xp.max(xp.abs(xp.sum(w, axis=-1) - 1)) <= 100 * _xp.machine_eps(w)):
                raise ValueError(f"`Mixture(weights=...)` must be nonnegative and sum to 1; got {w}.")

    def __matmul__(self, v: Vector) -> Vector:
        w = _xp.like(self.weights, leaf(v))
        first, *rest = (act(U, v) * w[..., k : k + 1] for k, U in enumerate(self.operators))
        return sum(rest, start=first)


@dataclass(frozen=True, eq=False)
class Blockwise:
    r"""$U_1\oplus\dots\oplus U_k$: one operator a block.

    On `Blocks`, operator i acts on block i. On an array, ``shapes`` cut the last axis into consecutive blocks; a shape
    (p, q) is a matrix, filled column by column as the paper's mat, and an operator acts on its last axis: `Dense` with
    matrix A is then $X\mapsto XA^\top$.

    Args:
        operators: one operator a block.
        shapes: the shapes of the blocks, needed for arrays only.

    Reference: the paper's vec and mat.

    >>> import numpy as np
    >>> U = Blockwise((Identity(), Diagonal(np.asarray([0.5, 0.5]))), shapes=((1,), (2,)))
    >>> U @ np.asarray([1.0, 1.0, 1.0])
    array([1. , 0.5, 0.5])
    """

    operators: tuple[Operator, ...]
    shapes: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "operators", check_operators("Blockwise(operators=...)", self.operators))
        if self.shapes is None:
            return
        object.__setattr__(self, "shapes", check_shapes("Blockwise(shapes=...)", self.shapes))
        if len(self.shapes) != len(self.operators):
            raise ValueError(
                f"`Blockwise(shapes=...)` must have one shape an operator, {len(self.operators)}; got {self.shapes}."
            )

    def __matmul__(self, v: Vector) -> Vector:
        if not isinstance(v, Blocks):
            if self.shapes is None:
                raise ValueError("`Blockwise(shapes=...)` must be given to act on an array; got none.")
            return join(act(self, split(v, self.shapes)), self.shapes)
        if len(v.arrays) != len(self.operators):
            raise ValueError(f"The vector must have {len(self.operators)} blocks; got {len(v.arrays)}.")
        return Blocks(tuple(act(U, x) for U, x in zip(self.operators, v.arrays, strict=True)))


@dataclass(frozen=True, eq=False)
class Toward:
    r"""A symmetric operator with $Um=d$ and $\|U\|_{op}=\|d\|/\|m\|\le 1$, at O(d) cost: a scaled reflection.

    $$U=-\epsilon\frac{\|d\|}{\|m\|}\Bigl(I-2\frac{ww^\top}{\|w\|^2}\Bigr),\qquad
      w=\frac m{\|m\|}+\epsilon\frac d{\|d\|},\qquad\epsilon=\mathrm{sign}\langle m,d\rangle,$$

    where the sign keeps $\|w\|^2\ge2$, so that nothing cancels for d along m or against it.
    It makes every direction no longer than the tracker a legal preconditioner. For d = 0 or m = 0 it is 0.

    Args:
        m: the direction that is mapped.
        d: where it goes, no longer than m.

    Reference: the set-up of Algorithm 1, which lets the set change with t.

    >>> import numpy as np
    >>> Toward(np.asarray([0.0, 2.0]), np.asarray([1.0, 0.0])) @ np.asarray([0.0, 2.0])
    array([1., 0.])
    """

    m: Vector
    d: Vector

    def __post_init__(self) -> None:
        check_vector("Toward(m=...)", self.m)
        check_vector("Toward(d=...)", self.d)
        ratio = _ratio(self.m, self.d)
        _check_below_one("Toward(d=...)", ratio, ratio)

    def __matmul__(self, x: Vector) -> Vector:
        m, d = (apply(_xp.like, v, x) for v in (self.m, self.d))
        along = inner(m, d)
        xp = _xp.namespace(along)
        sign = xp.where(along >= 0, xp.ones_like(along), -xp.ones_like(along))
        w = m * _inverse_norm(m) + d * (sign * _inverse_norm(d))
        square = inner(w, w)
        safe = xp.where(square > 0, square, xp.ones_like(square))
        return (w * (2 * inner(w, x) / safe) - x) * (sign * _ratio(m, d))


def _ratio(m: Vector, d: Vector) -> Scalar:
    """|d| / |m|, and 0 for m = 0."""
    square = inner(d, d)
    return _xp.namespace(square).sqrt(square) * _inverse_norm(m)


def _inverse_norm(v: Vector) -> Scalar:
    """1 / |v|, and 0 at 0."""
    square = inner(v, v)
    xp = _xp.namespace(square)
    safe = xp.where(square > 0, square, xp.ones_like(square))
    return xp.where(square > 0, 1 / xp.sqrt(safe), xp.zeros_like(square))


def polar(A: Array) -> Array:
    r"""The polar factor $UV^\top$ of $A=U\Sigma V^\top$ in compact form; polar(0) = 0.

    It maximises $\langle A,Z\rangle$ over $\|Z\|_{op}\le 1$. Singular values below the rounding of the largest one are
    taken as zero.

    Reference: Notations and Paper Structure.

    >>> import numpy as np
    >>> polar(np.asarray([[2.0, 0.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    _check_matrix("A", A, "(..., p, q)")
    xp = _xp.namespace(A)
    U, sigma, Vh = xp.linalg.svd(A, full_matrices=False)
    threshold = max(A.shape[-2:]) * _xp.machine_eps(A) * xp.max(sigma, axis=-1, keepdims=True)
    positive = xp.astype(sigma > threshold, A.dtype)
    return xp.matmul(U * positive[..., None, :], Vh)


QUINTIC = (3.4445, -4.7750, 2.0315)  # moves singular values in (0, 1] to about 1 fast, and never settles there


def newton_schulz(A: Array, steps: int = 5) -> Array:
    r"""An approximate polar factor by Muon's quintic iteration, in float32 or wider; no SVD.

    $$X_0=A/\|A\|_F,\qquad X_{i+1}=3.4445\,X_i-4.775\,X_iX_i^\top X_i+2.0315\,(X_iX_i^\top)^2X_i.$$

    It acts on the singular values alone. After five steps those of A above $\|A\|_F/100$ are at 0.68 to 1.14, smaller
    ones are on their way there, and those that are 0 stay 0: they are masked, and the result for A = 0 is 0.

    Args:
        A: a matrix, of shape (..., p, q).
        steps: how many.

    Reference: Jordan et al. (2024).

    >>> import numpy as np
    >>> newton_schulz(np.asarray([[2.0, 0.0], [0.0, 0.0]])).round(1)
    array([[0.7, 0. ],
           [0. , 0. ]])
    """
    _check_matrix("A", A, "(..., p, q)")
    xp, (a, b, c) = _xp.namespace(A), QUINTIC
    peak = xp.max(xp.abs(A), axis=(-2, -1), keepdims=True)
    dtype = xp.result_type(A.dtype, xp.float32)  # bfloat16 is slow where there are no units for it
    X = xp.astype(A / xp.where(peak > 0, peak, xp.ones_like(peak)), dtype)  # its squares neither over- nor underflow
    X = X / xp.sqrt(_xp.at_least(xp.sum(X * X, axis=(-2, -1), keepdims=True), 1.0))
    tall = A.shape[-2] > A.shape[-1]
    X = xp.matrix_transpose(X) if tall else X  # the Gram matrix of the shorter side
    for _ in range(steps):
        gram = xp.matmul(X, xp.matrix_transpose(X))
        X = _xp.multiply_add(X, _xp.multiply_add(gram, gram, gram, b, c), X, a, 1.0)
    return xp.astype(xp.matrix_transpose(X) if tall else X, A.dtype)
