"""A support vector machine with a smooth loss."""

from typing import ClassVar

from ... import _xp
from ..._xp import Array
from .classifier import Classifier


class SmoothedSVM(Classifier):
    r"""The squared hinge $\varphi(z)=\frac12\max(0,1-z)^2$, whose derivative is Lipschitz with constant 1.

    Reference: not in the paper; Gao, Chu, Ye and Udell (2025) have it too.

    >>> import numpy as np
    >>> f = SmoothedSVM(np.asarray([[1.0, 1.0], [-1.0, 1.0]]), np.asarray([1.0, -1.0]))
    >>> print(f"{f.beta:.4f} {f.M:.4f} {f.f_star:.4f}")
    1.5000 0.5000 0.1667
    """

    curvature: ClassVar[float] = 1.0

    def loss(self, margin: Array) -> tuple[Array, Array]:
        """Half the square of what is missing to 1."""
        missing = _xp.at_least(1 - margin, 0.0)
        return 0.5 * missing * missing, -missing


SmoothedSVM.register("svm", "the squared hinge")
