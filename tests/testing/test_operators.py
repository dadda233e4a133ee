"""`check_operator`: each operator that is broken on purpose fails with the right sentence."""

import numpy as np
import pytest

from broken import Scale, Threshold
from contracts import LIBRARIES, SHAPES, D
from o2nc import Blocks
from o2nc.operators import Diagonal, Identity
from o2nc.testing import check_operator


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


def test_what_is_no_operator_and_what_is_no_vector():
    with pytest.raises(TypeError, match="`operator` must be an instance; got the class Identity"):
        check_operator(Identity, np.zeros(D))
    with pytest.raises(TypeError, match="`x` must be an array or Blocks"):
        check_operator(Identity(), [1.0, 2.0])
