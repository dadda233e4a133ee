"""Is it a conversion? Pure, the same on a batch, and a displacement, not a point."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _xp
from ..conversions.base import Conversion
from ..vectors import Vector, apply, inner
from .frame import Frame, Numbers
from .stateful import ROUNDS, Subject, check_init, check_next, check_runs
from .trials import check_instance, check_like, check_unchanged, copies, distance, fail, state_distance

SHIFT = 1000.0


def check_conversion(
    conversion: Conversion,
    x: Vector,
    *,
    shapes: Sequence[tuple[int, ...]] | None = None,
    blocks: Conversion | None = None,
    predictable: bool = False,
) -> None:
    """Fail, with a sentence that says why, unless ``conversion`` keeps the contract of an optimizer.

    Checked are: the state is a named tuple of arrays whose shapes and dtypes do not change; library, dtype and device
    of x are kept, also in float32; the same inputs give the same outputs and are not written into; what is returned is
    a displacement like x and not the next point; a state that was stored and loaded into a fresh copy of the
    conversion goes on as before; a batch is treated as its rows; with ``shapes``, `Blocks` give the same numbers as
    the array; with a JAX array, ``jit`` and ``vmap`` give the same numbers.

    It is given what it ``needs``: tau is round 2, x the point, r uniform on [0, 1), of shape (..., 1), the values
    are those of the sum of the sines of x, and the last sample taken again is the sines. The samples are normal.

    Args:
        conversion: a `o2nc.conversions.Conversion`.
        x: an example of the points, an array of shape (..., d) of any library, or `Blocks`. Batching is checked on
            batches of another size, so its leading axes must not be built into the conversion.
        shapes: the shapes of the blocks into which an array is cut (as `o2nc.vectors.split` does) and compared.
        blocks: the conversion on these blocks, where it is another object than the one on arrays.
        predictable: whether the displacement of a round must not depend on the sample of that round, as in Algorithm
            1, which steps along the old tracker.

    Raises:
        AssertionError: if a rule is broken.

    Reference: Algorithms 1 and 2, seen from outside.

    >>> import numpy as np
    >>> from o2nc.rivals import SGD
    >>> check_conversion(SGD(eta=0.1), np.zeros(3), shapes=[(2, 1), (1,)])
    >>> check_conversion(SGD(eta=0.1), np.zeros(3), predictable=True)
    Traceback (most recent call last):
        ...
    AssertionError: `SGD.update` must not move along the sample of its round; in round 1 another sample gave another displacement.
    """  # noqa: E501
    frame, fresh = Frame(x), copy.deepcopy(conversion)
    check_instance(Conversion, "conversion", conversion, "`o2nc.conversions.Conversion` as a base class")
    subject = _subject(conversion)
    _check_rounds(subject, frame, predictable)
    _check_rounds(subject, frame.in_float32(), predictable)
    _check_displacement(subject, frame)
    check_runs(subject, _subject(fresh), frame, shapes, None if blocks is None else _subject(blocks))


def _subject(conversion: Conversion) -> Subject:
    needs = conversion.needs

    def init(x: Vector) -> Any:
        return conversion.init(x, tau=2 if "tau" in needs else None)

    def step(state: Any, x: Vector, s: Vector, r: Any) -> tuple[Vector, Any]:
        sines = apply(lambda a: _xp.namespace(a).sin(a), x)
        value = inner(sines, apply(lambda a: 0 * a + 1, x))
        coins = {"r": r if "r" in needs else None, "value": value if "value" in needs else None}
        coins |= {"again": sines} if "again" in needs else {}
        return conversion.update(s, state, x, **coins)

    name = f"`{type(conversion).__name__}.update`"
    return Subject(conversion, init, step, _samples, name, "the displacement", moves=True)


def _samples(frame: Frame, seed: int) -> tuple[Numbers, Numbers]:
    """The samples and the uniforms of a few rounds."""
    return frame.draw(ROUNDS, seed), np.random.default_rng(seed).random((ROUNDS, *frame.batch, 1))


def _check_rounds(subject: Subject, frame: Frame, predictable: bool) -> None:
    """Purity and form, round by round."""
    name, x, state = subject.name, frame.x, check_init(subject, frame)
    others = frame.draw(ROUNDS, seed=50)
    pairs = subject.inputs(frame, *subject.draw(frame, 0))
    for t, ((s, r), other) in enumerate(zip(pairs, others, strict=True), start=1):
        before = copies(s=s, state=state, x=x, r=r)
        dx, new = subject.step(state, x, s, r)
        check_unchanged(name, before, s=s, state=state, x=x, r=r)
        check_like(name, "dx", dx, frame.x, frame)
        check_next(name, state, new, frame)
        if not np.all(np.isfinite(frame.numbers(dx))):
            fail(name, f"must return a finite displacement; in round {t} it was not.")
        again, twice = subject.step(state, x, s, r)
        gap, path = max((_gap(frame, again, dx), "dx"), state_distance(twice, new))
        if not gap <= frame.tolerance:
            fail(name, f"must be pure; the same inputs gave two results, which differ in `{path}`.")
        if predictable and not _gap(frame, subject.step(state, x, frame.vector(other), r)[0], dx) <= frame.tolerance:
            rule = "must not move along the sample of its round"
            fail(name, f"{rule}; in round {t} another sample gave another displacement.")
        state, x = new, x + dx


def _gap(frame: Frame, one: Vector, two: Vector) -> float:
    return distance(frame.numbers(one), frame.numbers(two))


def _check_displacement(subject: Subject, frame: Frame) -> None:
    """Two points far apart and the same sample: the next points are as far apart, the displacements are not."""
    pair, *_ = subject.inputs(frame, *subject.draw(frame, 1))
    near, far = (frame.vector(np.full((*frame.batch, frame.d), value)) for value in (0.0, SHIFT))
    one, two = (frame.numbers(subject.step(subject.init(x), x, *pair)[0]) for x in (near, far))
    if np.max(np.abs((two - one) / SHIFT - 1)) <= 0.01:
        fail(subject.name, "must return the displacement to the next point; it returns the next point.")
