"""A lower bound on the measure in one or two dimensions, by weak duality on a grid of boxes."""

import math
from collections.abc import Callable
from typing import Any

from ..checks import check_number

Enclosure = Callable[[Any, Any], tuple[Any, Any]]


def lower_bound(y: Any, u: Any, v: Any, enclosure: Enclosure, L: float, lam: float, cells: int = 256) -> float:
    r"""A lower bound on $\|\nabla f(y)\|^{[\lambda]}$ for d = 1 or 2, from any direction u and multiplier v.

    For $\|u\|\le1$ and every distribution p of mean y, $\|E\nabla f\|+\lambda E\|w-y\|^2\ge E\,\phi(w)$ with

    $$\phi(w)=\langle u,\nabla f(w)\rangle+\lambda\|w-y\|^2+\langle v,w-y\rangle,\qquad\text{so}\qquad
      \|\nabla f(y)\|^{[\lambda]}\ge\inf_w\phi(w).$$

    Beyond the radius $\sqrt{2L/\lambda}$ of y (larger where v is not 0) $\phi$ is above its value at y; inside, boxes
    cover the ball and ``enclosure`` bounds the gradient on each, kinks included. So the number is a bound whatever u
    and v are and however coarse the grid is; good ones are the dual variables of `best_mixture` for atoms on a grid.

    Args:
        y: the point, (d,).
        u: a direction; it is shortened to norm 1 where longer.
        v: a multiplier.
        enclosure: from boxes ``low``, ``high`` of shape (n, d) to bounds of the gradient on them, by coordinate.
        L: a bound on the norm of the gradient.
        lam: the weight of the spread.
        cells: boxes in each direction.

    Returns:
        The bound; 0 where u and v give less, since u = v = 0 gives that.

    Reference: Definition 2 and weak duality.

    >>> import numpy as np
    >>> steps = lambda low, high: (np.where(low > 0, 1.0, -1.0), np.where(high >= 0, 1.0, -1.0))  # f = |x|
    >>> y = np.asarray([1.0])  # half of the mass just below 0 and half at 2 has the measure lam, and nothing is better
    >>> round(lower_bound(y, u=[0.5], v=[-0.5], enclosure=steps, L=1.0, lam=0.25, cells=4096), 2)
    0.25
    """
    import numpy as np

    y, u, v = (np.asarray(array, dtype=np.float64) for array in (y, u, v))
    check_number("L", L, positive=True)
    check_number("lam", lam, positive=True)
    d = y.shape[0]
    if y.ndim != 1 or d > 2:
        raise ValueError(f"`y` must have one or two coordinates for a lower bound; got shape {y.shape}.")
    if cells < 1:
        raise ValueError(f"`cells` must be at least 1; got {cells}.")
    u = u / max(1.0, float(np.linalg.norm(u)))
    slope = float(np.linalg.norm(v))
    # beyond r, -L + lam r^2 - |v| r > L, and phi(y) <= L
    radius = (slope + math.sqrt(slope**2 + 8 * lam * L)) / (2 * lam)
    edges = np.linspace(-radius, radius, cells + 1)
    corners = np.meshgrid(*[np.arange(cells)] * d, indexing="ij")
    index = np.stack([corner.ravel() for corner in corners], axis=1)
    low, high = edges[index], edges[index + 1]
    g_low, g_high = enclosure(y + low, y + high)
    inner = np.where(u >= 0, u * g_low, u * g_high).sum(axis=1)
    nearest = np.clip(-v / (2 * lam), low, high)  # of lam w^2 + v w on each box
    return max(0.0, float((inner + (lam * nearest**2 + v * nearest).sum(axis=1)).min()))
