"""Robust regression with a capped absolute loss."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .minibatch import LinearModel, data, standardised
from .registry import registry


@dataclass(frozen=True, eq=False)
class CappedRegression(LinearModel):
    r"""Robust regression of the progression of diabetes, 442 patients, 10 features, by the capped absolute loss.

    $$f(x)=\frac1n\sum_i\min(|\langle a_i,x\rangle-b_i|,\,1).$$

    Features and target are standardised. A residual above the cap has no gradient at all: f is neither convex nor
    smooth. $0\le f\le1$, so $M=1$. The loss has slope at most $\kappa=1$ in the prediction, and $\nabla f=\frac1nA^\top
    w$ with $|w_i|\le1$, so $L=\|A\|_{op}/\sqrt n$ and $\sigma=\sqrt{\mathrm{mean}\|a_i\|^2/B}$.

    Reference: not in the paper; the data are those of Efron, Hastie, Johnstone and Tibshirani, Least angle regression
    (2004).

    >>> f = CappedRegression.load()
    >>> print(f"{f.d} {f.L:.4f} {f.M} {f.sigma:.4f}")
    11 2.0060 1.0 0.8292
    """

    name: ClassVar[str] = "capped"
    kappa: ClassVar[float] = 1.0
    M = 1.0

    @classmethod
    @cache
    def load(cls) -> "CappedRegression":
        """With the data of scikit-learn."""
        X, b = data("diabetes")
        return cls(standardised(X), (b - b.mean()) / b.std())

    def loss(self, prediction: Array, b: Array) -> tuple[Array, Array]:
        """The capped absolute residual."""
        xp = _xp.namespace(prediction)
        residual = prediction - b
        size = xp.abs(residual)
        return xp.clip(size, max=1.0), xp.sign(residual) * _xp.indicator(size < 1.0, size)


registry.add(CappedRegression.name, CappedRegression.load, "regression with a capped absolute loss", kind="nonsmooth")
