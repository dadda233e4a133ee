"""The methods of the nonsmooth experiment, as their theorems prescribe them and with longer steps; their outputs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...constants import Nonsmooth
from ...conversions import Conversion, NonsmoothConversion
from ...operators import Diagonal, Identity
from ...oracles import AdaGrad, Constant, Hedge, Oracle
from ...registry import Registry
from ...rivals import (
    SGD,
    ClippedFTRL,
    DiscountedFTRL,
    ExponentiatedConversion,
    NormalizedSGD,
    RegularizedOMD,
    ShiftingConversion,
    UpdatesConversion,
)
from ...sets import Box
from ..runner.records import Floats

FACTORS = (1.0, 4.0, 16.0, 64.0)  # of the prescribed step length, the same for all methods and objectives


class Output(NamedTuple):
    r"""A running average $\bar y_t$ and the law of the round $\tau$ whose average is the output.

    $$\bar y_t=(1-\theta_t)\bar y_{t-1}+\theta_ty_t,\qquad\theta_1=1.$$

    Reference: Algorithm 2, lines 10 and 12.

    >>> Output(np.asarray([1.0, 0.5]), np.asarray([0.25, 0.75])).tau(np.asarray([0.2, 0.3]))
    array([1, 2])
    """

    share: Floats  # theta_t, (T,): the share of the newest point
    law: Floats  # Pr(tau = t), (T,)

    def tau(self, u: Floats) -> np.ndarray:
        """Rounds with this law from numbers uniform on [0, 1), by inversion."""
        return np.minimum(1 + np.searchsorted(np.cumsum(self.law), u, side="right"), len(self.law))


def paper_output(c: Nonsmooth) -> Output:
    """That of Algorithm 2: discounted by b, and tau with probabilities c_t / T, the last c_T / (a T).

    Reference: Algorithm 2, lines 10 and 12.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4, a=0.5, eta=0.1, rho=0.1)
    >>> paper_output(c).law
    array([0.125  , 0.1875 , 0.21875, 0.46875])
    """
    share, c_t = _discounted(c.a, c.T)
    law = c_t / c.T
    law[-1] /= c.a
    return Output(share, law)


def discounted_output(a: float, T: int) -> Output:
    """Discounted by 1 - a, tau uniform.

    Reference: Zhang and Cutkosky, Random scaling and momentum for non-smooth non-convex optimization (2024).

    >>> discounted_output(0.5, 2).share
    array([1.        , 0.66666667])
    """
    return Output(_discounted(a, T)[0], np.full(T, 1 / T))


def epoch_output(epoch: int, T: int) -> Output:
    """The mean of an epoch, drawn uniformly among the whole ones.

    Reference: Cutkosky, Mehta and Orabona, Optimal stochastic non-smooth non-convex optimization (2023).

    >>> epoch_output(2, 5)
    Output(share=array([1. , 0.5, 1. , 0.5, 1. ]), law=array([0. , 0.5, 0. , 0.5, 0. ]))
    """
    t = np.arange(1, T + 1)
    return Output(1 / ((t - 1) % epoch + 1), ((t % epoch == 0) / (T // epoch)).astype(np.float64))


def _discounted(a: float, T: int) -> tuple[Floats, Floats]:
    c_t = -np.expm1(np.arange(1, T + 1) * np.log1p(-a))  # 1 - b^t
    return a / c_t, c_t


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


def _updates(place: Callable[[float], float | None]) -> Callable[[Nonsmooth, int, float], Played]:
    """Mirror descent as for random scaling, but the sample is at a place on the step, a function of the momentum."""

    def make(c: Nonsmooth, d: int, factor: float) -> Played:
        learner = RegularizedOMD.tuned(c)
        longer = replace(learner, eta=factor * learner.eta, mu=learner.mu / factor)
        momentum = longer.b / (1 + longer.eta * longer.mu)
        return Played(UpdatesConversion(longer, c.T, place(momentum)), discounted_output(1 - longer.b, c.T))

    return make


def _coordinates(c: Nonsmooth, d: int, factor: float) -> Played:
    """Clipped FTRL in every coordinate; its longest displacement is as long as that of clipped Adam."""
    learner = ClippedFTRL.tuned(c)
    D = factor * learner.D / d**0.5
    return Played(UpdatesConversion(DiscountedFTRL(D, learner.b, D=D), c.T), discounted_output(1 - learner.b, c.T))


# `make` takes the constants, the dimension and a factor of the step length, and returns what is played.
METHODS = Registry("method")
METHODS.add("identity", _algorithm2(lambda d: Constant()), "Algorithm 2, I")
METHODS.add("hedge", _algorithm2(_halves), "Algorithm 2, Hedge")
METHODS.add("adagrad", _algorithm2(lambda d: AdaGrad(Box())), "Algorithm 2, AdaGrad on the box")
METHODS.add("shifting", _shifting, "K-shifting (2023)")
METHODS.add("scaling", _random_scaling, "random scaling (2024)")
METHODS.add("clipped", _clipped, "clipped Adam (2024)")
METHODS.add("segment", _updates(lambda b: None), "discounted, on the step (2025)")
METHODS.add("coordinates", _coordinates, "Adam as FTRL, clipped (2024)")
# No theorem here: schedule-free SGD has a fixed place beyond the step, kappa = 0.9, which is proved for smooth f only.
METHODS.add("schedule-free", _updates(lambda b: 1 + 0.1 * b / (1 - b)), "schedule-free SGD (2025)")
# No theorem here: SGD has the step of Algorithm 2 near a stationary point, where z = b m / rho; normalised SGD has its
# longest step and its momentum; both have its output.
METHODS.add("sgd", lambda c, d, k: Played(SGD(k * c.eta / c.rho), paper_output(c)), "SGD")
METHODS.add(
    "normalised", lambda c, d, k: Played(NormalizedSGD(k * c.eta, c.b), paper_output(c)), "normalised SGD, momentum"
)
ALGORITHM2 = ("identity", "hedge", "adagrad")
