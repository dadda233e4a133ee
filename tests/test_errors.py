"""Wrong constants, vectors, operators and sets: one wrong input for each argument.

Each gets an error that names the argument, the rule and the value.
"""

import math

import numpy as np
import pytest

from o2nc import Blocks, Nonsmooth, Smooth, SmoothConversion
from o2nc.operators import Blockwise, Dense, Diagonal, Identity, Mixture, Projector, polar
from o2nc.oracles import FTRL, OGD, OMD, AdaGrad, Constant, FullAdaGrad, Hedge
from o2nc.sets import Box, Hull, SpectralBall, Varying
from o2nc.vectors import inner, join, mat, split, vec
from sentences import check

X = np.ones(3)
BLOCKS = Blocks((np.ones((2, 2)), np.ones(3)))
SMOOTH = Smooth(M=1.0, beta=1.0, sigma=1.0, T=10)
NONSMOOTH = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=10)
EXPERTS = [Identity(), Diagonal(np.full(3, 0.5))]


def smooth(**changes):
    return Smooth(**{"M": 1.0, "beta": 1.0, "sigma": 1.0, "T": 10, **changes})


def nonsmooth(**changes):
    return Nonsmooth(**{"L": 1.0, "M": 1.0, "sigma": 0.0, "lam": 1.0, "T": 10, **changes})


WRONG_NUMBERS = {
    "zero": (0.0, ValueError, "positive; got 0.0"),
    "negative": (-2.0, ValueError, "got -2.0"),
    "nan": (math.nan, ValueError, "finite", "got nan"),
    "infinite": (math.inf, ValueError, "finite", "got inf"),
    "text": ("1", TypeError, "must be a number; got '1'"),
    "none": (None, TypeError, "must be a number; got None"),
    "bool": (True, TypeError, "must be a number; got True"),
    "array": (np.ones(1), TypeError, "must be a number; got array"),
}
NUMBERS = {
    "M": lambda v: smooth(M=v),
    "beta": lambda v: smooth(beta=v),
    "sigma": lambda v: smooth(sigma=v),
    "L": lambda v: nonsmooth(L=v),
    "M ": lambda v: nonsmooth(M=v),
    "sigma ": lambda v: nonsmooth(sigma=v),
    "lam": lambda v: nonsmooth(lam=v),
    "a": lambda v: nonsmooth(a=v),
    "eta": lambda v: nonsmooth(eta=v),
    "rho": lambda v: nonsmooth(rho=v),
    "kappa": lambda v: SmoothConversion(Constant(), SMOOTH, kappa=v),
    "SGD(eta=...)": lambda v: SGD(eta=v),
    "OGD(eta=...)": lambda v: OGD(Box(), eta=v),
    "OMD(eta=...)": lambda v: OMD(Box(), eta=v),
    "FTRL(eta=...)": lambda v: FTRL(Box(), eta=v),
    "AdaGrad(eta=...)": lambda v: AdaGrad(Box(), eta=v),
    "FullAdaGrad(eta=...)": lambda v: FullAdaGrad(Box(), eta=v),
    "Hedge(gamma=...)": lambda v: Hedge(EXPERTS, gamma=v),
    "Hedge(gamma0=...)": lambda v: Hedge(EXPERTS, gamma0=v),
}
MAY_BE_ZERO = ("sigma", "sigma ", "kappa")
MAY_BE_NONE = ("a", "eta", "rho", "OGD(eta=...)", "AdaGrad(eta=...)", "FullAdaGrad(eta=...)", "Hedge(gamma=...)")
MAY_BE_MANY = ("Hedge(gamma=...)",)


@pytest.mark.parametrize("wrong", WRONG_NUMBERS)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, wrong):
    value, kind, *parts = WRONG_NUMBERS[wrong]
    build = NUMBERS[name]
    fine = (wrong == "zero" and name in MAY_BE_ZERO) or (wrong == "none" and name in MAY_BE_NONE)
    if fine or (wrong == "array" and name in MAY_BE_MANY):
        build(value)
    elif name in MAY_BE_MANY and wrong == "text":
        check(lambda: build("abc"), TypeError, f"`{name}`", "sequence of numbers", "'abc'")
    else:
        check(lambda: build(value), kind, f"`{name.strip()}` must be", *parts)


@pytest.mark.parametrize("build", [smooth, nonsmooth])
@pytest.mark.parametrize(
    ("T", "kind", "part"),
    [
        (0, ValueError, "at least 1; got 0"),
        (-3, ValueError, "at least 1; got -3"),
        (10.0, TypeError, "whole number; got 10.0"),
        (math.inf, TypeError, "whole number; got inf"),
        ("10", TypeError, "whole number; got '10'"),
        (True, TypeError, "whole number; got True"),
        (None, TypeError, "whole number; got None"),
    ],
)
def test_horizons(build, T, kind, part):
    check(lambda: build(T=T), kind, "`T` must be", part)


def weights(*values):
    return np.asarray(values)


CASES = {
    # constants
    "M beta overflows": (lambda: smooth(M=1e200, beta=1e200), ValueError, "G of M, beta, sigma and T", "finite", "inf"),
    "M beta underflows": (lambda: smooth(M=1e-200, beta=1e-200), ValueError, "G of M, beta", "positive; got 0.0"),
    "sigma sqrt(T) overflows": (lambda: smooth(sigma=1e308, T=10**6), ValueError, "a of M, beta", "got 0.0"),
    "horizon of theorem 2": (lambda: nonsmooth(M=100.0), ValueError, "`T` must be at least", "= 337 for", "got 10."),
    "a above one half": (lambda: nonsmooth(a=0.6), ValueError, "`a` must lie in (0, 1/2]; got 0.6"),
    "u of one": (lambda: NONSMOOTH.tau(1.0), ValueError, "`u` must lie in [0, 1); got 1.0"),
    "negative u": (lambda: NONSMOOTH.tau(-0.1), ValueError, "`u` must lie in [0, 1); got -0.1"),
    "u not a number": (lambda: NONSMOOTH.tau(math.nan), ValueError, "`u` must lie in [0, 1); got nan"),
    "round before the first": (lambda: NONSMOOTH.tau_cdf(-1), ValueError, "`t` must be a round", "got -1"),
    # vectors
    "blocks of other number": (lambda: BLOCKS + Blocks((X,)), ValueError, "same blocks, here 2; got 1"),
    "blocks and array": (lambda: BLOCKS - X, ValueError, "same blocks, here 2; got ndarray"),
    "inner of blocks and array": (lambda: inner(BLOCKS, X), ValueError, "same blocks, here 2; got ndarray"),
    "inner of other blocks": (lambda: inner(BLOCKS, Blocks((X,))), ValueError, "same blocks, here 2; got 1"),
    "vec of a vector": (lambda: vec(X), ValueError, "`X` must be a matrix", "got shape (3,)"),
    "mat of another size": (lambda: mat(X, 2, 2), ValueError, "`x` must have p q = 2 * 2 entries; got shape (3,)"),
    "split of another size": (lambda: split(X, [(2, 2)]), ValueError, "`shapes` must", "3 entries", "got [(2, 2)]"),
    "split into a cube": (lambda: split(X, [(1, 1, 3)]), ValueError, "`shapes` must", "(p, q)", "got [(1, 1, 3)]"),
    "join of another number": (lambda: join(BLOCKS, [(3,)]), ValueError, "`shapes` must be one a block, 2", "(3,)"),
    # operators
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
    # sets
    "hull of none": (lambda: Hull(()), ValueError, "`Hull(operators=...)`", "at least one", "got none"),
    "hull of an array": (lambda: Hull(np.eye(2)), TypeError, "`Hull(operators=...)`", "sequence of operators"),
    "hull of arrays": (lambda: Hull([np.eye(2)]), TypeError, "`Hull(operators=...)`", "got an array", "Dense"),
    "hull of text": (lambda: Hull(["I"]), TypeError, "`Hull(operators=...)`", "with U @ v; got 'I'"),
    "hull of a class": (lambda: Hull([Identity]), TypeError, "`Hull(operators=...)`", "got the class Identity"),
    "box above 1": (lambda: Box(0.0, 1.5), ValueError, "`Box(high=...)`", "[-1, 1]", "got 1.5"),
    "box below -1": (lambda: Box(-1.5, 1.0), ValueError, "`Box(low=...)`", "[-1, 1]", "got -1.5"),
    "box not a number": (lambda: Box(math.nan, 1.0), ValueError, "`Box(low=...)`", "got nan"),
    "box of arrays": (lambda: Box(np.zeros(2), 1.0), ValueError, "`Box(low=...)`", "number", "got array"),
    "box of none": (lambda: Box(0.0, None), ValueError, "`Box(high=...)`", "number", "got None"),
    "box upside down": (lambda: Box(0.5, 0.25), ValueError, "`Box(low=...)`", "not exceed `high`; got 0.5 > 0.25"),
    "varying without a rule": (lambda: Varying(Box()), TypeError, "`Varying(rule=...)`", "function", "got Box(low=0.0"),
    "varying by a class": (lambda: Varying(Box), TypeError, "`Varying(rule=...)`", "function", "Box"),
    "varying by a word": (
        lambda: Varying(lambda t: Box(), "yes"), TypeError, "`Varying(holds_identity=...)`", "got 'yes'",
    ),
    "spectral ball of blocks": (
        lambda: SpectralBall().start(BLOCKS), TypeError, "`SpectralBall`", "one array; got Blocks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sentences(name):
    call, kind, *parts = CASES[name]
    check(call, kind, *parts)
