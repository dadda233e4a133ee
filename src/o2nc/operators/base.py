"""What an operator is, and the checks that operators share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from .. import _xp
from .._xp import Array
from ..checks import brief
from ..vectors import Vector

Self = TypeVar("Self")


@runtime_checkable
class Operator(Protocol):
    r"""A linear map $U$ of R^d with $\|U\|_{op}\le 1$.

    Your own may say ``contraction = True`` in its class; stated regret bounds count on no operator that does not.

    Reference: the set-up of Algorithm 1.

    >>> from o2nc.operators import Identity
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


def declares(U: Operator, fact: str) -> bool:
    """Whether an operator says of itself that it is a "contraction", or the "identity": bounds are about no others.

    What counts is the class that defines its ``@``, and those below it: a subclass that acts otherwise must say so
    again.

    >>> from o2nc.operators import Identity
    >>> class Double(Identity):
    ...     def __matmul__(self, v):
    ...         return 2.0 * v
    >>> declares(Identity(), "contraction"), declares(Double(), "contraction")
    (True, False)
    """
    for kind in type(U).__mro__:
        if fact in vars(kind):
            return bool(getattr(U, fact))
        if "__matmul__" in vars(kind):
            return False
    return False


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


def check_matrix(name: str, A: Any, rule: str, axes: int | None = None) -> None:
    """Raise unless ``A`` is a floating array of two axes or more, or of ``axes``."""
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


def check_below_one(name: str, norm: Array, v: Array) -> None:
    """Raise if an entry of ``norm``, which was computed from ``v``, is above 1 by more than rounding."""
    xp = _xp.namespace(v)
    if _xp.is_traced(v):
        return
    worst = float(xp.max(norm))
    if not worst <= 1 + 100 * _xp.machine_eps(v):
        raise ValueError(f"`{name}` must have operator norm at most 1; got {worst:g}.")


def check_contraction(name: str, A: Any, rule: str) -> None:
    """Raise unless ``A`` is a finite square matrix of operator norm at most 1, or a batch of them."""
    check_matrix(name, A, rule)
    if A.shape[-1] != A.shape[-2]:
        raise ValueError(f"`{name}` must be square, of shape {rule}; got shape {tuple(A.shape)}.")
    if not _xp.is_traced(A):
        if not _xp.all_finite(A):
            raise ValueError(f"`{name}` must be finite; got {A}.")
        check_below_one(name, _xp.namespace(A).linalg.matrix_norm(A, ord=2), A)


@dataclass(frozen=True, eq=False)
class OfMatrix:
    """What operators with one square matrix of norm at most 1 share."""

    matrix: Array
    shape: ClassVar[str] = "(..., d, d)"  # as messages show it

    def __post_init__(self) -> None:
        check_contraction(f"{type(self).__name__}(matrix=...)", self.matrix, self.shape)
