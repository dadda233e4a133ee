"""Logistic regression."""

from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .classifier import Classifier


class Logistic(Classifier):
    r"""The loss $\varphi(z)=\log(1+e^{-z})$, with $\varphi''=\varphi'(z)(-1-\varphi'(z))\le\frac14$.

    Reference: not in the paper; Gao, Chu, Ye and Udell (2025) have it too.

    >>> import numpy as np
    >>> f = Logistic(np.asarray([[1.0, 1.0], [-1.0, 1.0]]), np.asarray([1.0, -1.0]))
    >>> print(f"{f.beta:.4f} {f.M:.4f} {f.f_star:.4f}")
    0.7500 0.6931 0.5255
    """

    curvature: ClassVar[float] = 0.25

    def loss(self, margin: Array) -> tuple[Array, Array]:
        """Without overflow: of e^-|z| only."""
        xp = _xp.namespace(margin)
        small = xp.exp(-xp.abs(margin))
        share = xp.where(margin > 0, small, xp.ones_like(small)) / (1 + small)
        return xp.log1p(small) - xp.where(margin < 0, margin, xp.zeros_like(margin)), -share


Logistic.register("logistic", "logistic regression")
