"""Wrong conversions, and vectors and samples that they cannot use: an error that names argument, rule and value."""

import numpy as np
import pytest
import torch

from o2nc import Blocks, Nonsmooth, NonsmoothConversion, Smooth, SmoothConversion
from o2nc.constants import VarianceReduced
from o2nc.conversions import DoublingConversion, SegmentConversion
from o2nc.noise import SubGaussian, Tracking
from o2nc.oracles import Constant
from o2nc.rivals import SGD
from sentences import WRONG_VECTORS, check

X = np.ones(3)
TORCH = torch.ones(3, dtype=torch.float64)
SMOOTH = Smooth.paper(M=1.0, beta=1.0, sigma=1.0, T=10)
NONSMOOTH = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=10)
SHORT = Smooth(gap=1.0, beta=1.0, sigma=9.0, T=50, a=0.5, c=1.3)


class Biased:
    """Noise of one's own with a bias that no theorem counts."""

    sigma, bias = 1.0, 0.5

    def tracking(self, a, T, delta, guess):
        return Tracking(1.0, 0.0)


CASES = {
    "smooth oracle none": (lambda: SmoothConversion(None, SMOOTH), TypeError, "`oracle` must", "learn; got None"),
    "smooth oracle class": (lambda: SmoothConversion(Constant, SMOOTH), TypeError, "`oracle` must", "Constant"),
    "smooth constants": (
        lambda: SmoothConversion(Constant(), NONSMOOTH), TypeError, "`constants`", "Smooth(", "got Nonsmooth(",
    ),
    "kappa too large": (
        lambda: SmoothConversion(Constant(), SMOOTH, kappa=300.0), ValueError, "`kappa`", "c/a = 202.386; got 300.0",
    ),
    "segment oracle none": (lambda: SegmentConversion(None, SMOOTH), TypeError, "`oracle` must", "learn; got None"),
    "segment constants": (lambda: SegmentConversion(Constant(), None), TypeError, "`constants`", "Smooth(", "got None"),
    "segment r": (lambda: SegmentConversion(Constant(), SMOOTH, r=1.5), ValueError, "`r` must be", "[0, 1]; got 1.5"),
    "nonsmooth oracle none": (
        lambda: NonsmoothConversion(None, NONSMOOTH), TypeError, "`oracle` must", "learn; got None",
    ),
    "segment c": (
        lambda: SegmentConversion(Constant(), SHORT, r=1.0), ValueError,
        "`c` of the constants must be at least 1.5 for r = 1.0; got 1.3",
    ),
    "doubling kappa": (lambda: DoublingConversion(Constant(), SMOOTH, 50.0), ValueError, "`kappa`", "47.13; got 50.0"),
    "doubling constants": (
        lambda: DoublingConversion(Constant(), Smooth(gap=1.0, beta=1.0, sigma=1.0, T=5)), TypeError, "Smooth.paper(",
    ),
    "noise of no kind": (
        lambda: Smooth(gap=1.0, beta=1.0, sigma=1.0, T=5, noise="gauss"), TypeError, "`noise` must be", "got 'gauss'",
    ),
    "noise as a class": (
        lambda: Smooth.one_run(gap=1.0, beta=1.0, noise=SubGaussian, T=5), TypeError, "`noise` must be", "SubGaussian",
    ),
    "biased noise": (
        lambda: Smooth(gap=1.0, beta=1.0, sigma=1.0, T=5, noise=Biased()), ValueError, "`noise` must have no bias",
    ),
    "first batch": (
        lambda: VarianceReduced(gap=1e-9, beta=1.0, sigma=10.0, T=10), ValueError, "`batch` must be given", "T = 10",
    ),
    "nonsmooth constants": (
        lambda: NonsmoothConversion(Constant(), SMOOTH), TypeError, "`constants`", "got Smooth.paper(",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sentences(name):
    call, kind, *parts = CASES[name]
    check(call, kind, *parts)


CONVERSIONS = {
    "SmoothConversion": SmoothConversion(Constant(), SMOOTH),
    "SegmentConversion": SegmentConversion(Constant(), SMOOTH),
    "NonsmoothConversion": NonsmoothConversion(Constant(), NONSMOOTH),
    "SGD": SGD(eta=0.1),
}


@pytest.mark.parametrize("wrong", WRONG_VECTORS)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_what_is_no_vector(name, wrong):
    x, kind, *parts = WRONG_VECTORS[wrong]
    check(lambda: CONVERSIONS[name].init(x), kind, *parts, *([] if wrong == "two libraries" else ["`x` must"]))


@pytest.mark.parametrize("name", ["SmoothConversion", "SegmentConversion", "NonsmoothConversion"])
@pytest.mark.parametrize(
    ("s", "kind", "parts"),
    [
        (np.ones(4), ValueError, ("shape of `x`, (3,); got (4,)",)),
        (np.ones(1), ValueError, ("shape of `x`, (3,); got (1,)",)),
        (np.ones((2, 3)), ValueError, ("shape of `x`, (3,); got (2, 3)",)),
        (1.0, TypeError, ("vector like `x`", "got 1.0")),
        ([1.0, 1.0, 1.0], TypeError, ("vector like `x`", "got [1.0, 1.0, 1.0]")),
        (None, TypeError, ("vector like `x`", "got None")),
        (Blocks((X,)), TypeError, ("vector like `x`, ndarray; got Blocks(",)),
    ],
)
def test_samples_that_are_not_like_x(name, s, kind, parts):
    conversion = CONVERSIONS[name]
    r = {"r": 0.5} if name == "NonsmoothConversion" else {}
    check(lambda: conversion.update(s, conversion.init(X), X, **r), kind, "`s` must", *parts)


@pytest.mark.parametrize("name", ["SmoothConversion", "SegmentConversion", "NonsmoothConversion"])
def test_samples_of_another_library(name):
    conversion = CONVERSIONS[name]
    r = {"r": 0.5} if name == "NonsmoothConversion" else {}
    call = lambda: conversion.update(TORCH, conversion.init(X), X, **r)
    check(call, ValueError, "one array library; got numpy.ndarray, torch.Tensor")


@pytest.mark.parametrize(
    ("tau", "kind", "part"),
    [
        (0, ValueError, "from 1 to T = 10; got 0"),
        (11, ValueError, "from 1 to T = 10; got 11"),
        (np.asarray([[3], [11]]), ValueError, "from 1 to T = 10; got [[ 3]"),
        (2.5, TypeError, "got 2.5"),
        ("last", TypeError, "got 'last'"),
        (True, TypeError, "got True"),
    ],
)
def test_rounds_of_the_output(tau, kind, part):
    check(lambda: CONVERSIONS["NonsmoothConversion"].init(X, tau=tau), kind, "`tau` must be a round", part)


def test_what_an_update_needs():
    nonsmooth, segment = CONVERSIONS["NonsmoothConversion"], CONVERSIONS["SegmentConversion"]
    state = nonsmooth.init(X)
    check(
        lambda: nonsmooth.update(X, state, x=None, r=0.5),
        ValueError,
        "`update` of NonsmoothConversion",
        "`x`; got None",
    )
    check(lambda: nonsmooth.update(X, state, x=X), ValueError, "`update` of NonsmoothConversion", "`r`; got None")
    check(lambda: segment.update(X, segment.init(X), r=0.5), ValueError, "`r`", "if and only if")
    free = SegmentConversion(Constant(), SMOOTH, r=None)
    check(lambda: free.update(X, free.init(X)), ValueError, "`r`", "if and only if")
