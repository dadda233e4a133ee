"""Is it an oracle? Pure, blind to the sample, the same on a batch, and with sublinear regret."""

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..losses import LinearLoss
from ..operators import Identity, Operator
from ..oracles.base import Oracle
from ..vectors import Vector
from .adversaries import Player, check_regret
from .frame import Frame, Numbers
from .operators import check_map
from .stateful import ROUNDS, Subject, check_init, check_next, check_runs
from .trials import check_instance, check_like, check_unchanged, copies, distance, fail, method, state_distance


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
    contraction: bool = True,
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
        contraction: whether what is played must be a contraction; one that is made for `o2nc.losses.PredictionLoss` may
            play operators of any size, and all else is checked.

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
    check_instance(Oracle, "oracle", oracle, "the methods `init`, `play` and `learn`")
    subject = _subject(oracle)
    _check_rounds(subject, frame, contraction)
    _check_rounds(subject, frame.in_float32(), contraction)
    check_runs(subject, _subject(fresh), frame, shapes, None if blocks is None else _subject(blocks))
    if not regret:
        return
    stated = hasattr(oracle, "regret_bound") and math.isfinite(oracle.regret_bound(frame.rows().x, 1.0))
    if comparator is not None or stated or not hasattr(oracle, "regret_bound"):
        bounded = stated and (comparator is None or isinstance(comparator, Identity))
        check_regret(Player(oracle, frame, contraction), frame, comparator or Identity(), bounded, rounds, tuned)


def _subject(oracle: Oracle) -> Subject:
    def step(state: Any, x: Vector, s: Vector, m: Vector) -> tuple[Vector, Any]:
        return oracle.play(state, m) @ m, oracle.learn(state, LinearLoss(s, m, 1.0))

    return Subject(oracle, oracle.init, step, _samples, f"`{type(oracle).__name__}`", "what it plays", moves=False)


def _samples(frame: Frame, seed: int) -> tuple[Numbers, Numbers]:
    """The samples and the directions of a few rounds."""
    values = frame.draw(2 * ROUNDS, seed) / math.sqrt(frame.d)
    return values[ROUNDS:], values[:ROUNDS]


def _check_rounds(subject: Subject, frame: Frame, contraction: bool) -> None:
    """Purity, form, and what is played, round by round."""
    oracle, state = subject.thing, check_init(subject, frame)
    play, learn = method(oracle, "play"), method(oracle, "learn")
    for t, (sample, values) in enumerate(zip(*_samples(frame, seed=0), strict=True), start=1):
        m, s = frame.vector(values), frame.vector(sample)
        before, loss = copies(state=state, m=m, s=s), LinearLoss(s, m, 1.0)
        U = oracle.play(state, m)
        Um = U @ m
        check_like(play, "U @ m", Um, m, frame)
        first = frame.numbers(Um)
        check_unchanged(play, before, state=state, m=m, s=s)
        if not distance(frame.numbers(oracle.play(state, m) @ m), first) <= frame.tolerance:
            fail(play, "must be pure; the same state and m gave two different operators.")
        check_map(f"{play}, whose operator in round {t} is a `{type(U).__name__}`,", U, frame, contraction)
        new = oracle.learn(state, loss)
        check_unchanged(learn, before, state=state, m=m, s=s)
        check_next(learn, state, new, frame)
        if not distance(frame.numbers(U @ m), first) <= frame.tolerance:
            fail(play, "must not see the sample of its round; the operator changed when the loss was learned.")
        gap, path = state_distance(oracle.learn(state, loss), new)
        if not gap <= frame.tolerance:
            fail(learn, f"must be pure; the same state and loss gave two results, which differ in `{path}`.")
        state = new
