"""Is it a conversion? Pure, the same on a batch, and a displacement, not a point."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _xp
from ..conversions.base import Conversion
from ..states import pack, unpack
from ..vectors import Vector, join, split
from .trials import (
    LARGE,
    ROUNDS,
    Frame,
    Numbers,
    attempt,
    check_like,
    check_rows,
    check_same_form,
    check_state,
    check_traced,
    check_unchanged,
    copies,
    distance,
    fail,
    method,
    state_distance,
)

BATCH = 3
SHIFT = 1000.0

Update = Callable[[Any, Any, Any, Any], tuple[Any, Any]]  # s, state, x, r -> displacement, state


def check_conversion(
    conversion: Conversion,
    x: Vector,
    *,
    shapes: Sequence[tuple[int, ...]] | None = None,
    blocks: Conversion | None = None,
    predictable: bool = False,
    with_r: bool = True,
) -> None:
    """Fail, with a sentence that says why, unless ``conversion`` keeps the contract of an optimizer.

    Checked are: the state is a named tuple of arrays whose shapes and dtypes do not change; library, dtype and device
    of x are kept, also in float32; the same inputs give the same outputs and are not written into; what is returned is
    a displacement like x and not the next point; a state that was stored and loaded into a fresh copy of the
    conversion goes on as before; a batch is treated as its rows; with ``shapes``, `Blocks` give the same numbers as
    the array; with a JAX array, ``jit`` and ``vmap`` give the same numbers.

    Every call is ``update(s, state, x, r=r)`` with a normal sample s and r uniform on [0, 1), of shape (..., 1), or
    None.

    Args:
        conversion: an object with ``init`` and ``update``.
        x: an example of the points, an array of shape (..., d) of any library, or `Blocks`. Batching is checked on
            batches of another size, so its leading axes must not be built into the conversion.
        shapes: the shapes of the blocks into which an array is cut (as `o2nc.vectors.split` does) and compared.
        blocks: the conversion on these blocks, where it is another object than the one on arrays.
        predictable: whether the displacement of a round must not depend on the sample of that round, as in Algorithm
            1, which steps along the old tracker.
        with_r: whether ``update`` is given a uniform r each round, or None.

    Raises:
        AssertionError: if a rule is broken.

    Reference: Algorithms 1 and 2, seen from outside.

    >>> import numpy as np
    >>> from o2nc import SGD
    >>> check_conversion(SGD(eta=0.1), np.zeros(3), shapes=[(2, 1), (1,)])
    >>> check_conversion(SGD(eta=0.1), np.zeros(3), predictable=True)
    Traceback (most recent call last):
        ...
    AssertionError: `SGD.update` must not move along the sample of its round; in round 1 another sample gave another displacement.
    """  # noqa: E501
    frame, fresh = Frame(x), copy.deepcopy(conversion)
    if not isinstance(conversion, Conversion):
        fail(conversion, "must have the methods `init` and `update`.")
    subject = Subject(conversion, with_r)
    _check_rounds(subject, frame, predictable)
    _check_rounds(subject, frame.in_float32(), predictable)
    _check_displacement(subject, frame)
    _check_checkpoint(subject, Subject(fresh, with_r), frame)
    compiled = _xp.compiled(subject.update, frame.leaf)
    if _xp.can_trace(frame.leaf):
        _check_traced(subject, frame, compiled)
    if not frame.is_blocks:
        _check_batch(subject, frame, compiled)
    if shapes is not None:
        _check_blocks(subject, Subject(blocks or conversion, with_r), frame, shapes, compiled)


class Subject(NamedTuple):
    """The conversion that is checked, with the one signature that the checks use."""

    conversion: Conversion
    with_r: bool

    @property
    def name(self) -> str:
        """How sentences name it."""
        return f"`{type(self.conversion).__name__}`"

    def init(self, x: Vector) -> Any:
        """The state before round 1."""
        return self.conversion.init(x)

    def update(self, s: Vector, state: Any, x: Vector, r: Any) -> tuple[Any, Any]:
        """The displacement and the new state."""
        return self.conversion.update(s, state, x, r=r if self.with_r else None)


def _samples(frame: Frame, seed: int) -> tuple[Numbers, Numbers]:
    """The samples and the uniforms of a few rounds."""
    return frame.draw(ROUNDS, seed), np.random.default_rng(seed).random((ROUNDS, *frame.batch, 1))


def _run(update: Update, frame: Frame, state: Any, x: Vector, ss: Numbers, rs: Numbers) -> tuple[list[Any], Any, Any]:
    """The displacements, the point and the state after the last round."""
    displacements = []
    for sample, r in zip(ss, rs, strict=True):
        dx, state = update(frame.vector(sample), state, x, frame.scalar(r))
        displacements.append(dx)
        x = x + dx
    return displacements, x, state


def _gap(frame: Frame, one: list[Any], two: list[Any]) -> float:
    return max(distance(frame.numbers(u), frame.numbers(v)) for u, v in zip(one, two, strict=True))


def _check_rounds(subject: Subject, frame: Frame, predictable: bool) -> None:
    """Purity and form, round by round."""
    init, name, x = method(subject.conversion, "init"), method(subject.conversion, "update"), frame.x
    before = copies(x=x)
    state = subject.init(x)
    check_unchanged(init, before, x=x)
    check_state(init, state, frame)
    others = frame.draw(ROUNDS, seed=50)
    for t, (sample, uniform, other) in enumerate(zip(*_samples(frame, 0), others, strict=True), start=1):
        s, r = frame.vector(sample), frame.scalar(uniform)
        before = copies(s=s, state=state, x=x, r=r)
        dx, new = subject.update(s, state, x, r)
        check_unchanged(name, before, s=s, state=state, x=x, r=r)
        check_like(name, "dx", dx, frame.x, frame)
        check_state(name, new, frame)
        check_same_form(name, state, new)
        if not np.all(np.isfinite(frame.numbers(dx))):
            fail(name, f"must return a finite displacement; in round {t} it was not.")
        again, twice = subject.update(s, state, x, r)
        gap, path = max((_gap(frame, [again], [dx]), "dx"), state_distance(twice, new))
        if not gap <= frame.tolerance:
            fail(name, f"must be pure; the same inputs gave two results, which differ in `{path}`.")
        if predictable:
            another, _ = subject.update(frame.vector(other), state, x, r)
            if not _gap(frame, [another], [dx]) <= frame.tolerance:
                fail(
                    name,
                    f"must not move along the sample of its round; in round {t} another sample gave another "
                    "displacement.",
                )
        state, x = new, x + dx


def _check_displacement(subject: Subject, frame: Frame) -> None:
    """Two points far apart and the same sample: the next points are as far apart, the displacements are not."""
    (sample, *_), (uniform, *_) = _samples(frame, 1)
    s, r = frame.vector(sample), frame.scalar(uniform)
    near, far = (frame.vector(np.full((*frame.batch, frame.d), value)) for value in (0.0, SHIFT))
    one, two = (frame.numbers(subject.update(s, subject.init(x), x, r)[0]) for x in (near, far))
    if np.max(np.abs((two - one) / SHIFT - 1)) <= 0.01:
        fail(
            method(subject.conversion, "update"),
            "must return the displacement to the next point; it returns the next point.",
        )


def _check_checkpoint(subject: Subject, fresh: Subject, frame: Frame) -> None:
    ss, rs = _samples(frame, 2)
    _, x, state = _run(subject.update, frame, subject.init(frame.x), frame.x, LARGE * ss, rs)
    loaded = unpack(pack(state, _xp.to_numpy), like=fresh.init(frame.x), convert=_xp.from_numpy)
    one, _, end = _run(subject.update, frame, state, x, *_samples(frame, 3))
    two, _, other = _run(fresh.update, frame, loaded, x, *_samples(frame, 3))
    if not max(_gap(frame, one, two), state_distance(end, other)[0]) <= frame.tolerance:
        fail(
            subject.name,
            "must keep all it remembers in its state; a fresh copy of it, given the stored state, goes on differently.",
        )


def _check_traced(subject: Subject, frame: Frame, update: Update) -> None:
    one, calls, results = frame.rows(), [], []
    state, x = subject.init(one.x), one.x
    check_traced(method(subject.conversion, "init"), subject.init, [(x,)], [state], one)
    for sample, r in zip(*_samples(one, 4), strict=True):
        calls.append((one.vector(sample), state, x, one.scalar(r)))
        results.append(subject.update(*calls[-1]))
        dx, state = results[-1]
        x = x + dx
    check_traced(method(subject.conversion, "update"), subject.update, calls, results, one, jitted=update)


def _check_batch(subject: Subject, frame: Frame, update: Update) -> None:
    one, many, rule = frame.rows(), frame.rows(BATCH), "must treat a batch as its rows"
    starts, (ss, rs) = many.draw(1, seed=6)[0], _samples(many, 5)
    x = many.vector(starts)
    first = attempt(subject.name, rule, lambda: subject.init(x))
    together, _, state = attempt(subject.name, rule, lambda: _run(update, many, first, x, ss, rs))
    check_same_form(f"{method(subject.conversion, 'update')} on a batch", first, state)
    for row in range(BATCH):
        y = one.vector(starts[row])
        alone, _, end = _run(update, one, subject.init(y), y, ss[:, row], rs[:, row])
        gap = max(distance(many.numbers(u)[row], one.numbers(v)) for u, v in zip(together, alone, strict=True))
        if not gap <= frame.tolerance:
            fail(subject.name, f"{rule}; the displacement of row {row} of {BATCH} differs by {gap:.2g} from it alone.")
        check_rows(subject.name, BATCH, row, state, end, frame)


def _check_blocks(subject: Subject, on_blocks: Subject, frame: Frame, shapes: Any, update: Update) -> None:
    one, rule = frame.rows(), "must give the same numbers on Blocks as on the array"
    x = one.x
    y = split(x, shapes)
    state, blocks = subject.init(x), attempt(subject.name, rule, lambda: on_blocks.init(y))
    cut_update = _xp.compiled(on_blocks.update, frame.leaf)
    for sample, uniform in zip(*_samples(one, 7), strict=True):
        s, r = one.vector(sample), one.scalar(uniform)
        dx, state = update(s, state, x, r)
        dy, blocks = attempt(subject.name, rule, lambda: cut_update(split(s, shapes), blocks, y, r))  # noqa: B023
        gap = distance(join(dy, shapes), dx)
        if not gap <= frame.tolerance:
            fail(subject.name, f"{rule}; the displacement differs by {gap:.2g}.")
        x, y = x + dx, y + dy
