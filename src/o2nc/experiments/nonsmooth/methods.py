"""The methods of the nonsmooth experiment, each as its theorem prescribes it, and with longer steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from ...constants import Nonsmooth
from ...conversions import (
    SGD,
    ClippedFTRL,
    Conversion,
    ExponentiatedConversion,
    NonsmoothConversion,
    NormalizedSGD,
    RegularizedOMD,
    ShiftingConversion,
)
from ...operators import Diagonal, Identity
from ...oracles import AdaGrad, Constant, Hedge, Oracle
from ...sets import Box
from .output import Output, discounted_output, epoch_output, paper_output

FACTORS = (1.0, 4.0, 16.0, 64.0)  # of the prescribed step length, the same for all methods and objectives


class Played(NamedTuple):
    """A conversion and its output."""

    conversion: Conversion
    output: Output


@dataclass(frozen=True)
class NonsmoothMethod:
    r"""A column of the experiment: a name, what it is called in print, and how it is made.

    Args:
        name: the key in tables and files.
        label: the words for tables and figures.
        make: conversion and output from the constants, the dimension and a factor of the step length.

    Reference: Algorithm 2, and the rivals.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    >>> METHODS["identity"].make(c, 2, 4.0).conversion.constants.eta == 4 * c.eta
    True
    """

    name: str
    label: str
    make: Callable[[Nonsmooth, int, float], Played]


def _algorithm2(oracle: Callable[[int], Oracle]) -> Callable[[Nonsmooth, int, float], Played]:
    def make(c: Nonsmooth, d: int, factor: float) -> Played:
        c = replace(c, eta=factor * c.eta)
        return Played(NonsmoothConversion(oracle(d), c), paper_output(c))

    return make


def _halves(d: int) -> Oracle:
    """Hedge over I and the projections onto the first and the second half of the coordinates."""
    import numpy as np

    first = np.arange(d) < d / 2
    return Hedge([Identity(), Diagonal(1.0 * first), Diagonal(1.0 * ~first)])


def _shifting(c: Nonsmooth, d: int, factor: float) -> Played:
    made = ShiftingConversion.tuned(c)
    learner = made.learner
    longer = replace(learner, D=factor * learner.D, eta=factor * learner.eta)  # type: ignore[type-var,attr-defined]
    return Played(replace(made, learner=longer), epoch_output(made.epoch, c.T))


def _random_scaling(c: Nonsmooth, d: int, factor: float) -> Played:
    learner = RegularizedOMD.tuned(c)
    longer = replace(learner, eta=factor * learner.eta, mu=learner.mu / factor)
    return Played(ExponentiatedConversion(longer, c.T), discounted_output(1 - learner.b, c.T))


def _clipped(c: Nonsmooth, d: int, factor: float) -> Played:
    learner = ClippedFTRL.tuned(c)
    longer = replace(learner, D=factor * learner.D)
    return Played(ExponentiatedConversion(longer, c.T), discounted_output(1 - learner.b, c.T))


METHODS = MappingProxyType(
    {
        method.name: method
        for method in (
            NonsmoothMethod("identity", "Algorithm 2, I", _algorithm2(lambda d: Constant())),
            NonsmoothMethod("hedge", "Algorithm 2, Hedge", _algorithm2(_halves)),
            NonsmoothMethod("adagrad", "Algorithm 2, AdaGrad on the box", _algorithm2(lambda d: AdaGrad(Box()))),
            NonsmoothMethod("shifting", "K-shifting (2023)", _shifting),
            NonsmoothMethod("scaling", "random scaling (2024)", _random_scaling),
            NonsmoothMethod("clipped", "clipped Adam (2024)", _clipped),
            # No theorem here: SGD has the step of Algorithm 2 near a stationary point, where z = b m / rho; normalised
            # SGD has its longest step and its momentum; both have its output.
            NonsmoothMethod("sgd", "SGD", lambda c, d, k: Played(SGD(k * c.eta / c.rho), paper_output(c))),
            NonsmoothMethod(
                "normalised",
                "normalised SGD, momentum",
                lambda c, d, k: Played(NormalizedSGD(k * c.eta, c.b), paper_output(c)),
            ),
        )
    }
)
ALGORITHM2 = ("identity", "hedge", "adagrad")


def method(name: str) -> NonsmoothMethod:
    """The method called ``name``.

    Reference: Algorithm 2, and the rivals.

    >>> method("sgd").label
    'SGD'
    """
    if name not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}; got {name!r}.")
    return METHODS[name]
