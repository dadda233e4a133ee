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


SIGMOID_SLOPE = 1 / 4  # the largest slope of the sigmoid loss, at margin 0
SIGMOID_CURVATURE = 1 / (6 * math.sqrt(3))  # at the shares (1 +- 1/sqrt(3)) / 2
SAVAGE_SLOPE = 8 / 27  # the largest slope of the Savage loss, at the share 2/3
_SHARE = (15 - math.sqrt(33)) / 24  # where the third derivative of the Savage loss vanishes and |phi''| is largest
SAVAGE_CURVATURE = 2 * _SHARE**2 * (1 - _SHARE) * (2 - 3 * _SHARE)


def sigmoid(margin: Array) -> tuple[Array, Array]:
    r"""The sigmoid loss $\varphi(u)=p=\frac1{1+e^u}$ and its derivative $-p(1-p)$.

    $\varphi''=p(1-p)(1-2p)$, and a cubic of p on [0, 1] is largest, in size, at $\frac12(1\pm\frac1{\sqrt3})$.

    Reference: Mason, Baxter, Bartlett and Frean, Boosting algorithms as gradient descent (1999).

    >>> import numpy as np
    >>> sigmoid(np.asarray([0.0]))
    (array([0.5]), array([-0.25]))
    """
    p = 0.5 - 0.5 * _xp.namespace(margin).tanh(0.5 * margin)
    return p, -p * (1 - p)


def savage(margin: Array) -> tuple[Array, Array]:
    r"""The Savage loss $\varphi(u)=p^2$, $p=\frac1{1+e^u}$, and its derivative $-2p^2(1-p)$.

    $\varphi''=2p^2(1-p)(2-3p)$, whose derivative in p vanishes where $12p^2-15p+4=0$.

    Reference: Masnadi-Shirazi and Vasconcelos, On the design of loss functions for classification (2008).

    >>> import numpy as np
    >>> savage(np.asarray([0.0]))
    (array([0.25]), array([-0.25]))
    """
    p, slope = sigmoid(margin)
    return p * p, 2 * p * slope
