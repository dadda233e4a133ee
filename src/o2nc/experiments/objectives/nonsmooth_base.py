"""What an experiment needs of an objective without a Lipschitz gradient, and its two kinds of samples."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array
from ...constants import Nonsmooth
from .data import constant

Floats = NDArray[np.float64]


class NonsmoothObjective(ABC):
    r"""A bounded objective with bounded gradients: $|f(x)-f(y)|\le M$, $\|\nabla f\|\le L$, f is Lipschitz.

    A Lipschitz function is absolutely continuous on segments, so the Newton-Leibniz formula of Assumption 3 holds.
    Where f has a kink, `value_and_gradient` returns the gradient of one side; runs meet kinks with probability 0.
    Points have their coordinates on the last axis and replications on the leading ones.

    Reference: Assumption 3.

    >>> from o2nc.experiments.objectives.nonsmooth import nonsmooth_objective
    >>> f = nonsmooth_objective("bowl")
    >>> f.constants(T=1000, lam=1.0).L == f.L
    True
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of coordinates."""

    @property
    @abstractmethod
    def draws(self) -> int:
        """How many uniform numbers a sample takes."""

    @property
    @abstractmethod
    def L(self) -> float:
        """A bound on the norm of the gradient."""

    @property
    @abstractmethod
    def M(self) -> float:
        """A bound on the range."""

    @property
    @abstractmethod
    def sigma(self) -> float:
        """A bound on the root of the variance of a sample, at every point."""

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

    >>> from o2nc.experiments.objectives.nonsmooth import nonsmooth_objective
    >>> f = nonsmooth_objective("bowl")
    >>> f.sample(np.zeros(2), np.asarray([0.1, 0.9]), np.zeros(2))
    array([-0.25,  0.25])
    """

    noise: ClassVar[float]  # nu

    @property
    def draws(self) -> int:
        """A sign for each coordinate."""
        return self.d

    @property
    def sigma(self) -> float:
        """The norm of every draw of the noise."""
        return self.noise * math.sqrt(self.d)

    def sample(self, x: Array, u: Array, g: Array) -> Array:
        """The gradient and a sign of size nu in each coordinate."""
        return g + self.noise * (2 * _xp.indicator(u >= 0.5, g) - 1)


@dataclass(frozen=True, eq=False)
class Minibatch(NonsmoothObjective):
    r"""The mean of losses of n rows of data, and samples by minibatches drawn with replacement.

    $$f(x)=\frac1n\sum_{i=1}^n\ell(x;a_i,b_i),\qquad s=\frac1B\sum_{j=1}^B\nabla\ell(x;a_{i_j},b_{i_j}).$$

    If $\|\nabla\ell(x;a,b)\|\le\kappa\|a\|$ then
    $E\|s-\nabla f\|^2\le\frac1{nB}\sum_i\|\nabla\ell(x;a_i,b_i)\|^2\le\frac{\kappa^2}{nB}\sum_i\|a_i\|^2=\sigma^2$. If
    moreover $\|\nabla f\|\le\frac\kappa n\sup_{|w_i|\le1}\|\sum_iw_ia_i\|$ then $L=\kappa\|A\|_{op}/\sqrt n$, because
    $\|w\|\le\sqrt n$.

    Args:
        A: the rows, (n, p).
        b: the targets, (n,).
        batch: B.

    Reference: Assumption 2.
    """

    A: Floats
    b: Floats
    batch: int = 16

    kappa: ClassVar[float]  # the largest slope of the loss in the prediction
    draws = property(lambda self: self.batch)

    @cached_property
    def L(self) -> float:
        """kappa times the largest singular value of A over sqrt(n)."""
        return self.kappa * float(np.linalg.norm(self.A, 2)) / math.sqrt(len(self.A))

    @cached_property
    def sigma(self) -> float:
        """kappa times the root mean square norm of the rows over sqrt(B)."""
        return self.kappa * math.sqrt(float(np.mean(np.sum(self.A**2, axis=1))) / self.batch)

    @abstractmethod
    def evaluate(self, x: Array, A: Array, b: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient on the rows ``A`` (..., n, p), ``b`` (..., n)."""

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """On all rows."""
        return self.evaluate(x, constant(self.A, x), constant(self.b, x))

    def sample(self, x: Array, u: Array, g: Array) -> Array:
        """On B rows."""
        xp = _xp.namespace(x)
        rows = xp.astype(xp.floor(u * len(self.b)), xp.int64)
        flat = xp.reshape(rows, (-1,))
        A = xp.reshape(xp.take(constant(self.A, x), flat, axis=0), (*rows.shape, self.A.shape[1]))
        b = xp.reshape(xp.take(constant(self.b, x), flat, axis=0), rows.shape)
        return self.evaluate(x, A, b)[1]


def standardised(X: Floats) -> Floats:
    """Columns of mean 0 and variance 1, without the constant ones, and a column of ones for the intercept.

    >>> standardised(np.asarray([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  1.],
           [ 1.,  1.]])
    """
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    X, spread = X[:, spread > 0], spread[spread > 0]
    return np.concatenate([(X - X.mean(axis=0)) / spread, np.ones((len(X), 1))], axis=1)


def pull(slopes: Array, A: Array) -> Array:
    """The sum over the rows of slope times row: (..., n) and (n, p) or (..., n, p) give (..., p)."""
    xp = _xp.namespace(slopes)
    return xp.matmul(slopes, A) if A.ndim == 2 else xp.matmul(slopes[..., None, :], A)[..., 0, :]
