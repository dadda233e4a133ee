"""Dictionary learning with saturated atoms and codes and a bounded loss."""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ...operators import Operator, Projector
from .data import DataObjective, row_sigma
from .factorisation import BEND
from .losses import SLOPE, geman_mcclure
from .minibatch import data
from .registry import registry

IMAGES, ATOMS = 64, 4
START = 0.3  # the size of the first entries


@dataclass(frozen=True, eq=False)
class DictionaryDigits(DataObjective):
    r"""Write 64 images of digits as combinations of 4 atoms of 64 pixels, on $x=(X,Y)$, row by row.

    $$f(X,Y)=\frac1{np}\sum_{i\le n,\,j\le p}\varphi\bigl((UV^\top-A)_{ij}\bigr),\qquad U=\tanh X\in R^{n\times r},\quad
      V=\tanh Y\in R^{p\times r},\quad\varphi(s)=\frac{s^2}{2(1+s^2)}.$$

    Row i of U is the code of image i, the columns of V are the atoms, pixels are scaled to [-1, 1] and centred. It is
    `LowRank` with real data, so the proof there gives, with $q=\max(n,p)$ and $c=\frac{3\sqrt3}{16}$: the map to
    $\dot R$ has a squared norm of at most rq, $\|\Phi\|_{op}\le c\sqrt{np}$, and the entries of $\Phi V$ and
    $\Phi^\top U$ are at most cq. Hence
    $$\beta=\frac{rq+c\sqrt{np}+\frac4{\sqrt{27}}cq}{np},\qquad\sup\|\nabla f\|\le c\sqrt{\frac{rq}{np}},\qquad
      \sup\|\nabla\ell_i\|\le c\sqrt r,\qquad M=\tfrac12,$$
    the last but one because $\ell_i=\frac1p\sum_j\varphi$ has the derivatives
    $\frac1p\sum_j\Phi_{ij}v_{jk}(1-u_{ik}^2)$ and $\frac1p\Phi_{ij}u_{ik}(1-v_{jk}^2)$, and
    $(1-a^2)^2b^2+(1-b^2)^2a^2\le1$. A minibatch tells of few codes and of all atoms. P keeps the atoms.

    Reference: not in the paper; Olshausen and Field, Sparse coding with an overcomplete basis set (1997); the data are
    those of Alpaydin and Kaynak, Optical recognition of handwritten digits (1998).

    >>> f = DictionaryDigits.load()
    >>> print(f"{f.d} {f.beta:.4f} {f.M} {f.sigma:.4f} {f.gradient_sup:.4f} {f.first_gap:.4f}")
    512 0.0715 0.5 0.1624 0.0812 0.0853
    """

    name: ClassVar[str] = "dictionary"

    @property
    def d(self) -> int:  # type: ignore[override]
        """The codes and the atoms."""
        return ATOMS * sum(self.A.shape)

    @classmethod
    @cache
    def load(cls, batch: int = 16) -> "DictionaryDigits":
        """With the first images of scikit-learn."""
        X, digit = data("digits")
        A = X[:IMAGES] / 8 - 1
        A = A - A.mean(axis=0)
        (n, p), q = A.shape, max(A.shape)
        rows = np.full(n, SLOPE * math.sqrt(ATOMS))
        return cls(
            beta=(ATOMS * q + SLOPE * (math.sqrt(n * p) + BEND * q)) / (n * p), sigma=row_sigma(rows, batch), M=0.5,
            gradient_sup=SLOPE * math.sqrt(ATOMS * q / (n * p)), A=A, b=np.asarray(digit[:IMAGES], dtype=np.float64),
            row_sup=float(rows.max()), batch=batch,
        )  # fmt: skip

    def start(self, like: Array) -> Array:
        """Normal entries, always the same: at 0 the gradient would vanish."""
        return _xp.from_numpy(START * np.random.default_rng(16).normal(size=self.d), like)

    def weighted(self, x: Array, w: Array) -> tuple[Array, Array]:
        """The weighted loss and its gradient."""
        xp, (n, p) = _xp.namespace(x), self.A.shape
        factors = xp.tanh(x)
        U = xp.reshape(factors[..., : n * ATOMS], (*x.shape[:-1], n, ATOMS))
        V = xp.reshape(factors[..., n * ATOMS :], (*x.shape[:-1], p, ATOMS))
        loss, Phi = geman_mcclure(xp.matmul(U, xp.matrix_transpose(V)) - _xp.from_numpy(self.A, x))
        Phi = Phi * (w / p)[..., None]
        parts = [_xp.flatten_matrix(xp.matmul(Phi, V)), _xp.flatten_matrix(xp.matmul(xp.matrix_transpose(Phi), U))]
        mean = xp.sum(w * xp.mean(loss, axis=-1), axis=-1, keepdims=True)
        return mean, (1 - factors * factors) * xp.concat(parts, axis=-1)

    def projector(self, like: Array) -> Operator:
        """Keeps the atoms."""
        codes = ATOMS * self.A.shape[0]
        return Projector.from_mask(_xp.like([float(k >= codes) for k in range(self.d)], like) == 1)


registry.add(DictionaryDigits.name, DictionaryDigits.load, "dictionary learning with saturated factors", kind="data")
