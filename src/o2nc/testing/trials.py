"""What the checks share: vectors and states compared leaf by leaf, and failures as sentences."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from .. import _xp
from ..states import is_named_tuple, leaves
from ..vectors import Blocks, Vector
from .frame import Frame, Numbers

T = TypeVar("T")


def fail(subject: Any, sentence: str) -> NoReturn:
    """Raise the failure of an object, or of a method that is named by a string, in one sentence."""
    raise AssertionError(f"{subject if isinstance(subject, str) else f'`{type(subject).__name__}`'} {sentence}")


def check_instance(kind: type, name: str, thing: Any, methods: str) -> None:
    """Fail unless ``thing`` is an instance of a class that has the methods of ``kind``; a class itself is a mistake."""
    if isinstance(thing, type):
        raise TypeError(f"`{name}` must be an instance; got the class {thing.__name__}. Did you mean a call of it?")
    if not isinstance(thing, kind):
        fail(thing, f"must have {methods}.")


def method(thing: Any, name: str) -> str:
    """How a sentence names a method of an object."""
    return f"`{type(thing).__name__}.{name}`"


def attempt(subject: Any, rule: str, function: Callable[[], T]) -> T:
    """The result of ``function``, whose errors break the ``rule``."""
    try:
        return function()
    except Exception as error:
        lines = str(error).splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0]}".removesuffix(": ").rstrip(".")
    fail(subject, f"{rule}; it raised {reason}.")


def copies(**inputs: Any) -> dict[str, Numbers]:
    """NumPy copies of all arrays in the inputs, by path."""
    return {path: _xp.to_numpy(a) for name, value in inputs.items() for path, a in leaves(value, name)}


def check_unchanged(subject: str, before: dict[str, Numbers], **inputs: Any) -> None:
    """Fail if an array of the inputs is not what it was."""
    for path, now in copies(**inputs).items():
        if not np.array_equal(before[path], now, equal_nan=True):
            fail(subject, f"must not change its inputs; it wrote into `{path}`.")


def distance(u: Any, v: Any) -> float:
    """The largest difference of two arrays, of entries above 1 the relative one; infinite if one is not finite."""
    a, b = (np.asarray(w if isinstance(w, np.ndarray) else _xp.to_numpy(w), dtype=float) for w in (u, v))
    if a.shape != b.shape:
        return math.inf
    gap = np.abs(a - b) / np.maximum(1, np.abs(b)) if a.size else np.zeros(1)
    return float(np.max(np.where(np.isnan(gap), math.inf, gap)))


def state_distance(one: Any, two: Any) -> tuple[float, str]:
    """The largest `distance` of two states of one structure, and the path where it is."""
    pairs = zip(leaves(one), leaves(two), strict=True)
    return max(((distance(a, b), path) for (path, a), (_, b) in pairs), default=(0.0, "state"))


def check_state(subject: str, state: Any, frame: Frame) -> None:
    """Fail unless a state is a named tuple of arrays in the library, dtype and device of the frame."""
    if not is_named_tuple(state):
        fail(subject, f"must return its state as a NamedTuple of arrays; got {type(state).__name__}.")
    for path, a in leaves(state):
        if not _xp.is_array(a):
            fail(subject, f"must keep only arrays in its state; `{path}` is {type(a).__name__}.")
        check_array(subject, path, a, frame)


def check_array(subject: str, path: str, a: Any, frame: Frame) -> None:
    """Fail unless an array is in the library and on the device of the frame, and in its dtype if floating."""
    xp = _xp.namespace(frame.leaf)
    if _xp.namespace(a) is not xp:
        fail(subject, f"must stay in the array library of x, {xp.__name__}; `{path}` is {type(a).__name__}.")
    if _xp.device(a) != _xp.device(frame.leaf):
        fail(subject, f"must stay on the device of x, {_xp.device(frame.leaf)}; `{path}` is on {_xp.device(a)}.")
    if _xp.is_floating(a) and a.dtype != frame.leaf.dtype:
        fail(subject, f"must keep the dtype of x, {frame.leaf.dtype}; `{path}` is {a.dtype}.")


def check_like(subject: str, name: str, v: Vector, x: Vector, frame: Frame) -> None:
    """Fail unless the vector ``v`` has the shape, library, dtype and device of ``x``."""
    if isinstance(v, Blocks) != isinstance(x, Blocks) or not all(_xp.is_array(a) for _, a in leaves(v)):
        fail(subject, f"must return a vector like x, {type(x).__name__}; `{name}` is {type(v).__name__}.")
    if len(list(leaves(v))) != len(list(leaves(x))):
        fail(subject, f"must return as many blocks as x has; `{name}` has {len(v.arrays)}.")
    for (path, a), (_, b) in zip(leaves(v, name), leaves(x, name), strict=True):
        check_array(subject, path, a, frame)
        if tuple(a.shape) != tuple(b.shape):
            fail(subject, f"must keep the shape of x, {tuple(b.shape)}; `{path}` has {tuple(a.shape)}.")


def check_same_form(subject: str, before: Any, after: Any) -> None:
    """Fail unless two states have the same classes, fields, shapes and dtypes."""
    if type(before) is not type(after) or [p for p, _ in leaves(before)] != [p for p, _ in leaves(after)]:
        fail(subject, "must return a state with the fields of the one that it was given.")
    for (path, a), (_, b) in zip(leaves(before), leaves(after), strict=True):
        if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype:
            forms = f"{tuple(a.shape)} {a.dtype}, now {tuple(b.shape)} {b.dtype}"
            fail(subject, f"must keep the shape and dtype of its state; `{path}` was {forms}.")


def check_rows(subject: Any, batch: int, row: int, together: Any, alone: Any, frame: Frame) -> None:
    """Fail unless row ``row`` of the state of a batch is the state of that run alone."""
    for (path, a), (_, b) in zip(leaves(together), leaves(alone), strict=True):
        many, one = _xp.to_numpy(a), _xp.to_numpy(b)
        if many.shape not in (one.shape, (batch, *one.shape)):
            fail(
                subject,
                f"must treat a batch as its rows; `{path}` has shape {one.shape} in one run and {many.shape} in a "
                f"batch of {batch}.",
            )
        gap = distance(many if many.shape == one.shape else many[row], one)
        if not gap <= frame.tolerance:
            fail(subject, f"must treat a batch as its rows; `{path}` of row {row} differs by {gap:.2g} from it alone.")


def check_traced(
    subject: str,
    function: Callable[..., Any],
    calls: Sequence[tuple],
    results: Sequence[Any],
    frame: Frame,
    jitted: Callable[..., Any] | None = None,
) -> None:
    """Fail unless a function has these results in these calls, one by one under jit and all at once under vmap."""
    jitted, mapped = jitted or _xp.compiled(function, frame.leaf), _xp.vectorized(function)
    for name, transformed in (
        ("jax.jit", lambda: [jitted(*call) for call in calls]),
        ("jax.vmap", lambda: unstack(mapped(*stack(*calls)), len(calls))),
    ):
        rule = f"must work under {name}, with the same numbers"
        for found, expected in zip(attempt(subject, rule, transformed), results, strict=True):
            if [p for p, _ in leaves(found)] != [p for p, _ in leaves(expected)]:
                fail(subject, f"{rule}; the result has another structure.")
            gap, path = state_distance(found, expected)
            if not gap <= frame.tolerance:
                fail(subject, f"{rule}; `{path.replace('state', 'result', 1)}` differs by {gap:.2g}.")


def stack(*trees: Any) -> Any:
    """Trees of one structure as one whose arrays have the rows of theirs."""
    if not isinstance(trees[0], tuple):
        return _xp.namespace(*trees).stack(list(trees))
    parts = [stack(*values) for values in zip(*trees, strict=True)]
    return type(trees[0])(*parts) if is_named_tuple(trees[0]) else tuple(parts)


def unstack(tree: Any, count: int) -> list[Any]:
    """The inverse of `stack`."""
    if not isinstance(tree, tuple):
        return [tree[k, ...] for k in range(count)]
    rows = zip(*(unstack(value, count) for value in tree), strict=True) if tree else [()] * count
    return [type(tree)(*row) if is_named_tuple(tree) else tuple(row) for row in rows]
