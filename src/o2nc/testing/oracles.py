"""Is it an oracle? Pure, blind to the sample, the same on a batch, and with sublinear regret."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _xp
from ..losses import LinearLoss
from ..operators import Identity, Operator
from ..oracles.base import Oracle
from ..states import pack, unpack
from ..vectors import Vector, join, split
from .adversaries import Player, check_regret
from .operators import check_map
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


def check_oracle(
    oracle: Oracle,
    x: Vector,
    *,
    shapes: Sequence[tuple[int, ...]] | None = None,
    blocks: Oracle | None = None,
    comparator: Operator | None = None,
    regret: bool = True,
    rounds: int = 64,
    tuned: Callable[[int], Oracle] | None = None,
) -> None:
    r"""Fail, with a sentence that says why, unless ``oracle`` keeps the contract of an online learner.

    Checked are: the state is a named tuple of arrays whose shapes and dtypes do not change; library, dtype and device
    of x are kept, also in float32; the same inputs give the same outputs and are not written into; what is played is a
    linear contraction and does not change when the sample is learned; a state that was stored and loaded into a fresh
    copy of the oracle goes on as before; a batch is treated as its rows; with ``shapes``, `Blocks` give the same
    numbers as the array; with a JAX array, ``jit`` and ``vmap`` give the same numbers; and the regret.

    The losses are $-\langle s,Um\rangle$ with s and m of norm at most 1, random and adaptive. After 16 times as many
    rounds the regret a round must be at most half, or at most 0.1. If the oracle has ``regret_bound(x, energy)``, its
    regret against the identity must never exceed that; if the bound is infinite, no regret is checked unless a
    comparator is given.

    Args:
        oracle: an object with ``init``, ``play`` and ``learn``.
        x: an example of the vectors, an array of shape (..., d) of any library, or `Blocks`. Batching and regret are
            checked on batches of another size, so its leading axes must not be built into the oracle.
        shapes: the shapes of the blocks into which an array is cut (as `o2nc.vectors.split` does) and compared.
        blocks: the oracle on these blocks, where it is another object than the one on arrays.
        comparator: an operator that the oracle competes with, if that is not the identity.
        regret: whether the regret is checked; an oracle that forgets old losses need not have a small one.
        rounds: the shorter of the two horizons at which the regret is measured.
        tuned: from a horizon to the oracle tuned for it, if ``oracle`` has a rate for one horizon.

    Raises:
        AssertionError: if a rule is broken.

    Reference: Definition 1 (static regret minimization oracle).

    >>> import numpy as np
    >>> from o2nc.oracles import OMD, Hedge
    >>> from o2nc.operators import Diagonal, Identity
    >>> from o2nc.sets import Box
    >>> check_oracle(Hedge([Identity(), Diagonal(np.asarray([1.0, 0.0]))]), np.zeros(2), rounds=16)
    >>> check_oracle(OMD(Box(), eta=0.1), np.zeros(2), rounds=16, tuned=lambda T: OMD(Box(), eta=T**-0.5))
    >>> check_oracle(OMD(Box(), eta=0.9), np.zeros(2), rounds=16)
    Traceback (most recent call last):
        ...
    AssertionError: `OMD` must have sublinear regret; on zigzag losses it was 0.448 a round after 16 rounds and 0.448 a round after 256 (a rate for a known horizon needs `tuned`).
    """  # noqa: E501
    frame, fresh = Frame(x), copy.deepcopy(oracle)
    if not isinstance(oracle, Oracle):
        fail(oracle, "must have the methods `init`, `play` and `learn`.")
    _check_rounds(oracle, frame)
    _check_rounds(oracle, frame.in_float32())
    _check_checkpoint(oracle, fresh, frame)
    player = Player(oracle, frame)
    if _xp.can_trace(frame.leaf):
        _check_traced(player, frame)
    if not frame.is_blocks:
        _check_batch(player, frame)
    if shapes is not None:
        _check_blocks(player, Player(oracle if blocks is None else blocks, frame), frame, shapes)
    if not regret:
        return
    stated = hasattr(oracle, "regret_bound") and math.isfinite(oracle.regret_bound(frame.rows().x, 1.0))
    if comparator is not None or stated or not hasattr(oracle, "regret_bound"):
        bounded = stated and (comparator is None or isinstance(comparator, Identity))
        check_regret(player, frame, comparator or Identity(), bounded, rounds, tuned)


def _samples(frame: Frame, seed: int) -> tuple[Numbers, Numbers]:
    """The directions and the samples of a few rounds."""
    values = frame.draw(2 * ROUNDS, seed) / math.sqrt(frame.d)
    return values[:ROUNDS], values[ROUNDS:]


def _run(player: Player, frame: Frame, state: Any, ms: Numbers, ss: Numbers) -> tuple[list[Any], Any]:
    """What was played, U m of each round, and the state after the last one."""
    played = []
    for values, sample in zip(ms, ss, strict=True):
        Um, state = player.both(state, frame.vector(sample), frame.vector(values))
        played.append(Um)
    return played, state


def _check_rounds(oracle: Oracle, frame: Frame) -> None:
    """Purity, form, and what is played, round by round."""
    init, play, learn = (method(oracle, name) for name in ("init", "play", "learn"))
    before = copies(x=frame.x)
    state = oracle.init(frame.x)
    check_unchanged(init, before, x=frame.x)
    check_state(init, state, frame)
    for t, (values, sample) in enumerate(zip(*_samples(frame, seed=0), strict=True), start=1):
        m, s = frame.vector(values), frame.vector(sample)
        before, loss = copies(state=state, m=m, s=s), LinearLoss(s, m, 1.0)
        U = oracle.play(state, m)
        Um = U @ m
        check_like(play, "U @ m", Um, m, frame)
        first = frame.numbers(Um)
        check_unchanged(play, before, state=state, m=m, s=s)
        if not distance(frame.numbers(oracle.play(state, m) @ m), first) <= frame.tolerance:
            fail(play, "must be pure; the same state and m gave two different operators.")
        check_map(f"{play}, whose operator in round {t} is a `{type(U).__name__}`,", U, frame)
        new = oracle.learn(state, loss)
        check_unchanged(learn, before, state=state, m=m, s=s)
        check_state(learn, new, frame)
        check_same_form(learn, state, new)
        if not distance(frame.numbers(U @ m), first) <= frame.tolerance:
            fail(play, "must not see the sample of its round; the operator changed when the loss was learned.")
        gap, path = state_distance(oracle.learn(state, loss), new)
        if not gap <= frame.tolerance:
            fail(learn, f"must be pure; the same state and loss gave two results, which differ in `{path}`.")
        state = new


def _check_checkpoint(oracle: Oracle, fresh: Oracle, frame: Frame) -> None:
    player = Player(oracle)
    ms, ss = _samples(frame, seed=1)
    _, state = _run(player, frame, oracle.init(frame.x), ms, LARGE * ss)
    stored = pack(state, _xp.to_numpy)
    loaded = unpack(stored, like=fresh.init(frame.x), convert=_xp.from_numpy)
    played, end = _run(player, frame, state, *_samples(frame, seed=2))
    again, other = _run(Player(fresh), frame, loaded, *_samples(frame, seed=2))
    gap = max(distance(frame.numbers(u), frame.numbers(v)) for u, v in zip(played, again, strict=True))
    if not max(gap, state_distance(end, other)[0]) <= frame.tolerance:
        fail(
            oracle,
            "must keep all it remembers in its state; a fresh copy of it, given the stored state, goes on differently.",
        )


def _check_traced(player: Player, frame: Frame) -> None:
    one, oracle, eager, calls, results = frame.rows(), player.oracle, Player(player.oracle), [], []
    state = oracle.init(one.x)
    check_traced(method(oracle, "init"), oracle.init, [(one.x,)], [state], one)
    for values, sample in zip(*_samples(one, seed=3), strict=True):
        calls.append((state, one.vector(sample), one.vector(values)))
        results.append(eager.both(*calls[-1]))
        state = results[-1][1]
    check_traced(f"`{type(oracle).__name__}`", eager.both, calls, results, one, jitted=player.both)


def _check_batch(player: Player, frame: Frame) -> None:
    oracle, batch, rule = player.oracle, ROUNDS, "must treat a batch as its rows"
    one, many = frame.rows(), frame.rows(batch)
    ms, ss = _samples(many, seed=4)
    first = attempt(oracle, rule, lambda: oracle.init(many.x))
    played, state = attempt(oracle, rule, lambda: _run(player, many, first, ms, ss))
    check_same_form(f"{method(oracle, 'learn')} on a batch", first, state)
    for row in range(batch):
        end = oracle.init(one.x)
        for together, values, sample in zip(played, ms[:, row], ss[:, row], strict=True):
            alone, end = player.both(end, one.vector(sample), one.vector(values))
            gap = distance(many.numbers(together)[row], one.numbers(alone))
            if not gap <= frame.tolerance:
                fail(oracle, f"{rule}; what it plays in row {row} of {batch} differs by {gap:.2g} from that run alone.")
        check_rows(oracle, batch, row, state, end, frame)


def _check_blocks(player: Player, on_blocks: Player, frame: Frame, shapes: Any) -> None:
    oracle, one, rule = player.oracle, frame.rows(), "must give the same numbers on Blocks as on the array"
    ms, ss = _samples(one, seed=5)
    state = oracle.init(one.x)
    blocks = attempt(oracle, rule, lambda: on_blocks.oracle.init(split(one.x, shapes)))
    for values, sample in zip(ms, ss, strict=True):
        m, s = one.vector(values), one.vector(sample)
        Um, state = player.both(state, s, m)
        cut, blocks = attempt(oracle, rule, lambda: on_blocks.both(blocks, split(s, shapes), split(m, shapes)))  # noqa: B023
        gap = distance(attempt(oracle, rule, lambda: join(cut, shapes)), Um)  # noqa: B023
        if not gap <= frame.tolerance:
            fail(oracle, f"{rule}; what it plays differs by {gap:.2g}.")
