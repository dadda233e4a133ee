"""The best fixed point in hindsight: a convex program over a set that can project and minimise linear forms."""

import math
from collections.abc import Callable
from typing import NamedTuple

from .. import _xp
from ..oracles.coordinates import dot, scaled, square
from ..sets.base import Coordinates, OperatorSet

STEPS = 300  # of the projected gradient method
TOLERANCE = 1e-10  # where it stops: the gap in units of the first gap
HALVINGS = 50  # of one step
ROUNDING = 1e-14  # what two sums of losses may differ by and count as equal, in units of them
Function = Callable[[Coordinates], tuple[float, Coordinates]]  # the value and a subgradient


class Best(NamedTuple):
    """A point, its value, and how far that is above the minimum at most."""

    u: Coordinates
    value: float
    gap: float


def minimised(S: OperatorSet, function: Function, u: Coordinates) -> Best:
    r"""Nearly minimise a convex function over a set by projected gradient steps with momentum and a line search.

    The gap is proved for every convex function: $F(u)-\min F\le F(u)-\max_j\min_{v\in S}[F(y_j)+\langle g_j,v-y_j
    \rangle]$ over the points $y_j$ that were visited. It tends to 0 if F is smooth.

    Reference: Beck and Teboulle (2009) for the steps; Jaggi (2013) for the gap.

    >>> import numpy as np
    >>> from o2nc.sets import Box
    >>> found = minimised(Box(), lambda u: (float(np.sum((u - 2) ** 2)), 2 * (u - 2)), np.zeros(2))
    >>> found.u, found.value, found.gap
    (array([1., 1.]), 2.0, 0.0)
    """
    (value, g), y, theta, step = function(u), u, 1.0, 1.0
    gap = _linear_gap(S, g, u)
    best, lower, first = Best(u, value, gap), value - gap, gap
    for _ in range(STEPS):
        if best.value - lower <= TOLERANCE * first:
            break
        new, (at_new, g_new), step = _stepped(S, function, y, g, step)
        lower = max(lower, at_new - _linear_gap(S, g_new, new))
        if _xp.number(dot(S, g, new - u)) > 0:  # the momentum leads uphill: start again without it
            theta = 1.0
        if at_new <= best.value + ROUNDING * abs(best.value):
            best = Best(new, min(at_new, best.value), 0.0)
        following = (1 + math.sqrt(1 + 4 * theta**2)) / 2
        y, u = S.project(new + scaled(S, (theta - 1) / following, new - u)), new
        theta, step, (value, g) = following, 2 * step, function(y)
        lower = max(lower, value - _linear_gap(S, g, y))
    return best._replace(gap=max(0.0, best.value - lower))


def _linear_gap(S: OperatorSet, g: Coordinates, u: Coordinates) -> float:
    """By how much the linear function with gradient g falls from u to its least value on the set."""
    return _xp.number(dot(S, g, u - S.minimize(g)))


def _stepped(
    S: OperatorSet, function: Function, y: Coordinates, g: Coordinates, step: float
) -> tuple[Coordinates, tuple[float, Coordinates], float]:
    """The projected gradient step from y, halved until the function is below its quadratic model, or often enough."""
    for _ in range(HALVINGS):
        new = S.project(y - scaled(S, step, g))
        found = function(new)
        way = new - y  # convex: the function rises above its tangent by <g_new - g, way> at most
        if _xp.number(dot(S, found[1] - g, way)) <= _xp.number(square(S, way)) / (2 * step):
            break
        step /= 2
    return new, found, step
