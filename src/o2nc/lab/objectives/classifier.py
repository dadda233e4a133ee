"""A linear classifier with a smooth loss and a square of the weights: smooth and strongly convex."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from ... import _xp
from ..._xp import Array
from .minibatch import Floats, data, pull, standardised
from .registry import registry

# The data of scikit-learn, and which rows are in the class 1.
CLASSES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cancer": ("breast_cancer", lambda benign: benign),
    "wine": ("wine", lambda cultivar: cultivar == 1),
    "digits": ("digits", lambda digit: digit % 2 == 0),
    "diabetes": ("diabetes", lambda progression: progression > np.median(progression)),
}
SOLVED = 1e-8  # the norm of the gradient at the point whose value is taken for the minimum


@dataclass(frozen=True, eq=False)
class Classifier(ABC):
    r"""The mean loss of the margins of n rows of data, and a multiple of the square of all weights.

    $$f(x)=\frac1n\sum_i\varphi(b_i\langle a_i,x\rangle)+\frac\lambda2\|x\|^2,\qquad b_i=\pm1,\qquad\lambda=\frac1n.$$

    $0\le\varphi''\le c$ gives $\lambda\le\nabla^2f\le\beta=\frac cn\|A\|_{op}^2+\lambda$. The weights include the
    intercept. $\lambda=1/n$ is C = 1, the default of logistic regression in scikit-learn.

    f is not bounded, so no M is its range on all points. But f is at least 0, so $f(x)-f^*\le M=f(0)$ holds where f is
    no larger than at the start, which is 0.

    Args:
        A: the rows, (n, d).
        b: the classes, 1 or -1, (n,).

    Reference: not in the paper; the setting of Gao, Chu, Ye and Udell (2025).
    """

    A: Floats
    b: Floats

    curvature: ClassVar[float]  # c

    d = property(lambda self: int(self.A.shape[1]))  # the features, with the intercept
    lam = property(lambda self: 1 / len(self.b))  # the modulus of strong convexity too

    @classmethod
    def register(cls, loss: str, words: str) -> None:
        """Add the classifiers of all sets of data with this loss to the registry."""
        for name in CLASSES:
            registry.add(f"{name}-{loss}", partial(cls.load, name), f"{words} on the data {name}", kind="convex")

    @classmethod
    @cache
    def load(cls, name: str) -> Self:
        """With the data called ``name``, standardised."""
        source, positive = CLASSES[name]
        X, target = data(source)
        return cls(standardised(X), np.where(positive(target), 1.0, -1.0))

    @cached_property
    def beta(self) -> float:
        """The Lipschitz constant of the gradient."""
        return self.curvature * float(np.linalg.norm(self.A, 2)) ** 2 / len(self.b) + self.lam

    @cached_property
    def M(self) -> float:
        """f(0)."""
        return float(self.value_and_gradient(np.zeros(self.d))[0][0])

    def start(self, like: Array) -> Array:
        """The origin."""
        return _xp.zeros((self.d,), like)

    @abstractmethod
    def loss(self, margin: Array) -> tuple[Array, Array]:
        """phi and its derivative."""

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) of shape (..., 1) and the gradient of shape (..., d)."""
        A, b = _xp.from_numpy(self.A, x), _xp.from_numpy(self.b, x)
        losses, slopes = self.loss(b * _xp.matvec(A, x))
        mean = _xp.namespace(x).mean(losses, axis=-1, keepdims=True)
        return mean + self.lam / 2 * _xp.inner(x, x), pull(slopes * b * self.lam, A) + self.lam * x

    @cached_property
    def f_star(self) -> float:
        r"""The minimum, too large by at most $\|\nabla f\|^2/(2\lambda)$, here 1e-16 n / 2, by strong convexity."""
        from scipy.optimize import minimize

        def flat(x: Floats) -> tuple[float, Floats]:
            value, g = self.value_and_gradient(x)
            return float(value[0]), np.asarray(g)

        far = {"ftol": 0, "gtol": SOLVED / 10 / np.sqrt(self.d), "maxiter": 10**5, "maxfun": 10**5, "maxcor": 30}
        found = minimize(flat, np.zeros(self.d), jac=True, method="L-BFGS-B", options=far)
        if (norm := float(np.linalg.norm(found.jac))) > SOLVED:
            raise ArithmeticError(f"The minimum was not found: the gradient is {norm:.1e}, more than {SOLVED:.0e}.")
        return float(found.fun)
