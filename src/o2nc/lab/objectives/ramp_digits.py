"""A linear classifier with the ramp loss."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from ..._xp import Array
from .losses import ramp
from .minibatch import LinearModel, data, standardised
from .registry import registry


@dataclass(frozen=True, eq=False)
class RampDigits(LinearModel):
    r"""A linear classifier of handwritten digits, 3 against 8, 357 images, with the ramp loss.

    $$f(x)=\frac1n\sum_i\min\Bigl(1,\max\Bigl(0,\frac{1-b_i\langle a_i,x\rangle}2\Bigr)\Bigr),\qquad b_i=\pm1.$$

    Pixels are standardised. $M=1$, $\kappa=\frac12$, and as for `CappedRegression` $L=\kappa\|A\|_{op}/\sqrt n$.

    Reference: not in the paper; the data are those of Alpaydin and Kaynak, Optical recognition of handwritten digits
    (1998).

    >>> f = RampDigits.load()
    >>> print(f"{f.d} {f.L:.4f} {f.M} {f.sigma:.4f}")
    55 1.4625 1.0 0.9270
    """

    name: ClassVar[str] = "ramp"
    kappa: ClassVar[float] = 0.5
    M = 1.0

    @classmethod
    @cache
    def load(cls) -> "RampDigits":
        """With the data of scikit-learn."""
        X, digit = data("digits")
        chosen = (digit == 3) | (digit == 8)
        return cls(standardised(X[chosen]), np.where(digit[chosen] == 3, 1.0, -1.0))

    def loss(self, prediction: Array, b: Array) -> tuple[Array, Array]:
        """The ramp of the margin."""
        losses, slopes = ramp(b * prediction)
        return losses, b * slopes


registry.add(RampDigits.name, RampDigits.load, "a linear classifier with the ramp loss", kind="nonsmooth")
