"""Wrong numbers: each gets an error that names the argument, the rule and the value."""

import math

import numpy as np
import pytest

from o2nc import Nonsmooth, Smooth, SmoothConversion
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import FTRL, OGD, OMD, AdaGrad, Constant, FullAdaGrad, Hedge
from o2nc.rivals import SGD
from o2nc.sets import Box
from sentences import check

SMOOTH = Smooth.paper(M=1.0, beta=1.0, sigma=1.0, T=10)
NONSMOOTH = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=10)
EXPERTS = [Identity(), Diagonal(np.full(3, 0.5))]


def smooth(**changes):
    return Smooth.paper(**{"M": 1.0, "beta": 1.0, "sigma": 1.0, "T": 10, **changes})


def sharp(**changes):
    return Smooth(**{"gap": 1.0, "M": 1.0, "beta": 1.0, "sigma": 1.0, "T": 10, **changes})


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
    "gap": lambda v: sharp(gap=v),
    "M  ": lambda v: sharp(M=v),
    "beta ": lambda v: sharp(beta=v),
    "sigma  ": lambda v: sharp(sigma=v),
    "a ": lambda v: sharp(a=v),
    "c": lambda v: sharp(c=v),
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
MAY_BE_ZERO = ("sigma", "sigma ", "sigma  ", "kappa")
MAY_BE_NONE = (
    "gap", "M  ", "a ", "c", "a", "eta", "rho",
    "OGD(eta=...)", "AdaGrad(eta=...)", "FullAdaGrad(eta=...)", "Hedge(gamma=...)",
)  # fmt: skip
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


WRONG = {
    "M beta overflows": (lambda: smooth(M=1e200, beta=1e200), ValueError, "`M` must be 0 or lie", "got 1e+200"),
    "M beta underflows": (lambda: smooth(M=1e-200, beta=1e-200), ValueError, "`M` must be 0 or lie", "got 1e-200"),
    "probes": (lambda: sharp(probes=0.5), TypeError, "`probes` must be what `o2nc.probe` returns", "got 0.5"),
    "a huge M": (lambda: nonsmooth(M=1e308), ValueError, "`M` must be 0 or lie", "got 1e+308"),
    "a tiny a": (lambda: nonsmooth(a=5e-324), ValueError, "`a` must be 0 or lie", "got 5e-324"),
    "a long horizon": (lambda: smooth(T=10**400), ValueError, "`T` must be at most 1e+30", "10000"),
    "sigma sqrt(T)": (lambda: smooth(sigma=1e308, T=10**6), ValueError, "`sigma` must be 0 or lie", "got 1e+308"),
    "horizon of theorem 2": (lambda: nonsmooth(M=100.0), ValueError, "`T` must be at least", "= 337 for", "got 10."),
    "a above one half": (lambda: nonsmooth(a=0.6), ValueError, "`a` must lie in (0, 1/2]; got 0.6"),
    "u of one": (lambda: NONSMOOTH.tau(1.0), ValueError, "`u` must lie in [0, 1); got 1.0"),
    "negative u": (lambda: NONSMOOTH.tau(-0.1), ValueError, "`u` must lie in [0, 1); got -0.1"),
    "u not a number": (lambda: NONSMOOTH.tau(math.nan), ValueError, "`u` must lie in [0, 1); got nan"),
    "round before the first": (lambda: NONSMOOTH.tau_cdf(-1), ValueError, "`t` must be a round", "got -1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
