"""Operators made of operators: mixtures, and one operator for each block."""

from dataclasses import dataclass
from functools import reduce
from operator import add

from .. import _xp
from .._xp import Array
from ..vectors import Blocks, Vector, check_shapes, check_vector, join, leaf, shape_of, split
from .base import Operator, act, check_operators, declares
from .basic import Diagonal


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""$\sum_k w_kU_k$ with $w$ on the simplex, what Hedge plays.

    Args:
        weights: array of shape (..., K), nonnegative, summing to 1.
        operators: K operators.

    Reference: the stochastic oracle and Hedge experts of the numerical section.

    >>> import numpy as np
    >>> from o2nc.operators import Identity, Projector
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
            if not (
                xp.min(w) >= 0 and xp.max(xp.abs(xp.sum(w, axis=-1) - 1)) <= (100 + w.shape[-1]) * _xp.machine_eps(w)
            ):
                raise ValueError(f"`Mixture(weights=...)` must be nonnegative and sum to 1; got {w}.")

    @property
    def contraction(self) -> bool:
        """Whether all of the operators say that they are."""
        return all(declares(U, "contraction") for U in self.operators)

    def __matmul__(self, v: Vector) -> Vector:
        w = _xp.like(self.weights, leaf(v))
        return reduce(add, (act(U, v) * w[..., k : k + 1] for k, U in enumerate(self.operators)))  # one at a time


@dataclass(frozen=True, eq=False)
class Blockwise:
    r"""$U_1\oplus\dots\oplus U_k$: one operator for each block.

    On `Blocks`, operator i acts on block i. On an array, ``shapes`` cut the last axis into consecutive blocks; a shape
    (p, q) is a matrix, filled column by column as the paper's mat, and an operator acts on its last axis: `Dense` with
    matrix A is then $X\mapsto XA^\top$.

    Args:
        operators: one operator for each block.
        shapes: the shapes of the blocks, needed for arrays only.

    Reference: the paper's vec and mat.

    >>> import numpy as np
    >>> from o2nc.operators import Diagonal, Identity
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

    @property
    def contraction(self) -> bool:
        """Whether all of the operators say that they are."""
        return all(declares(U, "contraction") for U in self.operators)

    def __matmul__(self, v: Vector) -> Vector:
        if not isinstance(v, Blocks):
            if self.shapes is None:
                raise ValueError("`Blockwise(shapes=...)` must be given to act on an array; got none.")
            return join(act(self, split(v, self.shapes)), self.shapes)
        if len(v.arrays) != len(self.operators):
            raise ValueError(f"The vector must have {len(self.operators)} blocks; got {len(v.arrays)}.")
        return Blocks(tuple(act(U, x) for U, x in zip(self.operators, v.arrays, strict=True)))


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
