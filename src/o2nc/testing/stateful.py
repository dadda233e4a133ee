"""What the checks of oracles and conversions share: rounds with a state, stored, traced, in a batch and on Blocks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import _xp
from ..states import pack, unpack
from ..vectors import Vector, join, split
from .frame import Frame, Numbers
from .trials import (
    attempt,
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

ROUNDS = 3  # of every comparison of two runs; the first one of Algorithm 1 only fills the tracker
BATCH = 3
LARGE = 3.0  # how much larger the samples before a checkpoint are, so that what is not stored is missed after it

Step = Callable[..., tuple[Vector, Any]]  # state, x, s, other -> output, state


@dataclass(frozen=True)
class Subject:
    """An oracle or a conversion, in the one signature that the checks use.

    In each round it is given the sample s and one more: the direction m, or the scalar r.
    """

    thing: Any
    init: Callable[[Vector], Any]
    step: Step
    draw: Callable[[Frame, int], tuple[Numbers, Numbers]]  # the samples and the others of a few rounds, from a seed
    name: str  # how sentences name the step
    output: str  # how they name what a round gives
    moves: bool  # whether that is a displacement; then the other is a scalar

    def inputs(self, frame: Frame, samples: Numbers, others: Numbers) -> list[tuple[Vector, Any]]:
        """The pairs that the rounds are given."""
        second = frame.scalar if self.moves else frame.vector
        return [(frame.vector(s), second(other)) for s, other in zip(samples, others, strict=True)]

    def run(self, state: Any, x: Vector, inputs: Iterable[tuple]) -> tuple[list[Vector], Any, Vector]:
        """The outputs, and the state and the point after the last round."""
        outputs = []
        for pair in inputs:
            out, state = self.step(state, x, *pair)
            outputs.append(out)
            x = x + out if self.moves else x
        return outputs, state, x

    def compiled(self, frame: Frame) -> "Subject":
        """The same with its step compiled where that is usual."""
        return replace(self, step=_xp.compiled(self.step, frame.leaf))


def check_init(subject: Subject, frame: Frame) -> Any:
    """The state before round 1; fail unless it is one."""
    name, before = method(subject.thing, "init"), copies(x=frame.x)
    state = subject.init(frame.x)
    check_unchanged(name, before, x=frame.x)
    check_state(name, state, frame)
    return state


def check_next(name: str, before: Any, after: Any, frame: Frame) -> None:
    """Fail unless ``after`` is a state in the form of the one ``before``."""
    check_state(name, after, frame)
    check_same_form(name, before, after)


def check_runs(
    subject: Subject, fresh: Any, frame: Frame, shapes: Sequence[tuple[int, ...]] | None, blocks: Subject | None
) -> None:
    """Stored and loaded into ``fresh``, a copy that never ran; traced, in a batch, and cut into blocks."""
    _check_checkpoint(subject, fresh, frame)
    compiled = subject.compiled(frame)
    if _xp.can_trace(frame.leaf):
        _check_traced(subject, compiled, frame)
    if not frame.is_blocks:
        _check_batch(compiled, frame)
    if shapes is not None:
        _check_blocks(compiled, (blocks or subject).compiled(frame), frame, shapes)


def _check_checkpoint(subject: Subject, fresh: Subject, frame: Frame) -> None:
    samples, others = subject.draw(frame, 1)
    first, later = subject.inputs(frame, LARGE * samples, others), subject.inputs(frame, *subject.draw(frame, 2))
    _, state, x = subject.run(subject.init(frame.x), frame.x, first)
    loaded = unpack(pack(state, _xp.to_numpy), like=fresh.init(frame.x), convert=_xp.from_numpy)
    one, end, _ = subject.run(state, x, later)
    two, other, _ = fresh.run(loaded, x, later)
    gap = max(distance(frame.numbers(u), frame.numbers(v)) for u, v in zip(one, two, strict=True))
    if not max(gap, state_distance(end, other)[0]) <= frame.tolerance:
        fail(
            subject.thing,
            "must keep all it remembers in its state; a fresh copy of it, given the stored state, goes on differently.",
        )


def _check_traced(subject: Subject, compiled: Subject, frame: Frame) -> None:
    one, calls, results = frame.rows(), [], []
    state, x = subject.init(one.x), one.x
    check_traced(method(subject.thing, "init"), subject.init, [(x,)], [state], one)
    for pair in subject.inputs(one, *subject.draw(one, 3)):
        calls.append((state, x, *pair))
        (out,), state, x = subject.run(state, x, [pair])
        results.append((out, state))
    check_traced(subject.name, subject.step, calls, results, one, jitted=compiled.step)


def _check_batch(subject: Subject, frame: Frame) -> None:
    one, many, rule = frame.rows(), frame.rows(BATCH), "must treat a batch as its rows"
    starts, (samples, others) = many.draw(1, seed=6)[0], subject.draw(many, 4)
    x = many.vector(starts)
    first = attempt(subject.thing, rule, lambda: subject.init(x))
    together, state, _ = attempt(
        subject.thing, rule, lambda: subject.run(first, x, subject.inputs(many, samples, others))
    )
    check_same_form(f"{subject.name} on a batch", first, state)
    for row in range(BATCH):
        y = one.vector(starts[row])
        alone, end, _ = subject.run(subject.init(y), y, subject.inputs(one, samples[:, row], others[:, row]))
        gap = max(distance(many.numbers(u)[row], one.numbers(v)) for u, v in zip(together, alone, strict=True))
        if not gap <= frame.tolerance:
            seen = f"{subject.output} in row {row} of {BATCH} differs by {gap:.2g} from it alone"
            fail(subject.thing, f"{rule}; {seen}.")
        check_rows(subject.thing, BATCH, row, state, end, frame)


def _check_blocks(subject: Subject, on_blocks: Subject, frame: Frame, shapes: Sequence[tuple[int, ...]]) -> None:
    one, rule = frame.rows(), "must give the same numbers on Blocks as on the array"
    x, y = one.x, split(one.x, shapes)
    state, blocks = subject.init(x), attempt(subject.thing, rule, lambda: on_blocks.init(y))
    for s, other in subject.inputs(one, *subject.draw(one, 5)):
        cut = (split(s, shapes), other if subject.moves else split(other, shapes))
        (out,), state, x = subject.run(state, x, [(s, other)])
        (parts,), blocks, y = attempt(subject.thing, rule, lambda: on_blocks.run(blocks, y, [cut]))  # noqa: B023
        gap = distance(attempt(subject.thing, rule, lambda: join(parts, shapes)), out)  # noqa: B023
        if not gap <= frame.tolerance:
            fail(subject.thing, f"{rule}; {subject.output} differs by {gap:.2g}.")
