"""A bounded loss of a margin that two objectives share."""

from ... import _xp
from ..._xp import Array


def ramp(margin: Array) -> tuple[Array, Array]:
    r"""The ramp loss $\min(1,\max(0,\frac{1-u}2))$ of a margin u and its derivative: 0, or -1/2 for $|u|<1$.

    Reference: Collobert, Sinz, Weston and Bottou, Trading convexity for scalability (2006).

    >>> import numpy as np
    >>> ramp(np.asarray([-2.0, 0.0, 3.0]))[0]
    array([1. , 0.5, 0. ])
    """
    xp = _xp.namespace(margin)
    return xp.clip(0.5 * (1.0 - margin), min=0.0, max=1.0), -0.5 * _xp.indicator(xp.abs(margin) < 1.0, margin)
