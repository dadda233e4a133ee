"""`check_conversion`: a whole one passes, and each one that is broken on purpose fails with the right sentence."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from broken import Unfinished
from contracts import LIBRARIES, SHAPES, D, in_every_library
from o2nc import Blocks
from o2nc.conversions import Conversion
from o2nc.testing import check_conversion


class TrackerState(NamedTuple):
    m: Any


@dataclass
class Momentum(Conversion):
    """x_{t+1} = x_t - 0.1 m_t along the old tracker."""

    def init(self, x, *, tau=None):
        return TrackerState(m=0 * x)

    def update(self, s, state, x=None, *, r=None, value=None):
        return -0.1 * state.m, TrackerState(m=0.9 * state.m + 0.1 * s)


@in_every_library
def test_the_whole_conversion_passes(lib):
    check_conversion(Momentum(), lib.array(np.zeros(D)), shapes=SHAPES, predictable=True)


class NewTracker(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        _, new = super().update(s, state)
        return -0.1 * new.m, new


class ReturnsPoint(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        return x + dx, new


class WritesIntoTracker(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx = -0.1 * state.m
        state.m[...] = 0.9 * state.m + 0.1 * s
        return dx, state


class WritesIntoSample(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        s *= 0.1
        return super().update(s, state)


class Noisy(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        return dx + 1e-3 * np.random.rand(), new  # noqa: NPY002


class RemembersPeak(Momentum):
    """Its step depends on the largest sample so far, an attribute that no checkpoint stores."""

    def __init__(self):
        self.peak = 1.0

    def update(self, s, state, x=None, *, r=None, value=None):
        self.peak = max(self.peak, float(abs(s).max()))
        return super().update((1 / self.peak) * s, state)


class Clips(Momentum):
    """By the norm of the whole batch."""

    def update(self, s, state, x=None, *, r=None, value=None):
        return super().update(s / max(1.0, float(np.linalg.norm(s))), state)


class WidensTracker(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        return dx, TrackerState(new.m.astype("float64"))


class Flattens(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        return dx.sum(axis=-1, keepdims=True), new


class Divides(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        with np.errstate(all="ignore"):
            return dx / np.sum(state.m * state.m, axis=-1, keepdims=True), new


class Slows(Momentum):
    """Another step on Blocks than on arrays."""

    def update(self, s, state, x=None, *, r=None, value=None):
        dx, new = super().update(s, state)
        return (0.5 * dx if isinstance(dx, Blocks) else dx), new


class DictTracker(Momentum):
    def init(self, x, *, tau=None):
        return {"m": 0 * x}


BROKEN_CONVERSIONS = {
    NewTracker: r"`NewTracker.update` must not move along the sample of its round; in round 1",
    ReturnsPoint: r"`ReturnsPoint.update` must return the displacement to the next point; it returns the next point",
    WritesIntoTracker: r"`WritesIntoTracker.update` must not change its inputs; it wrote into `state.m`",
    WritesIntoSample: r"`WritesIntoSample.update` must not change its inputs; it wrote into `s`",
    Noisy: r"`Noisy.update` must be pure; the same inputs gave two results, which differ in `dx`",
    RemembersPeak: r"`RemembersPeak` must keep all it remembers in its state",
    Clips: r"`Clips` must treat a batch as its rows; the displacement in row 0 of 3 differs",
    WidensTracker: r"`WidensTracker.update` must keep the dtype of x, float32; `state.m` is float64",
    Flattens: r"`Flattens.update` must keep the shape of x, \(3,\); `dx` has \(1,\)",
    Divides: r"`Divides.update` must return a finite displacement; in round 1 it was not",
    Slows: r"`Slows` must give the same numbers on Blocks as on the array; the displacement differs",
    DictTracker: r"`DictTracker.init` must return its state as a NamedTuple of arrays; got dict",
    Unfinished: r"`Unfinished` must have `o2nc.conversions.Conversion` as a base class",
}


@pytest.mark.parametrize("kind", BROKEN_CONVERSIONS, ids=lambda kind: kind.__name__)
def test_broken_conversions(kind):
    with pytest.raises(AssertionError, match=BROKEN_CONVERSIONS[kind]) as failure:
        check_conversion(kind(), np.zeros(D), shapes=SHAPES, predictable=kind is NewTracker)
    assert str(failure.value).endswith(".")


class BranchesOnSample(Momentum):
    def update(self, s, state, x=None, *, r=None, value=None):
        return super().update(s if s[0] > 0 else -1.0 * s, state)


def test_a_conversion_that_cannot_be_traced():
    sentence = r"`BranchesOnSample.update` must work under jax.jit, .*; it raised TracerBoolConversionError"
    with pytest.raises(AssertionError, match=sentence):
        check_conversion(BranchesOnSample(), LIBRARIES["jax"].array(np.zeros(D)))


def test_what_is_no_conversion():
    with pytest.raises(TypeError, match="`conversion` must be an instance; got the class Momentum"):
        check_conversion(Momentum, np.zeros(D))
