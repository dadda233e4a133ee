"""A piecewise-linear bowl in the plane: all of its curvature is in kinks."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array
from .nonsmooth import SignNoise
from .registry import registry

STEP = 0.25  # the distance of the kinks


@dataclass(frozen=True)
class KinkedBowl(SignNoise):
    r"""The square, interpolated between multiples of 1/4 and capped at 1, in each of two coordinates.

    $$f(x)=\frac{\varphi(x_1)+\varphi(x_2)}2,\qquad\varphi(s)=s^2\text{ at }s=0,\pm\tfrac14,\dots,\pm1,$$
    linear between and 1 beyond.

    Wherever f has a second derivative it is zero: the gradient says nothing about the curvature, and at the minimum it
    jumps from -1/8 to 1/8 in each coordinate. $0\le f\le1$, so $M=1$. The steepest slope is that from $(3/4)^2$ to 1,
    namely $7/4$, in both coordinates at once: $L=\frac12\cdot\frac74\sqrt2$. The noise is a sign of size 0.25 in each
    coordinate, $\sigma=0.25\sqrt2$.

    Two coordinates are few enough for `o2nc.stationarity.lower_bound`, which takes `enclosure`.

    Reference: not in the paper.

    >>> f = KinkedBowl()
    >>> print(f"{f.L:.4f} {f.M} {f.sigma:.4f}")
    1.2374 1.0 0.3536
    >>> f.value_and_gradient(np.asarray([0.5, -0.3]))
    (array([0.175]), array([ 0.625, -0.375]))
    """

    name: ClassVar[str] = "bowl"
    noise: ClassVar[float] = 0.25
    d = 2
    M = 1.0
    L = (2 - STEP) / math.sqrt(2)

    def start(self, like: Array) -> Array:
        """On the steepest part."""
        return _xp.from_numpy(np.asarray([0.95, -0.85]), like)

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f and its gradient."""
        xp = _xp.namespace(x)
        size = xp.clip(xp.abs(x), max=1.0)
        k = xp.floor(size / STEP)
        slope = (2 * k + 1) * STEP
        inside = _xp.indicator(size < 1.0, x)
        values = (k * STEP) ** 2 + slope * (size - k * STEP)
        return 0.5 * xp.sum(values, axis=-1, keepdims=True), 0.5 * xp.sign(x) * slope * inside

    def enclosure(
        self, low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and largest slopes on the closed boxes [low, high], both sides of kinks, by coordinate.

        >>> KinkedBowl().enclosure(np.asarray([[-0.1, 0.25]]), np.asarray([[0.1, 0.3]]))
        (array([[-0.125,  0.125]]), array([[0.125, 0.375]]))
        """
        # the slopes on the open pieces from -infinity to infinity, and the first and the last piece that a box touches
        inner = np.arange(-1.0, 1.0, STEP) * 2 + STEP
        slopes = 0.5 * np.concatenate([[0.0], inner, [0.0]])
        kinks = np.arange(-1.0, 1.0 + STEP / 2, STEP)
        first, last = np.searchsorted(kinks, low, side="left"), np.searchsorted(kinks, high, side="right")
        touched = (np.arange(len(slopes)) >= first[..., None]) & (np.arange(len(slopes)) <= last[..., None])
        return np.where(touched, slopes, np.inf).min(axis=-1), np.where(touched, slopes, -np.inf).max(axis=-1)


registry.add(KinkedBowl.name, KinkedBowl, "a piecewise-linear bowl in the plane", kind="nonsmooth")
