"""A distribution of points with the mean of their gradients: a witness of local stationarity."""

from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..vectors import Vector, check_like, check_vector, inner, zero_scalar


class Witness(NamedTuple):
    r"""What the measure needs of a distribution p of points w, in O(d) memory.

    $$\bar y=E[w],\qquad\bar g=E[\nabla f(w)],\qquad v=E\|w-\bar y\|^2.$$

    Reference: Definition 2, whose infimum is over all p with mean x: every p is an upper bound at its mean.

    >>> import numpy as np
    >>> both = mix(point(np.asarray([-1.0]), np.asarray([-1.0])), 0.5, point(np.asarray([1.0]), np.asarray([1.0])))
    >>> measure(both, lam=0.1)  # f = |x| at 0: the mean gradient is 0, the spread is 1
    array([0.1])
    """

    y: Vector  # the mean of the points
    g: Vector  # the mean of their gradients
    spread: Array  # the mean squared distance to y, (..., 1)


def point(y: Vector, g: Vector) -> Witness:
    """All mass at ``y``, where the gradient is ``g``.

    Reference: Definition 2 with a point mass, whose measure is the norm of the gradient.

    >>> import numpy as np
    >>> measure(point(np.zeros(2), np.asarray([3.0, 4.0])), lam=1.0)
    array([5.])
    """
    check_vector("y", y)
    check_like("g", g, y)
    return Witness(y, g, zero_scalar(y))


def mix(p: Witness, share: Any, q: Witness) -> Witness:
    r"""The mixture $(1-\theta)p+\theta q$ with $\theta$ = ``share``.

    $$\bar y=\bar y_p+\theta(\bar y_q-\bar y_p),\quad\bar g=\bar g_p+\theta(\bar g_q-\bar g_p),\quad
      v=(1-\theta)v_p+\theta v_q+\theta(1-\theta)\|\bar y_q-\bar y_p\|^2.$$

    Point by point it is the online recursion: for the weights $q_{t,s}=ab^{t-s}/c_t$ of Algorithm 2 the share of the
    newest point is $a/c_t$, for equal weights $1/t$. A share of 1 starts anew.

    Args:
        p: a witness.
        share: a number in [0, 1] or an array of them, (..., 1).
        q: a witness; `point` for one point.

    Reference: Lemma 13 (weighted output-gradient bound), whose weights these are.

    >>> import numpy as np
    >>> at = lambda s: point(np.asarray([s]), np.asarray([1.0]))
    >>> mix(mix(at(0.0), 1 / 2, at(1.0)), 1 / 3, at(2.0)).spread  # 0, 1, 2 with equal weights
    array([0.66666667])
    """
    if isinstance(share, (int, float)) and not 0 <= share <= 1:
        raise ValueError(f"`share` must lie in [0, 1]; got {share}.")
    dy = q.y - p.y
    spread = (1 - share) * p.spread + share * q.spread + share * (1 - share) * inner(dy, dy)
    return Witness(p.y + dy * share, p.g + (q.g - p.g) * share, spread)


def measure(p: Witness, lam: float) -> Array:
    r"""The upper bound $\|\bar g\|+\lambda v\ge\|\nabla f(\bar y)\|^{[\lambda]}$ of a witness, of shape (..., 1).

    Reference: Definition 2.

    >>> import numpy as np
    >>> measure(Witness(np.zeros(1), np.asarray([0.5]), np.asarray([0.25])), lam=2.0)
    array([1.])
    """
    check_number("lam", lam)
    square = inner(p.g, p.g)
    return _xp.namespace(square).sqrt(square) + lam * p.spread
