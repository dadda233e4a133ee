"""A valley that is the maximum of smooth functions."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from .losses import SLOPE, geman_mcclure
from .nonsmooth import SignNoise
from .registry import registry

N = 8
SCALES = np.linspace(2.0, 1.0, N)
FIRST = np.asarray([math.sin(2.0)] + [1.0, -1.0] * ((N - 2) // 2) + [2.0])


@dataclass(frozen=True)
class MaxValley(SignNoise):
    r"""The largest of eight bounded smooth wells, with a bent floor, on $x\in R^8$.

    $$f(x)=\max_j\psi(c_ju_j),\quad\psi(s)=\frac{s^2}{1+s^2},\quad u_1=x_1-\sin x_8,\quad u_j=x_j,\quad c_j=2,\dots,1.$$

    The valley $u_1=\dots=u_7=0$ follows $(\sin x_8,0,\dots,0,x_8)$ to the minimum 0. Its walls meet in kinks, where the
    gradient jumps. $0\le f<1$, so $M=1$. $|\psi'|\le3\sqrt3/8$, $\|\nabla u_1\|=\sqrt{1+\cos^2x_8}\le\sqrt2$ and
    $\|\nabla u_j\|=1$, and a gradient of a maximum is one of its members', so
    $L=\frac{3\sqrt3}8\max(c_1\sqrt2,c_2)=\frac{3\sqrt3}8\cdot2\sqrt2$.

    The noise is a sign of size 0.25 in each coordinate, $\sigma=0.25\sqrt8$.

    Reference: not in the paper.

    >>> f = MaxValley()
    >>> print(f"{f.L:.4f} {f.M} {f.sigma:.4f} {f.value_and_gradient(f.start(np.zeros(1)))[0][0]:.4f}")
    1.8371 1.0 0.7071 0.8000
    """

    name: ClassVar[str] = "valley"
    noise: ClassVar[float] = 0.25
    d = N
    M = 1.0
    L = 2 * SLOPE * float(SCALES[0]) * math.sqrt(2)

    def start(self, like: Array) -> Array:
        """On the floor in the first coordinate, high on the walls in the others."""
        return _xp.from_numpy(FIRST, like)

    def value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """The largest well and its gradient."""
        xp = _xp.namespace(x)
        last = x[..., -1:]
        c = _xp.from_numpy(SCALES, x)
        half, slope = geman_mcclure(c * xp.concat([x[..., :1] - xp.sin(last), x[..., 1:]], axis=-1))
        largest = xp.max(half, axis=-1, keepdims=True)
        first = xp.argmax(half, axis=-1, keepdims=True) == xp.arange(N)
        g = 2 * c * slope * _xp.indicator(first, x)
        return 2 * largest, g - g[..., :1] * xp.cos(last) * _xp.from_numpy(np.eye(N)[-1], x)


registry.add(MaxValley.name, MaxValley, "a valley that is the maximum of smooth functions", kind="nonsmooth")
