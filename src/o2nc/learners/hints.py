"""Hints: guesses of the next loss, for the learners that are called optimistic."""

from collections.abc import Callable
from typing import Any

from .. import _xp
from .._xp import Array
from ..checks import brief

Hint = Callable[[Any, Any, Array], Any]  # from (l_{t-1}, h_{t-1}, t) to h_t


def last(seen: Any, hint: Any, t: Array) -> Any:
    r"""What was seen in the round before: $h_t=\ell_{t-1}$, and $h_1=0$.

    It has $\sum_t\|\ell_t-h_t\|^2\le4\sum_t\|\ell_t\|^2$ in every norm, so an a-priori bound; other hints have none.

    Args:
        seen: the losses of the experts, or the gradient, of round t - 1; 0 before round 1.
        hint: the hint of round t - 1; 0 before round 1.
        t: the round that the hint is for, an integer array of shape (1,).

    Reference: Rakhlin and Sridharan (2013).

    >>> last(3.0, 2.0, 5)
    3.0
    """
    return seen


def check_hint(learner: str, hint: Any) -> None:
    """Raise unless ``hint`` is a function."""
    if isinstance(hint, type) or not callable(hint):
        raise TypeError(f"`{learner}(hint=...)` must be a function of three arguments, as `last`; got {hint!r}.")


def array_shape(v: Any) -> tuple | None:
    """The shape of an array; None for anything else."""
    return tuple(v.shape) if _xp.is_array(v) else None


def first_hint(
    learner: str, hint: Hint, zero: Any, t: Array, shape: Callable[[Any], tuple | None] = array_shape
) -> Any:
    """The hint for round 1; raise unless it is like the losses, or the gradients, that it is a guess of."""
    h = hint(zero, zero, t)
    if shape(h) != shape(zero):
        rule = f"must return what it is given, of shape {shape(zero)}"
        raise ValueError(f"`{learner}(hint=...)` {rule}; got {shape(h) or brief(h)}.")
    return h
