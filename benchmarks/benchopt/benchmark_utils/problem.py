"""The objective as solvers see it: values, exact gradients, samples of gradients, and the constants of the theorems."""

from dataclasses import dataclass

import numpy as np

SLOPE, CURVATURE = 1 / 4, 1 / (6 * 3**0.5)  # the largest |phi'| and |phi''| of phi(z) = 1 / (1 + exp(z))


@dataclass(frozen=True)
class Problem:
    """f(w) = mean_i phi(y_i <x_i, w>), from w = 0, where it is 1/2; it is never below 0."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,), 1 or -1
    batch_size: int

    @property
    def start(self):
        return np.zeros(self.X.shape[1])

    def value_and_gradient(self, w):
        """f(w) and its gradient."""
        return self._on(w, self.X, self.y)

    def sample(self, w, rng):
        """The gradient on a batch that is drawn with replacement: its mean is that of f."""
        rows = rng.integers(len(self.y), size=self.batch_size)
        return self._on(w, self.X[rows], self.y[rows])[1]

    def smoothness(self):
        """beta: the gradient is Lipschitz with this constant."""
        return CURVATURE * np.linalg.norm(self.X, ord=2) ** 2 / len(self.y)

    def noise(self):
        """sigma: the root of a bound on the variance of a sample."""
        return SLOPE * np.sqrt(np.mean(np.sum(self.X**2, axis=1)) / self.batch_size)

    @staticmethod
    def _on(w, X, y):
        phi = 0.5 * (1 - np.tanh(0.5 * y * (X @ w)))
        return float(phi.mean()), -X.T @ (y * phi * (1 - phi)) / len(y)
