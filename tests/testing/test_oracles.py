"""`check_oracle`: a whole oracle passes, and each one that is broken on purpose fails with the right sentence."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import torch

from broken import Scale, Threshold, Unfinished
from contracts import LIBRARIES, MASK, SHAPES, D, in_every_library
from o2nc import Blocks
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import Constant, Hedge
from o2nc.testing import check_oracle


class ScaleState(NamedTuple):
    c: Any  # the factor, (..., 1)
    E: Any  # sum of the squared gradients, (..., 1)


@dataclass
class Whole:
    """Online gradient descent on the factor c in [0, 1] of c I."""

    def init(self, x):
        return ScaleState(c=x[..., :1] * 0 + 0.5, E=x[..., :1] * 0)

    def play(self, state, m):
        return Scale(state.c)

    def learn(self, state, loss):
        g = loss(loss.m)
        E = state.E + g * g
        return ScaleState(c=(state.c - g / (2 * E + 1e-12) ** 0.5).clip(0, 1), E=E)

    def regret_bound(self, x, energy):
        return math.sqrt(2 * energy)


@in_every_library
def test_the_whole_oracle_passes(lib):
    check_oracle(Whole(), lib.array(np.zeros(D)), rounds=16)


class WritesIntoState(Whole):
    def learn(self, state, loss):
        new = super().learn(state, loss)
        state.c[...] = new.c
        return ScaleState(state.c, new.E)


class WritesIntoDirection(Whole):
    def play(self, state, m):
        m *= 0.5
        return Scale(state.c)


class WritesIntoPoint(Whole):
    def init(self, x):
        x += 1
        return super().init(x)


class Expands(Whole):
    def play(self, state, m):
        return Scale(3 * state.c)


def test_an_oracle_may_say_that_its_operators_have_any_size():
    """Only that rule is skipped."""
    check_oracle(Expands(), np.zeros(D), contraction=False, regret=False)
    with pytest.raises(AssertionError, match="must bound the regret"):
        check_oracle(Expands(), np.zeros(D), contraction=False, rounds=16)
    with pytest.raises(AssertionError, match="must be linear"):
        check_oracle(PlaysNonlinear(), np.zeros(D), contraction=False)


class PlaysNonlinear(Whole):
    def play(self, state, m):
        return Threshold()


class Guesses(Whole):
    def play(self, state, m):
        return Scale(state.c * np.random.rand())  # noqa: NPY002


class LearnsByChance(Whole):
    def learn(self, state, loss):
        new = super().learn(state, loss)
        return new._replace(E=new.E + np.random.rand())  # noqa: NPY002


class Peeks(Whole):
    """Its operator looks up the sample when it is applied."""

    def __init__(self):
        self.operator = Scale(1.0)

    def play(self, state, m):
        return self.operator

    def learn(self, state, loss):
        self.operator.c = float(np.sum(loss(loss.m)) < 0)
        return super().learn(state, loss)


class Hides(Whole):
    """Its memory is an attribute, which no checkpoint stores."""

    def __init__(self):
        self.rounds = 0

    def play(self, state, m):
        return Scale(0.9**self.rounds)

    def learn(self, state, loss):
        self.rounds += 1
        return super().learn(state, loss)


class Promotes(Whole):
    def learn(self, state, loss):
        new = super().learn(state, loss)
        return new._replace(E=new.E.astype("float64"))


class PromotesPlay(Whole):
    def play(self, state, m):
        return Scale(np.float64(0.5))


class MixesRows(Whole):
    def learn(self, state, loss):
        new = super().learn(state, loss)
        return new._replace(c=new.c.mean(keepdims=True) + 0 * new.c)


class ForgetsRows(Whole):
    def init(self, x):
        return ScaleState(np.full((1,), 0.5, x.dtype), np.zeros((1,), x.dtype))


class OneRunOnly(Whole):
    def init(self, x):
        (_,) = x.shape
        return super().init(x)


class Stubborn(Whole):
    """It never learns, and says that it does."""

    def learn(self, state, loss):
        return state


class Quiet(Stubborn):
    """It never learns, and says nothing."""

    regret_bound = property()  # as if it had none


class Overconfident(Whole):
    def regret_bound(self, x, energy):
        return 0.1 * math.sqrt(energy)


class DictState(Whole):
    def init(self, x):
        return super().init(x)._asdict()


class NumberInState(Whole):
    def init(self, x):
        return super().init(x)._replace(E=0.0)


class Grows(Whole):
    def learn(self, state, loss):
        new = super().learn(state, loss)
        return new._replace(E=np.concatenate([state.E, new.E], axis=-1))


class Flips(Whole):
    """Another oracle on Blocks than on arrays."""

    def init(self, x):
        return super().init(x.arrays[0][0, :]) if isinstance(x, Blocks) else super().init(x)

    def play(self, state, m):
        return Scale(0.5 * state.c) if isinstance(m, Blocks) else Scale(state.c)

    def learn(self, state, loss):
        return super().learn(state, loss)


BROKEN_ORACLES = {
    WritesIntoState: r"`WritesIntoState.learn` must not change its inputs; it wrote into `state.c`",
    WritesIntoDirection: r"`WritesIntoDirection.play` must not change its inputs; it wrote into `m`",
    WritesIntoPoint: r"`WritesIntoPoint.init` must not change its inputs; it wrote into `x`",
    Expands: r"`Expands.play`, whose operator in round 1 is a `Scale`, must be a contraction.* by the factor 1.5",
    PlaysNonlinear: r"`PlaysNonlinear.play`, whose operator in round 1 is a `Threshold`, must be linear",
    Guesses: r"`Guesses.play` must be pure; the same state and m gave two different operators",
    LearnsByChance: r"`LearnsByChance.learn` must be pure; .*which differ in `state.E`",
    Peeks: r"`Peeks.play` must not see the sample of its round",
    Hides: r"`Hides` must keep all it remembers in its state",
    Promotes: r"`Promotes.learn` must keep the dtype of x, float32; `state.E` is float64",
    PromotesPlay: r"`PromotesPlay.play` must keep the dtype of x, float32; `U @ m` is float64",
    MixesRows: r"`MixesRows` must treat a batch as its rows; .* row 0",
    ForgetsRows: r"`ForgetsRows` on a batch must keep the shape .*; `state.c` was \(1,\) float64, now \(3, 1\)",
    OneRunOnly: r"`OneRunOnly` must treat a batch as its rows; it raised ValueError",
    Stubborn: r"`Stubborn.regret_bound` must bound the regret against the identity; .* above the bound",
    Quiet: r"`Quiet` must have sublinear regret; on aligned losses it was 0.5 a round",
    Overconfident: r"`Overconfident.regret_bound` must bound the regret",
    DictState: r"`DictState.init` must return its state as a NamedTuple of arrays; got dict",
    NumberInState: r"`NumberInState.init` must keep only arrays in its state; `state.E` is float",
    Grows: r"`Grows.learn` must keep the shape and dtype of its state; `state.E` was \(1,\) float64, now \(2,\)",
    Unfinished: r"`Unfinished` must have the methods `init`, `play` and `learn`",
}


@pytest.mark.parametrize("kind", BROKEN_ORACLES, ids=lambda kind: kind.__name__)
def test_broken_oracles(kind):
    with pytest.raises(AssertionError, match=BROKEN_ORACLES[kind]) as failure:
        check_oracle(kind(), np.zeros(D), rounds=16)
    assert str(failure.value).endswith(".")
    assert "\n" not in str(failure.value)


def test_an_oracle_that_differs_on_blocks():
    check_oracle(Flips(), np.zeros(D), regret=False)
    with pytest.raises(AssertionError, match=r"`Flips` must give the same numbers on Blocks as on the array; what"):
        check_oracle(Flips(), np.zeros(D), shapes=SHAPES, regret=False)
    with pytest.raises(
        AssertionError, match=r"`Whole` must give the same numbers on Blocks as on the array; it raised"
    ):
        check_oracle(Whole(), np.zeros(D), shapes=SHAPES, regret=False)


class Branches(Whole):
    def learn(self, state, loss):
        return super().learn(state, loss) if (loss(loss.m) < 0).all() else state


class Halted(Whole):
    """Another step when it is traced."""

    def learn(self, state, loss):
        new = super().learn(state, loss)
        return new._replace(c=0.5 * new.c) if isinstance(new.c, jax.core.Tracer) else new


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Branches, r"`Branches` must work under jax.jit, with the same numbers; it raised TracerBoolConversionError"),
        (Halted, r"`Halted` must work under jax.jit, with the same numbers; `result\[1\].c` differs by"),
    ],
)
def test_oracles_that_cannot_be_traced(kind, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_oracle(kind(), LIBRARIES["jax"].array(np.zeros(D)), regret=False)


class Elsewhere(Whole):
    def init(self, x):
        return super().init(x)._replace(E=torch.zeros(1, dtype=x.dtype, device="meta"))


class ForeignState(Whole):
    def init(self, x):
        return super().init(x)._replace(E=np.zeros(1))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Elsewhere, r"`Elsewhere.init` must stay on the device of x, cpu; `state.E` is on meta"),
        (ForeignState, r"`ForeignState.init` must stay in the array library of x, .*torch; `state.E` is ndarray"),
    ],
)
def test_oracles_that_leave_their_device_or_library(kind, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_oracle(kind(), torch.zeros(D), regret=False)


def test_a_comparator_other_than_the_identity():
    half = Diagonal(np.full(D, 0.5))
    oracle = Hedge([half, Diagonal(MASK)])
    check_oracle(oracle, np.zeros(D))  # no bound against the identity, which it does not have: nothing to measure
    check_oracle(oracle, np.zeros(D), comparator=half, rounds=16)
    with pytest.raises(AssertionError, match="`OverExperts` must have sublinear regret"):
        check_oracle(oracle, np.zeros(D), comparator=Identity(), rounds=16)


def test_what_is_no_oracle_and_what_is_no_vector():
    with pytest.raises(TypeError, match="`oracle` must be an instance; got the class Constant"):
        check_oracle(Constant, np.zeros(D))
    with pytest.raises(ValueError, match="`x` must have a real floating dtype"):
        check_oracle(Constant(), np.zeros(2, dtype=int))
