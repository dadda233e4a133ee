"""What an experiment needs of an objective without a Lipschitz gradient, and its two kinds of samples."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ... import _xp
from ..._xp import Array
from ...constants import Nonsmooth


class NonsmoothObjective(ABC):
    r"""A bounded objective with bounded gradients: $|f(x)-f(y)|\le M$, $\|\nabla f\|\le L$, f is Lipschitz.

    A Lipschitz function is absolutely continuous on segments, so the Newton-Leibniz formula of Assumption 3 holds.
    Where f has a kink, `value_and_gradient` returns the gradient of one side; runs meet kinks with probability 0.
    Points have their coordinates on the last axis and replications on the leading ones.

    Reference: Assumption 3.

    >>> from o2nc.lab.objectives import objective
    >>> f = objective("bowl", "nonsmooth")
    >>> f.constants(T=1000, lam=1.0).L == f.L
    True
    """

    name: ClassVar[str]

    d: int  # coordinates
    draws: int  # uniform numbers that a sample takes
    L: float  # bounds the norm of the gradient
    M: float  # bounds the range
    sigma: float  # bounds the root of the variance of a sample, at every point
    enclosure: Any = None  # in the plane: bounds on the gradient on boxes, from their corners

    @abstractmethod
    def start(self, like: Array) -> Array:
        """The first point, of shape (d,), with library, dtype and device of ``like``."""

    @abstractmethod
    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) of shape (..., 1) and the gradient of shape (..., d)."""

    @abstractmethod
    def sample(self, x: Array, u: Array, g: Array) -> Array:
        """A sample of the gradient at ``x``, where it is ``g``, made of the uniform numbers ``u`` (..., draws)."""

    def constants(self, T: int, lam: float) -> Nonsmooth:
        """The constants of Algorithm 2, tuned for the horizon ``T``."""
        return Nonsmooth(L=self.L, M=self.M, sigma=self.sigma, lam=lam, T=T)


class SignNoise(NonsmoothObjective):
    r"""Samples by added noise: $s=\nabla f(x)+\nu\,\epsilon$ with fair signs, so $\sigma=\nu\sqrt d$ exactly.

    Reference: Assumption 2.

    >>> from o2nc.lab.objectives import objective
    >>> f = objective("bowl", "nonsmooth")
    >>> import numpy as np
    >>> f.sample(np.zeros(2), np.asarray([0.1, 0.9]), np.zeros(2))
    array([-0.25,  0.25])
    """

    noise: ClassVar[float]  # nu

    draws = property(lambda self: self.d)  # a sign for each coordinate
    sigma = property(lambda self: self.noise * math.sqrt(self.d))  # the norm of every draw of the noise

    def sample(self, x: Array, u: Array, g: Array) -> Array:
        """The gradient and a sign of size nu in each coordinate."""
        return g + self.noise * (2 * _xp.indicator(u >= 0.5, g) - 1)
