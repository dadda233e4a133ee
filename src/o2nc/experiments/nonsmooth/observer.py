"""What is summed up of a run of Algorithm 2, for its lemmas and certificates."""

from typing import Any

import numpy as np

from ...constants import Nonsmooth
from ..record import Floats

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
        names = (
            "m_norms",
            "tracker",
            "energy",
            "played",
            "samples",
            "noise",
            "distance",
            "squared_distance",
            "squares",
        )
        self.sums = {name: np.zeros(R) for name in names}
        self.held_out = np.zeros((R, min(BLOCKS, c.T)))
        self.e, self.end = np.zeros(R), np.zeros((R, d))
        self.trackers = np.zeros((2, R, d))

    def see(
        self, t: int, y: Floats, s: Floats, g: Floats, before: Any, after: Any, h: Floats, held_out: Floats
    ) -> None:
        """Round ``t``: point, sample, gradient, the states around the update, h_{t+1}, two held-out samples."""
        c, sums = self.c, self.sums
        weight = self.weight(t)
        self.end = y + (1 - before.r) * before.delta  # x_{t+1}
        noise = np.vecdot(s - g, s - g)
        error = norms(after.m - h)
        self.e = c.b**2 * self.e + c.a**2 * noise
        self.trackers = c.b * self.trackers + c.a * held_out
        sums["m_norms"] += norms(before.m)
        sums["tracker"] += weight * norms(after.m)
        sums["energy"] += weight * self.e
        sums["squares"] += weight * np.vecdot(h, h)
        sums["played"] += np.vecdot(s, before.delta) / c.eta
        sums["samples"] += np.vecdot(s, s)
        sums["noise"] += noise
        sums["distance"] += error / c.T
        sums["squared_distance"] += error**2 / c.T
        self.held_out[:, (t - 1) * self.held_out.shape[1] // c.T] += weight * np.vecdot(*self.trackers)

    def weight(self, t: int) -> float:
        """Pr(tau = t) / c_t."""
        return 1 / self.c.T if t < self.c.T else 1 / (self.c.a * self.c.T)
