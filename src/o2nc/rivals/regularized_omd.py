"""Regularised mirror descent on discounted losses, which is momentum."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..checks import check_number, check_share
from ..constants import Nonsmooth
from ..conversions.base import registry
from ..vectors import Vector, zeros_like
from .displacement import discount_and_radius
from .exponentiated import ExponentiatedConversion


class RegularizedOMDState(NamedTuple):
    """What regularised mirror descent remembers."""

    delta: Vector  # the displacement of the coming round


@dataclass(frozen=True)
class RegularizedOMD:
    r"""Mirror descent without a bounded set, on the losses $\langle b^{-t}s_t,\Delta\rangle+\frac{b^{-t}\mu}2\|\Delta\|^2$.

    $$\Delta_1=0,\qquad\Delta_{t+1}=\frac b{1+\eta\mu}(\Delta_t-\eta s_t).$$

    This is the minimiser of $\langle b^{-t}s_t,\Delta\rangle+\frac{1}{2\eta_t}\|\Delta-\Delta_t\|^2
    +\frac12(\mu_{t+1}+\frac1{\eta_{t+1}}-\frac1{\eta_t})\|\Delta\|^2$ with $\eta_t=b^t\eta$ and $\mu_t=b^{-t}\mu$: SGD with the
    momentum $b'=b/(1+\eta\mu)$ and the step size $\eta'=\eta b'/(1-b')$, so that
    $\Delta_{t+1}=-\eta'm_t$ with $m_t=b'm_{t-1}+(1-b')s_t$. Against every u,
    $$R_t\le\frac{\|u\|^2}{2\eta b}+\frac\eta2\sum_{i\le t}b^{t-i}\|s_i\|^2
      +\frac{\mu\|u\|^2}{2b(1-b)}-\frac\mu2\sum_{i\le t}b^{t-i}\|\Delta_i\|^2.$$

    Args:
        eta: the rate.
        mu: the weight of the regulariser, which keeps the displacements short.
        b: the discount (beta in the paper), at least 0 and less than 1.

    Reference: Zhang and Cutkosky, Random scaling and momentum for non-smooth non-convex optimization (2024),
    unconstrained online gradient descent in Exponentiated O2NC.

    >>> import numpy as np
    >>> learner = RegularizedOMD(eta=0.5, mu=2.0, b=0.8)
    >>> learner.play(learner.learn(learner.init(np.zeros(2)), np.asarray([1.0, -2.0])))
    array([-0.2,  0.4])
    """  # noqa: E501

    eta: float
    mu: float
    b: float

    def __post_init__(self) -> None:
        check_number("RegularizedOMD(eta=...)", self.eta, positive=True)
        check_number("RegularizedOMD(mu=...)", self.mu)
        check_share("RegularizedOMD(b=...)", self.b)

    @classmethod
    def tuned(cls, constants: Nonsmooth) -> "RegularizedOMD":
        r"""The learner for a comparator of length $D$ and the measure with the weight $\lambda$.

        $$\eta=\frac{D\sqrt{1-b}}B,\qquad\mu=\frac{24\lambda D}{(1-b)^2},\qquad B=\sqrt{L^2+\sigma^2}.$$

        This mu pays for the spread, which summed over the rounds is at most $\frac{12}{(1-b)^2}\sum_t\|\Delta_t\|^2$ in
        expectation. What is left of the bound on the measure is, to leading order,
        $\frac M{DT}+2B\sqrt{1-b}+\frac{12\lambda D^2}{(1-b)^2}$, and b and D minimise it. The powers of T are
        those of the paper's theorem; the numbers before them are the minimiser's.

        >>> learner = RegularizedOMD.tuned(Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000))
        >>> print(f"{learner.eta:.5f} {learner.mu:.1f} {learner.b:.4f}")
        0.00100 47.9 0.9521
        """
        b, D = discount_and_radius(constants, noise=2.0)
        a = 1 - b
        return cls(eta=D * math.sqrt(a) / constants.B, mu=24 * constants.lam * D / a**2, b=b)

    def init(self, x: Vector) -> RegularizedOMDState:
        """At rest."""
        return RegularizedOMDState(delta=zeros_like(x))

    def play(self, state: RegularizedOMDState) -> Vector:
        """The displacement."""
        return state.delta

    def learn(self, state: RegularizedOMDState, s: Vector) -> RegularizedOMDState:
        """A step against the sample, and back towards rest."""
        return RegularizedOMDState(delta=(self.b / (1 + self.eta * self.mu)) * (state.delta - self.eta * s))


registry.add("scaled-momentum", lambda _: ExponentiatedConversion(RegularizedOMD(0.5, 0.5, 0.9), 100), "momentum")
