"""What is kept of runs: sums for the lemmas and certificates of Algorithm 2, and the last points before an output."""

import numpy as np
from numpy.typing import NDArray

from ...constants import Nonsmooth
from ...conversions.nonsmooth import NonsmoothState
from ...stationarity import Witness, best_mixture, measure
from ..runner.records import Floats

LEAST = 100  # points of a window; in many dimensions it has 2 d, since d + 1 points leave no choice
BLOCKS = 64  # of rounds, over each of which Jensen's inequality is applied once


def norms(v: Floats) -> Floats:
    """The norms of the rows.

    >>> norms(np.asarray([[3.0, 4.0]]))
    array([5.])
    """
    return np.sqrt(np.vecdot(v, v))


class Observer:
    r"""Sums over the rounds of one method, R replications at once.

    With the weights $w_t=1/T$, $w_T=1/(aT)$ of the law of tau over $c_t$: ``tracker`` is $\sum w_t\|m_{t+1}\|$,
    ``energy`` $\sum w_t\hat e_{t+1}$ with $\hat e_{t+1}=b^2\hat e_t+a^2\|\xi_t\|^2$, and ``held_out`` $\sum w_t\langle
    m'_{t+1},m''_{t+1}\rangle$, block by block, for two trackers of samples that the algorithm does not see. The rest is
    what the lemmas of the appendix bound.

    Reference: Lemmas 9 to 14.
    """

    def __init__(self, c: Nonsmooth, R: int, d: int) -> None:
        self.c = c
        self.sums: dict[str, Floats] = {}
        self.held_out = np.zeros((R, min(BLOCKS, c.T)))
        self.e, self.trackers = np.zeros(R), np.zeros((2, R, d))

    def see(
        self, t: int, s: Floats, g: Floats, before: NonsmoothState, after: NonsmoothState, h: Floats, held_out: Floats
    ) -> None:
        """Round ``t``: sample, gradient, the states around the update, h_{t+1}, two held-out samples."""
        c, weight = self.c, self.weight(t)
        noise = np.vecdot(s - g, s - g)
        tracker, error = norms(after.run.m), norms(after.run.m - h)
        self.e = c.b**2 * self.e + c.a**2 * noise
        self.trackers = c.b * self.trackers + c.a * held_out
        seen = {
            "m_norms": norms(before.run.m), "tracker": weight * tracker, "energy": weight * self.e,
            "squares": weight * np.vecdot(h, h), "played": -np.vecdot(s, before.Uz), "samples": np.vecdot(s, s),
            "noise": noise, "distance": error / c.T, "squared_distance": error**2 / c.T,
        }  # fmt: skip
        self.sums = {name: self.sums.get(name, 0.0) + value for name, value in seen.items()}
        self.held_out[:, (t - 1) * self.held_out.shape[1] // c.T] += weight * np.vecdot(*self.trackers)

    def weight(self, t: int) -> float:
        """Pr(tau = t) / c_t."""
        return 1 / self.c.T if t < self.c.T else 1 / (self.c.a * self.c.T)

    def end(self, y: Floats, state: NonsmoothState) -> Floats:
        """x_{T+1}, from which the last step was committed, where y_{T+1} = x_{T+1} - r eta U z."""
        return y + state.r * self.c.eta * state.Uz


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
