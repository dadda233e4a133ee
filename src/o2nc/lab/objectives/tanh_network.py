"""A small smooth network with a bounded loss."""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ...operators import Operator
from .data import DataObjective, principal, row_sigma
from .losses import SIGMOID_CURVATURE, SIGMOID_SLOPE, sigmoid
from .minibatch import data, standardised
from .registry import registry

HIDDEN = 8
OUTER = np.asarray([1.0, -1.0] * (HIDDEN // 2)) / math.sqrt(HIDDEN)  # the fixed second layer, of norm 1
BEND = 4 / math.sqrt(27)  # the largest |tanh''|
GAIN = 4.0  # of the second layer, so that the loss can come near 0


@dataclass(frozen=True, eq=False)
class TanhNetwork(DataObjective):
    r"""One hidden layer of 8 tanh, wine of cultivar 1 against the others, 178 bottles, sigmoid loss.

    $$f(W)=\frac1n\sum_i\varphi\Bigl(4b_ih_i\Bigr),\qquad h_i=\sum_{j=1}^8v_j\tanh\langle w_j,a_i\rangle,\qquad
      v_j=\pm\frac1{\sqrt8}\text{ fixed},\quad\varphi(u)=\frac1{1+e^u}.$$

    The first layer with its biases is trained. In the direction $\xi=(\xi_1,\dots,\xi_8)$ the derivative of $h_i$ is
    $\sum_jv_j(1-\tanh^2)\langle a_i,\xi_j\rangle$, whose square is at most $\sum_j\langle a_i,\xi_j\rangle^2$ since
    $\|v\|=1$, and the second one is at most $\frac1{\sqrt8}\frac4{\sqrt{27}}\sum_j\langle a_i,\xi_j\rangle^2$. The mean
    over i of these sums is at most $\|A\|_{op}^2/n$ for $\|\xi\|=1$, so with $c_1=\frac14$ and $c_2=\frac1{6\sqrt3}$,
    $$\beta=\Bigl(16c_2+4c_1\frac1{\sqrt8}\frac4{\sqrt{27}}\Bigr)\frac{\|A\|_{op}^2}n,\qquad
      \sup\|\nabla f\|\le4c_1\frac{\|A\|_{op}}{\sqrt n},\qquad\sup\|\nabla\ell_i\|\le4c_1\|a_i\|,\qquad M=1.$$

    Reference: not in the paper; the data are those of Aeberhard and Forina, Wine (1991).

    >>> f = TanhNetwork.load()
    >>> print(f"{f.d} {f.beta:.4f} {f.M} {f.sigma:.4f} {f.gradient_sup:.4f} {f.first_gap:.4f}")
    112 8.5259 1.0 0.9354 2.1693 0.6025
    """

    name: ClassVar[str] = "network"

    @property
    def d(self) -> int:  # type: ignore[override]
        """The weights and biases of the first layer."""
        return HIDDEN * int(self.A.shape[1])

    @classmethod
    @cache
    def load(cls, batch: int = 16) -> "TanhNetwork":
        """With the data of scikit-learn."""
        X, cultivar = data("wine")
        A = standardised(X)
        norm = float(np.linalg.norm(A, 2)) / math.sqrt(len(A))
        rows = GAIN * SIGMOID_SLOPE * np.linalg.norm(A, axis=1)
        bent = GAIN * SIGMOID_SLOPE * BEND / math.sqrt(HIDDEN)
        return cls(
            beta=(GAIN**2 * SIGMOID_CURVATURE + bent) * norm**2, sigma=row_sigma(rows, batch), M=1.0,
            gradient_sup=GAIN * SIGMOID_SLOPE * norm, A=A, b=np.where(cultivar == 1, 1.0, -1.0),
            row_sup=float(rows.max()), batch=batch,
        )  # fmt: skip

    def start(self, like: Array) -> Array:
        """Normal weights of variance 1/p, always the same."""
        p = self.A.shape[1]
        return _xp.from_numpy(np.random.default_rng(8).normal(size=HIDDEN * p) / math.sqrt(p), like)

    def weighted(self, x: Array, w: Array) -> tuple[Array, Array]:
        """The weighted loss and its gradient."""
        xp = _xp.namespace(x)
        A, b, v = _xp.from_numpy(self.A, x), _xp.from_numpy(self.b, x), _xp.from_numpy(OUTER, x)
        W = xp.reshape(x, (*x.shape[:-1], HIDDEN, A.shape[-1]))
        hidden = xp.tanh(xp.matmul(W, xp.matrix_transpose(A)))  # (..., 8, n)
        losses, slopes = sigmoid(GAIN * b * xp.matmul(v, hidden))
        back = (1 - hidden * hidden) * v[:, None] * (GAIN * slopes * b * w)[..., None, :]
        return xp.sum(w * losses, axis=-1, keepdims=True), _xp.flatten_matrix(xp.matmul(back, A))

    def projector(self, like: Array) -> Operator:
        """The leading half of the principal directions, for each hidden unit."""
        return principal(self.A, HIDDEN, like)


registry.add(TanhNetwork.name, TanhNetwork.load, "a small tanh network with a bounded loss", kind="data")
