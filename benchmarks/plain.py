"""Learners for the prediction loss as plain NumPy, several lambdas at once: the oracles of the library take longer.

Points, trackers and samples are (L, R, d): L variants of a learner, R replications. A learner is called once a round by
``play(m)``, which returns U m, and then by ``learn(s)``. tests/benchmarks/test_choosing.py compares with the library.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dot(u: Floats, v: Floats) -> Floats:
    """<u, v>, (..., 1)."""
    return np.einsum("...i,...i->...", u, v)[..., None]


def column(lams: Sequence[float]) -> Floats:
    """One lambda a variant, (L, 1, 1)."""
    return np.asarray(lams, dtype=np.float64)[:, None, None]


class Fixed:
    """The identity, or the projector onto the columns of a basis."""

    def __init__(self, basis: Floats | None = None) -> None:
        self.basis = basis

    def play(self, m: Floats) -> Floats:
        """U m."""
        return m if self.basis is None else (m @ self.basis) @ self.basis.T

    def learn(self, s: Floats) -> None:
        """Nothing."""


class Diagonal:
    """`LeastSquares(Box(), lam)`."""

    def __init__(self, lams: Sequence[float]) -> None:
        self.A, self.H = column(lams), 0.0

    def play(self, m: Floats) -> Floats:
        """(1 + H / A) m."""
        self.m, self.A = m, self.A + m * m
        return m + m * self.H / self.A

    def learn(self, s: Floats) -> None:
        """Add to H what the identity missed."""
        self.H = self.H + self.m * (s - self.m)


class Scalar:
    """`LeastSquares([Identity()], lam)`."""

    def __init__(self, lams: Sequence[float]) -> None:
        self.A, self.H = column(lams), 0.0

    def play(self, m: Floats) -> Floats:
        """(1 + H / A) m."""
        self.m, self.A = m, self.A + dot(m, m)
        return m + m * (self.H / self.A)

    def learn(self, s: Floats) -> None:
        """Add to H what the identity missed."""
        self.H = self.H + dot(self.m, s - self.m)


class Pair:
    """`LeastSquares([Identity(), P], lam)`."""

    def __init__(self, lams: Sequence[float], basis: Floats) -> None:
        self.P, self.lam, self.N, self.p, self.h, self.k = Fixed(basis), column(lams), 0.0, 0.0, 0.0, 0.0

    def play(self, m: Floats) -> Floats:
        """The solution of two equations."""
        self.m, self.Pm = m, self.P.play(m)
        self.N, self.p = self.N + dot(m, m), self.p + dot(self.Pm, self.Pm)  # <m, P m> is |P m|^2
        A, B, p = self.lam + self.N, self.lam + self.p, self.p
        det = A * B - p * p
        return m * (1 + (B * self.h - p * self.k) / det) + self.Pm * ((A * self.k - p * self.h) / det)

    def learn(self, s: Floats) -> None:
        """Add what the identity missed, along m and along P m."""
        missed = s - self.m
        self.h, self.k = self.h + dot(self.m, missed), self.k + dot(self.Pm, missed)


class Newton:
    """`OnlineNewtonStep(WideBox(0, high), lam)`."""

    def __init__(self, lams: Sequence[float], highs: Sequence[float]) -> None:
        self.u, self.A, self.high = np.ones((1, 1, 1)), column(lams), column(highs)

    def play(self, m: Floats) -> Floats:
        """u m."""
        self.m, self.A, self.v = m, self.A + m * m, self.u * m
        return self.v

    def learn(self, s: Floats) -> None:
        """A clipped Newton step."""
        self.u = np.minimum(np.maximum(self.u - (self.v - s) * self.m / self.A, 0.0), self.high)


class Gradient:
    """`AdaGrad(Box())`."""

    def __init__(self) -> None:
        self.u, self.V = np.ones((1, 1, 1)), 0.0

    def play(self, m: Floats) -> Floats:
        """u m."""
        self.m, self.v = m, self.u * m
        return self.v

    def learn(self, s: Floats) -> None:
        """A clipped step."""
        g = (self.v - s) * self.m
        self.V = self.V + g * g
        self.u = np.clip(self.u - math.sqrt(0.5) * g / np.sqrt(np.where(self.V > 0, self.V, 1.0)), 0.0, 1.0)


class Mixed:
    """Weights over what K learners play: `OverOracles(..., AdaHedge())`, or `PredictionHedge` if ``fast``."""

    def __init__(self, parts: Sequence[Any], fast: bool = False) -> None:
        self.parts, self.fast, self.C, self.scale = parts, fast, 0.0, 0.0

    def play(self, m: Floats) -> Floats:
        """The mixture with the current weights."""
        self.products = [part.play(m) for part in self.parts]
        if self.scale is not None and np.ndim(self.C) == 0:
            self.C, self.scale = np.zeros((*m.shape[:-1], len(self.parts))), np.zeros((*m.shape[:-1], 1))
        known = self.scale > 0
        log = 1.0 if self.fast else math.log(len(self.parts))
        self.rate = np.where(known, log / np.where(known, self.scale, 1.0), 0.0)
        behind = self.C - self.C.min(axis=-1, keepdims=True)
        e = np.where(known, np.exp(-self.rate * behind), behind <= 0)
        if self.fast:
            e = np.where(known, e, 1.0)
        self.w = e / e.sum(axis=-1, keepdims=True)
        return sum(self.w[..., k : k + 1] * v for k, v in enumerate(self.products))  # type: ignore[return-value]

    def learn(self, s: Floats) -> None:
        """Add the losses of the parts, and to the scale what the rate needs."""
        losses = np.concatenate([dot(v, 0.5 * v - s) for v in self.products], axis=-1)
        if self.fast:
            missed = 2 * losses.max(axis=-1, keepdims=True) + dot(s, s)
            self.scale = np.where(missed > self.scale, np.maximum(2 * self.scale, missed), self.scale)
        else:
            known = self.scale > 0
            above = losses - losses.min(axis=-1, keepdims=True)
            total = np.sum(self.w * np.exp(-self.rate * above), axis=-1, keepdims=True)
            mix = -np.log(np.maximum(total, 1e-300)) / np.where(known, self.rate, 1.0)
            lag = (self.C + above).min(axis=-1, keepdims=True) - self.C.min(axis=-1, keepdims=True)
            gap = np.sum(self.w * above, axis=-1, keepdims=True) - np.where(known, mix, lag)
            self.scale = self.scale + np.maximum(gap, 0.0)
        self.C = self.C + losses
        for part in self.parts:
            part.learn(s)
