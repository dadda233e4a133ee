"""Bounded losses of one number that several objectives share."""

import math

from ... import _xp
from ..._xp import Array

SLOPE = 3 * math.sqrt(3) / 16  # the largest slope of the loss of Geman and McClure, at s = 1/sqrt(3)


def slope(s: float) -> float:
    r"""$\varphi'(s)=s/(1+s^2)^2$ of one number.

    Reference: `geman_mcclure`.

    >>> slope(1.0)
    0.25
    """
    return s / (1 + s * s) ** 2


def geman_mcclure(s: Array) -> tuple[Array, Array]:
    r"""The loss of Geman and McClure and its derivative, entry by entry.

    $$\varphi(s)=\frac{s^2}{2(1+s^2)}=\frac12-\frac1{2(1+s^2)},\qquad\varphi'(s)=\frac s{(1+s^2)^2},\qquad
      \varphi''(s)=\frac{1-3s^2}{(1+s^2)^3}.$$

    It lies in [0, 1/2). $\varphi''=0$ at $s^2=1/3$, so $|\varphi'|\le3\sqrt3/16$. With $w=1/(1+s^2)\in(0,1]$,
    $\varphi''=w^2(4w-3)$ has its extrema at w = 1/2 and w = 1: $-1/4\le\varphi''\le1$.

    Reference: S. Geman and D. McClure, Statistical methods for tomographic image reconstruction, 1987.

    >>> import numpy as np
    >>> geman_mcclure(np.asarray([0.0, 1.0]))
    (array([0.  , 0.25]), array([0.  , 0.25]))
    """
    w = 1.0 / (1.0 + s * s)
    slope = s * w
    return 0.5 * (s * slope), slope * w


def ramp(margin: Array) -> tuple[Array, Array]:
    r"""The ramp loss $\min(1,\max(0,\frac{1-u}2))$ of a margin u and its derivative: 0, or -1/2 for $|u|<1$.

    Reference: Collobert, Sinz, Weston and Bottou, Trading convexity for scalability (2006).

    >>> import numpy as np
    >>> ramp(np.asarray([-2.0, 0.0, 3.0]))[0]
    array([1. , 0.5, 0. ])
    """
    xp = _xp.namespace(margin)
    return xp.clip(0.5 * (1.0 - margin), min=0.0, max=1.0), -0.5 * _xp.indicator(xp.abs(margin) < 1.0, margin)
