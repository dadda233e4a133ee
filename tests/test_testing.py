"""The public checks: every class of ours passes, and each deliberately broken one fails with the right sentence."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
import torch

from conftest import BACKENDS
from o2nc import (
    SGD,
    Blocks,
    Nonsmooth,
    NonsmoothConversion,
    Smooth,
    SmoothConversion,
    _xp,
    conversions,
    operators,
)
from o2nc.conversions import (
    Adam,
    BallOGD,
    ClippedFTRL,
    DoublingConversion,
    ExponentiatedConversion,
    HeavyBall,
    NormalizedSGD,
    OnlineScaled,
    OnlineScaledHeavyBall,
    RegularizedOMD,
    SegmentConversion,
    ShiftingConversion,
    UntunedConversion,
)
from o2nc.operators import (
    Blockwise,
    Dense,
    Diagonal,
    Identity,
    LeftFactor,
    Mixture,
    Projector,
    RightFactor,
    Scalars,
    Toward,
)
from o2nc.oracles import (
    OGD,
    Compared,
    Constant,
    Hedge,
)
from o2nc.sets import (
    SpectralBall,
)
from o2nc.states import pack, unpack
from o2nc.testing import check_conversion, check_operator, check_oracle
from o2nc.vectors import apply, inner

D = 3
SWAP = -np.eye(D)[::-1]
BASIS = np.linalg.qr(np.random.default_rng(0).normal(size=(D, 2)))[0]
MASK = np.asarray([1.0, 0.0, 0.5])
SHAPES = [(2, 1), (1,)]  # how three numbers are cut into Blocks
LIBRARIES = {backend.name: backend for backend in BACKENDS if backend.name in ("numpy", "torch", "jax")}
NUMPY = LIBRARIES["numpy"]
SMOOTH = Smooth(M=8.0, beta=1.0, sigma=0.5, T=100)
SHORT = Smooth(M=8.0, beta=1.0, sigma=2.5, T=2)  # the first of phases that double
NONSMOOTH = Nonsmooth(L=1.5, M=8.0, sigma=0.5, lam=0.05, T=100)


@pytest.fixture(params=LIBRARIES.values(), ids=LIBRARIES)
def lib(request):
    return request.param


def cut(lib, values):
    """Three numbers as `Blocks`."""
    return Blocks((lib.array(np.asarray(values)[:2].reshape(2, 1)), lib.array(np.asarray(values)[2:])))


# Every class of ours.

OPERATORS = {
    "Identity": lambda lib: Identity(),
    "Diagonal": lambda lib: Diagonal(lib.array(MASK)),
    "mask": lambda lib: Projector.from_mask(lib.array(MASK > 0, "bool")),
    "Projector": lambda lib: Projector(lib.array(BASIS)),
    "Dense": lambda lib: Dense(lib.array(SWAP)),
    "Mixture": lambda lib: Mixture(lib.array([0.25, 0.75]), (Identity(), Dense(lib.array(SWAP)))),
    "Blockwise": lambda lib: Blockwise((Identity(), Diagonal(lib.array([0.5]))), shapes=SHAPES),
    "Scalars": lambda lib: Scalars(lib.array([0.5, -1.0]), shapes=SHAPES),
    "LeftFactor": lambda lib: Blockwise((LeftFactor(lib.array(SWAP)),), shapes=[(3, 1)]),
    "RightFactor": lambda lib: Blockwise((RightFactor(lib.array(SWAP)),), shapes=[(1, 3)]),
    "Toward": lambda lib: Toward(lib.array([1.0, 2.0, 3.0]), lib.array([0.5, -2.0, 1.0])),
}
ON_BLOCKS = {
    "Diagonal": lambda lib: Diagonal(cut(lib, MASK)),
    "mask": lambda lib: Diagonal(cut(lib, MASK > 0)),
    "Mixture": lambda lib: Mixture(lib.array([0.25, 0.75]), (Identity(), Diagonal(cut(lib, MASK)))),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(lib, name):
    U = OPERATORS[name](lib)
    check_operator(U, lib.array(np.zeros(D)))
    if lib is NUMPY:
        check_operator(U, lib.array(np.zeros((2, D))))


@pytest.mark.parametrize("name", ["Identity", "Diagonal", "mask", "Mixture", "Blockwise", "Scalars"])
def test_operators_on_blocks(lib, name):
    flat = OPERATORS[name](lib)
    if name == "Mixture":
        flat = Mixture(lib.array([0.25, 0.75]), (Identity(), Diagonal(lib.array(MASK))))
    blocks = ON_BLOCKS.get(name, OPERATORS[name])(lib)
    check_operator(flat, lib.array(np.zeros(D)), shapes=SHAPES, blocks=blocks)
    check_operator(blocks, cut(lib, np.zeros(D)))


@dataclass(frozen=True)
class Valued:
    """A conversion that needs values, with those of the sum of sin."""

    conversion: Any

    def init(self, x):
        return self.conversion.init(x)

    def update(self, s, state, x=None, *, r=None):
        value = inner(apply(lambda a: _xp.namespace(a).sin(a), x), apply(lambda a: 0 * a + 1, x))
        return self.conversion.update(s, state, x, value=value)


CONVERSIONS = {
    "SGD": (lambda oracle: SGD(eta=0.1), {}),
    "HeavyBall": (lambda oracle: HeavyBall(eta=0.1), {}),
    "Adam": (lambda oracle: Adam(eta=0.1), {}),
    "SmoothConversion": (lambda oracle: SmoothConversion(oracle, SMOOTH), {"predictable": True}),
    "descent": (lambda oracle: SmoothConversion(oracle, SMOOTH, kappa=1.0), {"predictable": True}),
    "DoublingConversion": (lambda oracle: DoublingConversion(oracle, SHORT, kappa=1.0), {"predictable": True}),
    "SegmentConversion": (lambda oracle: SegmentConversion(oracle, SMOOTH), {"with_r": False}),
    "uniform": (lambda oracle: SegmentConversion(oracle, SMOOTH, r=None), {}),
    "NonsmoothConversion": (lambda oracle: NonsmoothConversion(oracle, NONSMOOTH), {}),
    "ShiftingConversion": (lambda oracle: ShiftingConversion(BallOGD(D=1.0, eta=0.5), epoch=2, T=100), {}),
    "ExponentiatedConversion": (lambda oracle: ExponentiatedConversion(RegularizedOMD(0.5, 0.5, 0.9), T=100), {}),
    "clipped": (lambda oracle: ExponentiatedConversion(ClippedFTRL(D=1.0, b=0.9), T=100), {}),
    "shifting FTRL": (lambda oracle: ShiftingConversion(ClippedFTRL(D=1.0, b=0.9), epoch=2, T=100), {}),
    "NormalizedSGD": (lambda oracle: NormalizedSGD(eta=0.1), {}),
    "OnlineScaled": (lambda oracle: Valued(OnlineScaled(alpha=0.1, P1=0.1)), {}),
    "ratio": (lambda oracle: Valued(OnlineScaled(alpha=0.1, high=0.5, f_star=-D)), {}),
    "OnlineScaledHeavyBall": (lambda oracle: Valued(OnlineScaledHeavyBall(alpha=0.1, P1=0.1, tau=1.0)), {}),
    "UntunedConversion": (lambda oracle: UntunedConversion(oracle, kappa=1.0), {"predictable": True}),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions(lib, name):
    make, options = CONVERSIONS[name]
    flat = make(Hedge([Identity(), Diagonal(lib.array(MASK))]))
    blocks = make(Hedge([Identity(), Diagonal(cut(lib, MASK))]))
    check_conversion(flat, lib.array(np.ones(D)), shapes=SHAPES, blocks=blocks, **options)
    if lib is NUMPY:
        check_conversion(blocks, cut(lib, np.ones(D)), **options)
        check_conversion(make(OGD(SpectralBall())), lib.array(np.ones((2, D))), **options)


def test_every_class_is_checked():
    public = lambda module, base: {
        name
        for name in module.__all__
        if isinstance(getattr(module, name), type) and hasattr(getattr(module, name), base)
    }
    assert public(conversions, "update") - {"Conversion"} <= set(CONVERSIONS)
    kinds = {name for name, value in vars(operators).items() if isinstance(value, type) and "__matmul__" in vars(value)}
    assert kinds - {"Operator"} <= set(OPERATORS)


# Broken on purpose. The whole ones, which pass, come first; each broken one changes one thing.


@dataclass
class Scale:
    """c I."""

    c: Any

    def __matmul__(self, v):
        return v * self.c


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


class Threshold:
    def __matmul__(self, v):
        return v * (abs(v) > 0.1)


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


class Unfinished:
    def init(self, x):
        return ()


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
    ForgetsRows: r"`ForgetsRows.learn` on a batch must keep the shape .*; `state.c` was \(1,\) float64, now \(3, 1\)",
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


class Doubles:
    def __matmul__(self, v):
        return 2.0 * v


class Shears:
    """Every eigenvalue is 0, the norm is 1.5."""

    def __matmul__(self, v):
        return 1.5 * np.concatenate([v[..., 1:2], 0 * v[..., 1:]], axis=-1)


class Shifts:
    def __matmul__(self, v):
        return 0.5 * v + 0.1


class Normalises:
    def __matmul__(self, v):
        return 0.1 * v / np.sqrt(1 + np.sum(v * v, axis=-1, keepdims=True))


class Halves:
    def __matmul__(self, v):
        v *= 0.5
        return v


class Flickers:
    def __matmul__(self, v):
        return v * np.random.rand()  # noqa: NPY002


class Averages:
    def __matmul__(self, v):
        return v - np.mean(v, axis=0, keepdims=True) if v.ndim > 1 else v


class Widens:
    def __matmul__(self, v):
        return 0.5 * v.astype("float64")


class Shrinks:
    def __matmul__(self, v):
        return v[..., :-1]


class Wanders:
    def __matmul__(self, v):
        return Blocks(tuple(0.5 * a for a in v.arrays)) if isinstance(v, Blocks) else v


BROKEN_OPERATORS = {
    Doubles: r"`Doubles` must be a contraction, \|U v\| <= \|v\|; it stretches a vector by the factor 2",
    Shears: r"`Shears` must be a contraction, .* by the factor 1.5",
    Shifts: r"`Shifts` must be linear; U @ 0 has an entry of 0.1",
    Threshold: r"`Threshold` must be linear; U @ \(0.0001 u \+ 0.0001 v\) differs",
    Normalises: r"`Normalises` must be linear",
    Halves: r"`Halves` must not change its inputs; it wrote into `v`",
    Flickers: r"`Flickers` must be pure; the same vector gave two results",
    Averages: r"`Averages` must treat a batch as its rows; row 0 of 3 differs",
    Widens: r"`Widens` in float32 must keep the dtype of x, float32; `U @ v` is float64",
    Shrinks: r"`Shrinks` must keep the shape of x, \(3,\); `U @ v` has \(2,\)",
    Wanders: r"`Wanders` must give the same numbers on Blocks as on the array; they differ",
    int: r"`int` must have a method `__matmul__`",
}


@pytest.mark.parametrize("kind", BROKEN_OPERATORS, ids=lambda kind: kind.__name__)
def test_broken_operators(kind):
    with pytest.raises(AssertionError, match=BROKEN_OPERATORS[kind]):
        check_operator(kind(), np.zeros(D), shapes=SHAPES)


def test_an_expanding_operator_in_high_dimension():
    stretched = np.ones(200)
    stretched[17] = 3.0
    check_operator(Diagonal(np.ones(200)), np.zeros(200))
    with pytest.raises(AssertionError, match=r"`Scale` must be a contraction"):
        check_operator(Scale(stretched), np.zeros(200))


class Branching:
    def __matmul__(self, v):
        return v if v[0] > 0 else 1.0 * v


def test_an_operator_that_cannot_be_traced():
    with pytest.raises(AssertionError, match=r"`Branching` must work under jax.jit, .*; it raised TracerBoolConv"):
        check_operator(Branching(), LIBRARIES["jax"].array(np.zeros((2, D)))[0])


class TrackerState(NamedTuple):
    m: Any


@dataclass
class Momentum:
    """x_{t+1} = x_t - 0.1 m_t along the old tracker."""

    def init(self, x):
        return TrackerState(m=0 * x)

    def update(self, s, state, x=None, *, r=None):
        return -0.1 * state.m, TrackerState(m=0.9 * state.m + 0.1 * s)


def test_the_whole_conversion_passes(lib):
    check_conversion(Momentum(), lib.array(np.zeros(D)), shapes=SHAPES, predictable=True)


class NewTracker(Momentum):
    def update(self, s, state, x=None, *, r=None):
        _, new = super().update(s, state)
        return -0.1 * new.m, new


class ReturnsPoint(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        return x + dx, new


class WritesIntoTracker(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx = -0.1 * state.m
        state.m[...] = 0.9 * state.m + 0.1 * s
        return dx, state


class WritesIntoSample(Momentum):
    def update(self, s, state, x=None, *, r=None):
        s *= 0.1
        return super().update(s, state)


class Noisy(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        return dx + 1e-3 * np.random.rand(), new  # noqa: NPY002


class RemembersPeak(Momentum):
    """Its step depends on the largest sample so far, an attribute that no checkpoint stores."""

    def __init__(self):
        self.peak = 1.0

    def update(self, s, state, x=None, *, r=None):
        self.peak = max(self.peak, float(abs(s).max()))
        return super().update((1 / self.peak) * s, state)


class Clips(Momentum):
    """By the norm of the whole batch."""

    def update(self, s, state, x=None, *, r=None):
        return super().update(s / max(1.0, float(np.linalg.norm(s))), state)


class WidensTracker(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        return dx, TrackerState(new.m.astype("float64"))


class Flattens(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        return dx.sum(axis=-1, keepdims=True), new


class Divides(Momentum):
    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        with np.errstate(all="ignore"):
            return dx / np.sum(state.m * state.m, axis=-1, keepdims=True), new


class Slows(Momentum):
    """Another step on Blocks than on arrays."""

    def update(self, s, state, x=None, *, r=None):
        dx, new = super().update(s, state)
        return (0.5 * dx if isinstance(dx, Blocks) else dx), new


class DictTracker(Momentum):
    def init(self, x):
        return {"m": 0 * x}


BROKEN_CONVERSIONS = {
    NewTracker: r"`NewTracker.update` must not move along the sample of its round; in round 1",
    ReturnsPoint: r"`ReturnsPoint.update` must return the displacement to the next point; it returns the next point",
    WritesIntoTracker: r"`WritesIntoTracker.update` must not change its inputs; it wrote into `state.m`",
    WritesIntoSample: r"`WritesIntoSample.update` must not change its inputs; it wrote into `s`",
    Noisy: r"`Noisy.update` must be pure; the same inputs gave two results, which differ in `dx`",
    RemembersPeak: r"`RemembersPeak` must keep all it remembers in its state",
    Clips: r"`Clips` must treat a batch as its rows; the displacement of row 0 of 3 differs",
    WidensTracker: r"`WidensTracker.update` must keep the dtype of x, float32; `state.m` is float64",
    Flattens: r"`Flattens.update` must keep the shape of x, \(3,\); `dx` has \(1,\)",
    Divides: r"`Divides.update` must return a finite displacement; in round 1 it was not",
    Slows: r"`Slows` must give the same numbers on Blocks as on the array; the displacement differs",
    DictTracker: r"`DictTracker.init` must return its state as a NamedTuple of arrays; got dict",
    Unfinished: r"`Unfinished` must have the methods `init` and `update`",
}


@pytest.mark.parametrize("kind", BROKEN_CONVERSIONS, ids=lambda kind: kind.__name__)
def test_broken_conversions(kind):
    with pytest.raises(AssertionError, match=BROKEN_CONVERSIONS[kind]) as failure:
        check_conversion(kind(), np.zeros(D), shapes=SHAPES, predictable=kind is NewTracker)
    assert str(failure.value).endswith(".")


class BranchesOnSample(Momentum):
    def update(self, s, state, x=None, *, r=None):
        return super().update(s if s[0] > 0 else -1.0 * s, state)


def test_a_conversion_that_cannot_be_traced():
    sentence = r"`BranchesOnSample.update` must work under jax.jit, .*; it raised TracerBoolConversionError"
    with pytest.raises(AssertionError, match=sentence):
        check_conversion(BranchesOnSample(), LIBRARIES["jax"].array(np.zeros(D)))


def test_a_vector_that_is_none():
    with pytest.raises(TypeError, match="`x` must be an array or Blocks"):
        check_operator(Identity(), [1.0, 2.0])
    with pytest.raises(ValueError, match="`x` must have a real floating dtype"):
        check_oracle(Constant(), np.zeros(2, dtype=int))


def test_states_are_packed_as_plain_data():
    oracle = Compared(Hedge([Identity(), Diagonal(cut(NUMPY, MASK))]), [Identity()])
    state = SmoothConversion(oracle, SMOOTH).init(cut(NUMPY, np.ones(D)))
    packed = pack(state, lambda array: array.tolist())
    assert packed["m"] == {"arrays": [[[0.0], [0.0]], [0.0]]}
    assert packed["oracle"]["oracle"]["t"] == [1]
    again = unpack(packed, like=state, convert=lambda values, like: np.asarray(values, dtype=like.dtype))
    assert type(again.oracle.oracle) is type(state.oracle.oracle)
    np.testing.assert_equal(pack(again), pack(state))
    with pytest.raises(ValueError, match=r"`packed` must have the fields of OverExpertsState"):
        unpack({"C": 0}, like=state.oracle.oracle)
    with pytest.raises(ValueError, match=r"`packed` must have a list of 2"):
        unpack({"arrays": [0]}, like=state.m)
