"""A small ReLU network with a bounded loss."""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from .losses import ramp
from .minibatch import Minibatch, data, standardised
from .registry import registry

HIDDEN = 8
OUTER = np.asarray([1.0, -1.0] * (HIDDEN // 2)) / math.sqrt(HIDDEN)  # the fixed second layer, of norm 1


@dataclass(frozen=True, eq=False)
class ReluNetwork(Minibatch):
    r"""One hidden layer of 8 ReLUs, wine of cultivar 1 against the others, 178 bottles, ramp loss.

    $$f(W)=\frac1n\sum_i\mathrm{ramp}\Bigl(b_i\sum_{j=1}^8v_j\max(0,\langle w_j,a_i\rangle)\Bigr),\qquad
      v_j=\pm\frac1{\sqrt8}\text{ fixed},\quad\mathrm{ramp}(u)=\min\bigl(1,\max(0,\tfrac{1-u}2)\bigr).$$

    The first layer with its biases is trained; with both layers free no L would exist, since the gradient in one grows
    with the other. $M=1$. The gradient in $w_j$ is $v_j\frac1n\sum_i\theta_{ij}a_i$ with
    $|\theta_{ij}|\le\kappa=\frac12$, of norm at most $|v_j|\,\kappa\|A\|_{op}/\sqrt n$; the squares add up over j to
    $\|v\|^2=1$ times the square of $L=\kappa\|A\|_{op}/\sqrt n$. In the same way $\|\nabla\ell_i\|\le\kappa\|a_i\|$, so
    sigma is that of `Minibatch`.

    Reference: not in the paper; the data are those of Aeberhard and Forina, Wine (1991).

    >>> f = ReluNetwork.load()
    >>> print(f"{f.d} {f.L:.4f} {f.M} {f.sigma:.4f}")
    112 1.0846 1.0 0.4677
    """

    name: ClassVar[str] = "relu"
    kappa: ClassVar[float] = 0.5
    M = 1.0
    d = property(lambda self: HIDDEN * int(self.A.shape[1]))  # the weights and biases of the first layer

    @classmethod
    @cache
    def load(cls) -> "ReluNetwork":
        """With the data of scikit-learn."""
        X, cultivar = data("wine")
        return cls(standardised(X), np.where(cultivar == 1, 1.0, -1.0))

    def start(self, like: Array) -> Array:
        """Normal weights of variance 1/p, always the same."""
        p = self.A.shape[1]
        return _xp.from_numpy(np.random.default_rng(8).normal(size=HIDDEN * p) / math.sqrt(p), like)

    def evaluate(self, x: Array, A: Array, b: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient, of the same shape as x."""
        xp = _xp.namespace(x)
        W = xp.reshape(x, (*x.shape[:-1], HIDDEN, A.shape[-1]))
        inputs = xp.matmul(W, xp.matrix_transpose(A))  # (..., 8, n)
        active = _xp.indicator(inputs > 0, inputs)
        v = _xp.from_numpy(OUTER, x)
        losses, slopes = ramp(b * xp.matmul(v, active * inputs))
        back = active * v[:, None] * (slopes * b * (1 / b.shape[-1]))[..., None, :]
        return xp.mean(losses, axis=-1, keepdims=True), _xp.flatten_matrix(xp.matmul(back, A))


registry.add(ReluNetwork.name, ReluNetwork.load, "a small ReLU network with a bounded loss", kind="nonsmooth")
