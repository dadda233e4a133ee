"""The methods of the nonsmooth experiment, each as its theorem prescribes it, and with longer steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...constants import Nonsmooth
from ...conversions import Conversion, NonsmoothConversion
from ...operators import Diagonal, Identity
from ...oracles import AdaGrad, Constant, Hedge, Oracle
from ...registry import Registry
from ...rivals import SGD, ClippedFTRL, ExponentiatedConversion, NormalizedSGD, RegularizedOMD, ShiftingConversion
from ...sets import Box
from .output import Output, discounted_output, epoch_output, paper_output

FACTORS = (1.0, 4.0, 16.0, 64.0)  # of the prescribed step length, the same for all methods and objectives


class Played(NamedTuple):
    """A conversion and its output.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    >>> METHODS["identity"].make(c, 2, 4.0).conversion.constants.eta == 4 * c.eta
    True
    """

    conversion: Conversion
    output: Output


def _algorithm2(oracle: Callable[[int], Oracle]) -> Callable[[Nonsmooth, int, float], Played]:
    def make(c: Nonsmooth, d: int, factor: float) -> Played:
        c = replace(c, eta=factor * c.eta)
        return Played(NonsmoothConversion(oracle(d), c), paper_output(c))

    return make


def _halves(d: int) -> Oracle:
    """Hedge over I and the projections onto the first and the second half of the coordinates."""
    first = np.arange(d) < d / 2
    return Hedge([Identity(), Diagonal(1.0 * first), Diagonal(1.0 * ~first)])


def _shifting(c: Nonsmooth, d: int, factor: float) -> Played:
    made: Any = ShiftingConversion.tuned(c)
    learner = replace(made.learner, D=factor * made.learner.D, eta=factor * made.learner.eta)
    return Played(replace(made, learner=learner), epoch_output(made.epoch, c.T))


def _random_scaling(c: Nonsmooth, d: int, factor: float) -> Played:
    learner = RegularizedOMD.tuned(c)
    longer = replace(learner, eta=factor * learner.eta, mu=learner.mu / factor)
    return Played(ExponentiatedConversion(longer, c.T), discounted_output(1 - learner.b, c.T))


def _clipped(c: Nonsmooth, d: int, factor: float) -> Played:
    learner = ClippedFTRL.tuned(c)
    longer = replace(learner, D=factor * learner.D)
    return Played(ExponentiatedConversion(longer, c.T), discounted_output(1 - learner.b, c.T))


# `make` takes the constants, the dimension and a factor of the step length, and returns what is played.
METHODS = Registry("method")
METHODS.add("identity", _algorithm2(lambda d: Constant()), "Algorithm 2, I")
METHODS.add("hedge", _algorithm2(_halves), "Algorithm 2, Hedge")
METHODS.add("adagrad", _algorithm2(lambda d: AdaGrad(Box())), "Algorithm 2, AdaGrad on the box")
METHODS.add("shifting", _shifting, "K-shifting (2023)")
METHODS.add("scaling", _random_scaling, "random scaling (2024)")
METHODS.add("clipped", _clipped, "clipped Adam (2024)")
# No theorem here: SGD has the step of Algorithm 2 near a stationary point, where z = b m / rho; normalised SGD has its
# longest step and its momentum; both have its output.
METHODS.add("sgd", lambda c, d, k: Played(SGD(k * c.eta / c.rho), paper_output(c)), "SGD")
METHODS.add(
    "normalised", lambda c, d, k: Played(NormalizedSGD(k * c.eta, c.b), paper_output(c)), "normalised SGD, momentum"
)
ALGORITHM2 = ("identity", "hedge", "adagrad")
