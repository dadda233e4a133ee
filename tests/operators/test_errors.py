"""Wrong operators: one wrong input for each argument, and an error that names the argument, the rule and the value."""

import math

import numpy as np
import pytest

from o2nc import Blocks
from o2nc.operators import Blockwise, Dense, Diagonal, Identity, Mixture, Projector, polar
from sentences import check

X = np.ones(3)
EXPERTS = [Identity(), Diagonal(np.full(3, 0.5))]


def weights(*values):
    return np.asarray(values)


WRONG = {
    "diagonal above 1": (
        lambda: Diagonal(weights(0.5, -1.5)), ValueError, "`Diagonal(diagonal=...)`", "at most 1; got 1.5",
    ),
    "diagonal not a number": (lambda: Diagonal(weights(0.5, math.nan)), ValueError, "`Diagonal(", "at most 1; got nan"),
    "diagonal a list": (lambda: Diagonal([0.5]), TypeError, "`Diagonal(diagonal=...)`", "must be an array", "[0.5]"),
    "diagonal of integers": (lambda: Diagonal(np.ones(2, int)), ValueError, "`Diagonal(", "floating dtype; got int64"),
    "diagonal a scalar": (lambda: Diagonal(np.asarray(0.5)), ValueError, "`Diagonal(", "(..., d); got shape ()"),
    "diagonal of no blocks": (lambda: Diagonal(Blocks(())), TypeError, "`Diagonal(", "must be", "Blocks(arrays=())"),
    "basis not orthonormal": (
        lambda: Projector(np.ones((2, 1))), ValueError, "`Projector(basis=...)`", "orthonormal", "by 1",
    ),
    "basis not a number": (lambda: Projector(np.full((2, 1), math.nan)), ValueError, "`Projector(", "by nan"),
    "basis a vector": (lambda: Projector(X), ValueError, "`Projector(basis=...)`", "(d, k)", "got shape (3,)"),
    "basis three axes": (lambda: Projector(np.ones((1, 1, 1))), ValueError, "`Projector(", "got shape (1, 1, 1)"),
    "basis a list": (lambda: Projector([[1.0]]), TypeError, "`Projector(basis=...)`", "array", "got [[1.0]]"),
    "basis of integers": (lambda: Projector(np.eye(2, dtype=int)), TypeError, "`Projector(", "dtype; got int64"),
    "mask of numbers": (lambda: Projector.from_mask(X), TypeError, "`mask` must be boolean", "float64"),
    "mask a list": (lambda: Projector.from_mask([True]), TypeError, "`mask` must be a boolean array", "got [True]"),
    "matrix above 1": (lambda: Dense(2 * np.eye(2)), ValueError, "`Dense(matrix=...)`", "norm at most 1; got 2"),
    "matrix not a number": (lambda: Dense(np.full((2, 2), math.nan)), ValueError, "`Dense(", "finite; got", "nan"),
    "matrix not square": (lambda: Dense(np.ones((2, 3))), ValueError, "`Dense(", "square", "got shape (2, 3)"),
    "matrix a vector": (lambda: Dense(X), ValueError, "`Dense(matrix=...)`", "(..., d, d)", "got shape (3,)"),
    "matrix a list": (lambda: Dense([[1.0]]), TypeError, "`Dense(matrix=...)`", "array", "got [[1.0]]"),
    "matrix of integers": (lambda: Dense(np.eye(2, dtype=int)), TypeError, "`Dense(", "floating dtype; got int64"),
    "weights off the simplex": (
        lambda: Mixture(weights(0.5, 0.6), EXPERTS), ValueError, "`Mixture(weights", "sum to 1", "0.6",
    ),
    "weights negative": (lambda: Mixture(weights(-0.5, 1.5), EXPERTS), ValueError, "`Mixture(", "nonnegative", "-0.5"),
    "weights not a number": (lambda: Mixture(weights(math.nan, 1), EXPERTS), ValueError, "`Mixture(", "got [nan"),
    "weights of other number": (
        lambda: Mixture(weights(1.0), EXPERTS), ValueError, "one weight an operator", "2; got shape (1,)",
    ),
    "weights a list": (
        lambda: Mixture([0.5, 0.5], EXPERTS), TypeError, "`Mixture(weights=...)`", "array", "[0.5, 0.5]",
    ),
    "weights of integers": (lambda: Mixture(np.asarray([1, 0]), EXPERTS), ValueError, "`Mixture(weights", "got int64"),
    "mixture of a matrix": (lambda: Mixture(weights(1.0), [np.eye(2)]), TypeError, "`Mixture(operators=...)`", "array"),
    "mixture of nothing": (lambda: Mixture(weights(1.0), None), TypeError, "`Mixture(operators=...)`", "got None"),
    "blockwise of a class": (
        lambda: Blockwise((Identity,)), TypeError, "`Blockwise(operators=...)`", "the class Identity",
    ),
    "blockwise shapes": (
        lambda: Blockwise(EXPERTS, shapes=((3,),)), ValueError, "`Blockwise(shapes", "an operator, 2", "(3,)",
    ),
    "blockwise shape of a number": (
        lambda: Blockwise(EXPERTS, shapes=(3, 3)), TypeError, "`Blockwise(shapes", "got (3, 3)",
    ),
    "blockwise shape of a float": (
        lambda: Blockwise(EXPERTS, shapes=((3.0,), (2,))), TypeError, "(n,) or (p, q)", "3.0",
    ),
    "blockwise without shapes": (
        lambda: Blockwise(EXPERTS) @ X, ValueError, "`Blockwise(shapes=...)`", "array; got none",
    ),
    "blockwise on other blocks": (lambda: Blockwise(EXPERTS) @ Blocks((X,)), ValueError, "2 blocks; got 1"),
    "blockwise on another size": (
        lambda: Blockwise(EXPERTS, shapes=((2,), (3,))) @ X, ValueError, "`shapes`", "3 entries", "((2,), (3,))",
    ),
    "polar of a vector": (lambda: polar(X), ValueError, "`A` must be an array of shape (..., p, q); got shape (3,)"),
    "polar of integers": (lambda: polar(np.eye(2, dtype=int)), TypeError, "`A`", "floating dtype; got int64"),
    "polar of a list": (lambda: polar([[1.0]]), TypeError, "`A` must be an array", "got [[1.0]]"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
