"""Linear classifiers with bounded smooth losses."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Self

import numpy as np

from ... import _xp
from ..._xp import Array
from ...operators import Operator
from .data import DataObjective, principal, row_sigma
from .losses import SAVAGE_CURVATURE, SAVAGE_SLOPE, SIGMOID_CURVATURE, SIGMOID_SLOPE, savage, sigmoid
from .minibatch import Floats, data, pull, standardised
from .registry import registry


@dataclass(frozen=True, eq=False)
class BoundedClassifier(DataObjective):
    r"""The mean over n rows of a loss $\varphi\in[0,1]$ of the margin of a linear classifier, from the origin.

    $$f(x)=\frac1n\sum_i\varphi(b_i\langle a_i,x\rangle),\qquad b_i=\pm1.$$

    With $|\varphi'|\le c_1$ and $|\varphi''|\le c_2$: $\nabla^2f=\frac1n\sum_i\varphi''a_ia_i^\top$ gives
    $\beta=\frac{c_2}n\|A\|_{op}^2$; $\nabla f=\frac1nA^\top w$ with $|w_i|\le c_1$ gives
    $\sup\|\nabla f\|\le c_1\|A\|_{op}/\sqrt n$; a single loss has $c_1\|a_i\|$. $M=1$.

    Reference: not in the paper; classification with losses that do not trust outliers.
    """

    slope: ClassVar[float]  # c_1
    curvature: ClassVar[float]  # c_2

    @property
    def d(self) -> int:  # type: ignore[override]
        """The features, with the intercept."""
        return int(self.A.shape[1])

    @classmethod
    def of(cls, X: Floats, b: Floats, batch: int = 16) -> Self:
        """With features that are standardised here, and classes 1 and -1."""
        A = standardised(X)
        norm, rows = float(np.linalg.norm(A, 2)) / math.sqrt(len(A)), cls.slope * np.linalg.norm(A, axis=1)
        return cls(
            beta=cls.curvature * norm**2, sigma=row_sigma(rows, batch), M=1.0, gradient_sup=cls.slope * norm,
            A=A, b=b, row_sup=float(rows.max()), batch=batch,
        )  # fmt: skip

    @abstractmethod
    def loss(self, margin: Array) -> tuple[Array, Array]:
        """phi and its derivative."""

    def start(self, like: Array) -> Array:
        """The origin."""
        return _xp.zeros((self.d,), like)

    def weighted(self, x: Array, w: Array) -> tuple[Array, Array]:
        """The weighted loss and its gradient."""
        A, b = _xp.from_numpy(self.A, x), _xp.from_numpy(self.b, x)
        losses, slopes = self.loss(b * _xp.matvec(A, x))
        return _xp.namespace(x).sum(w * losses, axis=-1, keepdims=True), pull(slopes * b * w, A)

    def projector(self, like: Array) -> Operator:
        """The leading half of the principal directions."""
        return principal(self.A, 1, like)


class SigmoidCancer(BoundedClassifier):
    r"""Benign against malignant, 569 samples of tissue, with the sigmoid loss $\varphi(u)=1/(1+e^u)$.

    Reference: not in the paper; the data are those of Wolberg, Mangasarian and Street, Breast cancer Wisconsin (1995).

    >>> f = SigmoidCancer.load()
    >>> print(f"{f.d} {f.beta:.4f} {f.M} {f.sigma:.4f} {f.gradient_sup:.4f} {f.first_gap:.2f}")
    31 1.2780 1.0 0.3480 0.9111 0.50
    """

    name: ClassVar[str] = "sigmoid"
    slope: ClassVar[float] = SIGMOID_SLOPE
    curvature: ClassVar[float] = SIGMOID_CURVATURE

    @classmethod
    @cache
    def load(cls) -> "SigmoidCancer":
        """With the data of scikit-learn."""
        X, benign = data("breast_cancer")
        return cls.of(X, np.where(benign == 1, 1.0, -1.0))

    def loss(self, margin: Array) -> tuple[Array, Array]:
        """The sigmoid loss."""
        return sigmoid(margin)


class SavageDigits(BoundedClassifier):
    r"""Handwritten 3 against 8, 357 images, with the Savage loss $\varphi(u)=1/(1+e^u)^2$, which is robust to outliers.

    Reference: not in the paper; Masnadi-Shirazi and Vasconcelos, On the design of loss functions for classification
    (2008); the data are those of Alpaydin and Kaynak, Optical recognition of handwritten digits (1998).

    >>> f = SavageDigits.load()
    >>> print(f"{f.d} {f.beta:.4f} {f.M} {f.sigma:.4f} {f.gradient_sup:.4f} {f.first_gap:.2f}")
    55 1.3180 1.0 0.5493 0.8667 0.25
    """

    name: ClassVar[str] = "savage"
    slope: ClassVar[float] = SAVAGE_SLOPE
    curvature: ClassVar[float] = SAVAGE_CURVATURE

    @classmethod
    @cache
    def load(cls) -> "SavageDigits":
        """With the data of scikit-learn."""
        X, digit = data("digits")
        chosen = (digit == 3) | (digit == 8)
        return cls.of(X[chosen], np.where(digit[chosen] == 3, 1.0, -1.0))

    def loss(self, margin: Array) -> tuple[Array, Array]:
        """The Savage loss."""
        return savage(margin)


registry.add(SigmoidCancer.name, SigmoidCancer.load, "a linear classifier with the sigmoid loss", kind="data")
registry.add(SavageDigits.name, SavageDigits.load, "a linear classifier with the robust Savage loss", kind="data")
