"""The points of a run before the round of its output, over which the weights of the witness are minimised."""

import numpy as np
from numpy.typing import NDArray

from ...stationarity import Witness, best_mixture, measure
from ..runner.records import Floats

LEAST = 100  # points of a window; in many dimensions it has 2 d, since d + 1 points leave no choice


class Window:
    """The last points before tau, and the witness of all before them, for each method and replication.

    Args:
        tau: the rounds of the outputs, (K, R).
        d: the number of coordinates.
        lam: the weight of the spread.

    Reference: Definition 2.
    """

    def __init__(self, tau: NDArray[np.int64], d: int, lam: float) -> None:
        self.tau, self.lam, self.window = tau, lam, max(LEAST, 2 * d)
        self.n = np.minimum(tau, self.window)
        self.y, self.g = np.zeros((2, *tau.shape, self.window, d))
        self.mean, self.rest_y, self.rest_g = np.zeros((3, *tau.shape, d))
        self.rest_spread, self.value = np.zeros((2, *tau.shape))

    def see(self, t: int, x: Floats, g: Floats, W: Witness) -> None:
        """Round ``t``: keep what lies in the window."""
        k, r = np.nonzero(np.logical_and(self.tau - self.window < t, t <= self.tau))
        place = t - 1 - (self.tau - self.n)[k, r]
        self.y[k, r, place], self.g[k, r, place] = x[k, r], g[k, r]
        k, r = np.nonzero(np.equal(self.tau - self.window, t))
        self.rest_y[k, r], self.rest_g[k, r], self.rest_spread[k, r] = W.y[k, r], W.g[k, r], W.spread[k, r, 0]
        k, r = np.nonzero(np.equal(self.tau, t))
        self.mean[k, r], self.value[k, r] = W.y[k, r], measure(W, self.lam)[k, r, 0]

    def sharper(self, share: Floats) -> Floats:
        """The measure of the best weights at tau."""
        best = np.empty_like(self.value)
        for k, r in np.ndindex(*self.tau.shape):
            tau, n = int(self.tau[k, r]), int(self.n[k, r])
            theta = share[k, tau - n : tau]
            weights = theta * np.append(np.cumprod((1 - theta)[:0:-1])[::-1], 1.0)
            atoms = [self.y[k, r, :n], self.g[k, r, :n], np.zeros((n, 1))]
            if tau > n:  # everything before the window is one more atom
                rest = self.rest_y[k, r], self.rest_g[k, r], self.rest_spread[k, r, None]
                atoms = [np.concatenate([own, [one]]) for own, one in zip(atoms, rest, strict=True)]
                weights = np.append(weights, max(1 - weights.sum(), 0.0))
            best[k, r] = best_mixture(Witness(*atoms), self.mean[k, r], self.lam, weights).value
        return np.minimum(best, self.value)
