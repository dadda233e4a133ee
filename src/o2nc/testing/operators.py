"""Is it an operator? Linear, a contraction, and pure, on every kind of vector."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _xp
from ..operators import Operator
from ..vectors import Vector, join, split
from .frame import Frame, Numbers
from .trials import attempt, check_instance, check_like, check_traced, check_unchanged, copies, distance, fail

BASIS_LIMIT = 64  # up to this dimension the norm is exact, from the images of the basis vectors
ROWS = 3


def check_operator(
    operator: Operator,
    x: Vector,
    *,
    shapes: Sequence[tuple[int, ...]] | None = None,
    blocks: Operator | None = None,
    contraction: bool = True,
) -> None:
    """Fail, with a sentence that says why, unless ``operator`` is a linear contraction of vectors like x.

    Checked are: the same vector gives the same result and is not written into; linearity; the norm, at most 1 (exact
    up to dimension 64, by random vectors and repeated application above); a batch is treated as its rows; shape, dtype
    and device are kept, also in float32; with a JAX array, ``jit`` and ``vmap`` give the same numbers; with ``shapes``,
    `Blocks` give the same numbers as the array.

    Args:
        operator: an object with ``U @ v``.
        x: an example of the vectors, an array of shape (..., d) of any library, or `Blocks`.
        shapes: the shapes of the blocks into which an array is cut (as `o2nc.vectors.split` does) and compared.
        blocks: the operator on these blocks, where it is another object than the one on arrays.
        contraction: whether it must be a contraction; with `o2nc.losses.PredictionLoss` operators may have any size.

    Raises:
        AssertionError: if a rule is broken.

    Reference: the set-up of Algorithm 1, whose preconditioners are linear with operator norm at most 1.

    >>> import numpy as np
    >>> from o2nc.operators import Dense
    >>> check_operator(Dense(np.asarray([[0.0, 1.0], [1.0, 0.0]])), np.zeros(2))
    >>> class Doubling:
    ...     def __matmul__(self, v):
    ...         return 2.0 * v
    >>> check_operator(Doubling(), np.zeros(2))
    Traceback (most recent call last):
        ...
    AssertionError: `Doubling` must be a contraction, |U v| <= |v|; it stretches a vector by the factor 2.
    """
    frame = Frame(x)
    subject = f"`{type(operator).__name__}`"
    check_instance(Operator, "operator", operator, "a method `__matmul__`, so that `U @ v` applies it")
    check_map(subject, operator, frame, contraction)
    check_image(f"{subject} in float32", operator, frame.in_float32())
    if _xp.can_trace(frame.leaf):
        calls = [(frame.vector(values),) for values in frame.draw(ROWS, seed=5)]
        check_traced(subject, lambda v: operator @ v, calls, [operator @ v for (v,) in calls], frame)
    if not frame.is_blocks:
        _check_batch(subject, operator, frame)
    if shapes is not None:
        _check_blocks(subject, operator, operator if blocks is None else blocks, frame, shapes)


def check_map(subject: str, U: Operator, frame: Frame, contraction: bool = True) -> None:
    """Fail unless ``U`` is a pure linear map of the vectors of the frame, and a contraction if it must be."""
    check_image(subject, U, frame)
    _check_linear(subject, U, frame)
    if not contraction:
        return
    norm = _norm(lambda values: frame.numbers(U @ frame.vector(values)), frame)
    if not norm <= 1 + frame.tolerance:
        fail(subject, f"must be a contraction, |U v| <= |v|; it stretches a vector by the factor {norm:.4g}.")


def check_image(subject: str, U: Operator, frame: Frame) -> None:
    """Fail unless ``U @ v`` is a vector like v, the same twice, and v is left alone."""
    v = frame.vector(frame.draw(1)[0])
    before = copies(v=v)
    Uv = U @ v
    check_like(subject, "U @ v", Uv, v, frame)
    first = frame.numbers(Uv)
    check_unchanged(subject, before, v=v)
    if not distance(frame.numbers(U @ v), first) <= frame.tolerance:
        fail(subject, "must be pure; the same vector gave two results.")


def _check_linear(subject: str, U: Operator, frame: Frame) -> None:
    def act(values: Numbers) -> Numbers:
        return frame.numbers(U @ frame.vector(values))

    u, v = frame.draw(2, seed=1)
    Uu, Uv, zero = (act(values) for values in (u, v, np.zeros_like(u)))
    if not distance(zero, np.zeros_like(u)) <= frame.tolerance:
        fail(subject, f"must be linear; U @ 0 has an entry of {np.max(np.abs(zero)):.2g}.")
    for a, b in ((1.0, -150.0), (1e-4, 1e-4), (1e4, 1e4)):  # both signs, and scales at which a threshold shows
        scale = max(abs(a), abs(b))
        gap = distance(act(a * u + b * v) / scale, (a * Uu + b * Uv) / scale)
        if not gap <= frame.tolerance:
            seen = f"U @ ({a:g} u + {b:g} v) differs from {a:g} U @ u + {b:g} U @ v by {gap * scale:.2g}"
            fail(subject, f"must be linear; {seen}.")


def _norm(act: Callable[[Numbers], Numbers], frame: Frame) -> float:
    """The largest |U v| / |v| that was found; the operator norm itself in small dimension."""
    if frame.d <= BASIS_LIMIT:
        columns = [act(np.broadcast_to(e, (*frame.batch, frame.d))) for e in np.eye(frame.d)]
        return float(np.max(np.linalg.norm(np.stack(columns, axis=-1), ord=2, axis=(-2, -1))))
    worst = 0.0
    for v in frame.draw(4, seed=2):
        for _ in range(10):  # power iteration, towards the largest eigenvalue
            v /= np.linalg.norm(v, axis=-1, keepdims=True)
            image = act(v)
            worst = max(worst, float(np.max(np.linalg.norm(image, axis=-1))))
            v = image + 1e-3 * v  # never zero where v is not in the kernel
    return worst


def _check_batch(subject: str, U: Operator, frame: Frame) -> None:
    rule = "must treat a batch as its rows"
    values = frame.draw(ROWS, seed=3)
    together = attempt(subject, rule, lambda: U @ frame.vector(values))
    for row in range(ROWS):
        gap = distance(together[row, ...], U @ frame.vector(values[row]))
        if not gap <= frame.tolerance:
            fail(subject, f"{rule}; row {row} of {ROWS} differs by {gap:.2g} from it alone.")


def _check_blocks(subject: str, U: Operator, on_blocks: Any, frame: Frame, shapes: Any) -> None:
    one, rule = frame.rows(), "must give the same numbers on Blocks as on the array"
    v = one.vector(one.draw(1, seed=4)[0])
    blocks = attempt(subject, rule, lambda: join(on_blocks @ split(v, shapes), shapes))
    gap = distance(blocks, U @ v)
    if not gap <= frame.tolerance:
        fail(subject, f"{rule}; they differ by {gap:.2g}.")
