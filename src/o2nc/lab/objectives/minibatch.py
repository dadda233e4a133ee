"""Losses of rows of data, with samples by minibatches."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array
from .nonsmooth import NonsmoothObjective

Floats = NDArray[np.float64]


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
    def L(self) -> float:  # type: ignore[override]
        """kappa times the largest singular value of A over sqrt(n)."""
        return self.kappa * float(np.linalg.norm(self.A, 2)) / math.sqrt(len(self.A))

    @cached_property
    def sigma(self) -> float:  # type: ignore[override]
        """kappa times the root mean square norm of the rows over sqrt(B)."""
        return self.kappa * math.sqrt(float(np.mean(np.sum(self.A**2, axis=1))) / self.batch)

    @abstractmethod
    def evaluate(self, x: Array, A: Array, b: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient on the rows ``A`` (..., n, p), ``b`` (..., n)."""

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """On all rows."""
        return self.evaluate(x, _xp.from_numpy(self.A, x), _xp.from_numpy(self.b, x))

    def sample(self, x: Array, u: Array, g: Array) -> Array:
        """On B rows."""
        xp = _xp.namespace(x)
        rows = xp.astype(xp.floor(u * len(self.b)), xp.int64)
        flat = xp.reshape(rows, (-1,))
        A = xp.reshape(xp.take(_xp.from_numpy(self.A, x), flat, axis=0), (*rows.shape, self.A.shape[1]))
        b = xp.reshape(xp.take(_xp.from_numpy(self.b, x), flat, axis=0), rows.shape)
        return self.evaluate(x, A, b)[1]


class LinearModel(Minibatch):
    """A loss of one number, the prediction <a, x>.

    Reference: Assumption 3.
    """

    d = property(lambda self: int(self.A.shape[1]))  # the features, with the intercept

    def start(self, like: Array) -> Array:
        """The origin."""
        return _xp.zeros((self.d,), like)

    @abstractmethod
    def loss(self, prediction: Array, b: Array) -> tuple[Array, Array]:
        """The loss of each row and its derivative in the prediction."""

    def evaluate(self, x: Array, A: Array, b: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient."""
        losses, slopes = self.loss(_xp.matvec(A, x), b)
        return _xp.namespace(x).mean(losses, axis=-1, keepdims=True), pull(slopes * (1 / b.shape[-1]), A)


def data(name: str) -> tuple[Floats, Floats]:
    """Features and target of a set of data of scikit-learn."""
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")(return_X_y=True)


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
