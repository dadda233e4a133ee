"""Gradient descent whose diagonal step sizes are learned online, with null steps."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..conversions.base import Conversion, as_scalar, check_given, registry
from ..vectors import Vector, apply, check_like, check_vector, inner, where, zero_scalar, zeros_like


class OnlineScaledState(NamedTuple):
    """What is remembered of the point that is kept, and of the learner."""

    k: Array  # samples so far, (..., 1)
    g: Vector  # the gradient at the kept point x_k; 0 before the first sample
    f: Array  # the value there, (..., 1)
    delta: Vector  # from the kept point to the trial point
    P: Vector  # the diagonal of P_k
    V: Vector  # sum of the squared hypergradients, coordinate by coordinate
    h: Array  # sum of the feedback h_k(P_k), (..., 1)
    nulls: Array  # null steps so far, (..., 1)


@dataclass(frozen=True)
class OnlineScaled(Conversion):
    r"""OSGM: try $x_k-P_kg_k$, $g_k=\nabla f(x_k)$, keep the better point, and learn the diagonal P by AdaGrad.

    $$h_k(P)=\frac{f(x_k-Pg_k)-f(x_k)}{\|g_k\|^2},\qquad
      \nabla h_k(P_k)=-\frac{\nabla f(x_k-P_kg_k)\circ g_k}{\|g_k\|^2},\qquad
      P_{k+1}=\Pi_{[0,high]}\Bigl(P_k-\alpha\frac{\nabla h_k}{\sqrt{\sum_j(\nabla h_j)^2}}\Bigr).$$

    That is OSGM-H. With ``f_star`` it is OSGM-R: $f(x_k)-f^*$ takes the place of $\|g_k\|^2$.

    It needs exact gradients and the value of f at the point of each: `update` must be given ``value``. The points that
    are moved are the trial points, so a step takes one gradient, also if it is a null step, which returns to $x_k$.

    If f is convex, so is every $h_k$, and AdaGrad has against every P of the box
    $\sum_{k\le K}[h_k(P_k)-h_k(P)]\le(\frac{high^2}{2\alpha}+\alpha)\sum_i\sqrt{\sum_k(\nabla h_k)_i^2}$; smoothness
    gives $h_k(I/\beta)\le-\frac1{2\beta}$. If f is $\mu$-strongly convex, null steps give
    $f(x_{K+1})-f^*\le(f(x_1)-f^*)(1-2\mu\max\{0,-\frac1K\sum_kh_k(P_k)\})^K$, since
    $\|g_k\|^2\ge2\mu(f(x_k)-f^*)$. So it is asymptotically no slower than descent with the best fixed P of the box.

    Args:
        alpha: the factor of AdaGrad's steps, a length of the scale of $1/\beta$.
        P1: the first step size of all coordinates.
        high: the largest step size; infinite for none.
        f_star: the least value of f, for OSGM-R; None for OSGM-H.

    Reference: Gao, Chu, Ye and Udell, Gradient methods with online scaling (2025), the monotone variant, with AdaGrad
    as in its experiments.

    >>> import numpy as np
    >>> conversion = OnlineScaled(alpha=0.25, P1=0.5)
    >>> x = np.asarray([1.0])
    >>> state = conversion.init(x)
    >>> for _ in range(2):  # f(x) = 2 x^2: from 1 to -1, which is no better, so back, and with half the step to 0
    ...     dx, state = conversion.update(4 * x, state, value=2 * x**2)
    ...     x = x + dx
    ...     print(x, state.P, state.nulls)
    [-1.] [0.5] [0.]
    [0.] [0.25] [1.]
    """

    alpha: float
    P1: float = 0.0
    high: float = math.inf
    f_star: float | None = None

    def __post_init__(self) -> None:
        check_scaled("OnlineScaled", self.alpha, self.P1, self.high)
        if self.f_star is not None and not (isinstance(self.f_star, (int, float)) and math.isfinite(self.f_star)):
            raise ValueError(f"`OnlineScaled(f_star=...)` must be None or a finite number; got {self.f_star!r}.")

    @property
    def needs(self) -> frozenset[str]:
        """The value of f."""
        return frozenset({"value"})

    def init(self, x: Vector, *, tau: Any = None) -> OnlineScaledState:
        """The first trial point is x itself."""
        check_vector("x", x)
        zero, zeros = zero_scalar(x), zeros_like(x)
        return OnlineScaledState(
            k=zero, g=zeros, f=zero, delta=zeros, P=apply(lambda u: u + self.P1, zeros), V=zeros, h=zero, nulls=zero
        )

    def update(
        self, s: Vector, state: OnlineScaledState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, OnlineScaledState]:
        """Judge the trial point by its gradient ``s`` and its ``value``, keep the better one, go to the next."""
        check_like("s", s, state.g)
        check_given(self, value=value)
        value = as_scalar(value, zero_scalar(s))
        unit = _xp.inverse(inner(state.g, state.g) if self.f_star is None else state.f - self.f_star)
        P, V = descend(state.P, state.V, products(s, state.g) * -unit, self.alpha, self.high)
        better = (value < state.f) | (state.k == 0)
        g = where(better, s, state.g)
        delta = -products(P, g)
        return delta - where(better, zeros_like(s), state.delta), OnlineScaledState(
            k=state.k + 1,
            g=g,
            f=where(better, value, state.f),
            delta=delta,
            P=P,
            V=V,
            h=state.h + unit * where(state.k > 0, value - state.f, zero_scalar(s)),
            nulls=state.nulls + _xp.indicator(~better, state.nulls),
        )


def products(u: Vector, v: Vector) -> Vector:
    """u v, coordinate by coordinate."""
    return apply(lambda a, b: a * b, u, v)


def descend(u: Vector, V: Vector, gradient: Vector, alpha: float, high: float) -> tuple[Vector, Vector]:
    """A step of AdaGrad on [0, high], and the new sum of squares; a coordinate that has seen no gradient stays."""
    V = V + products(gradient, gradient)

    def step(a: Array, b: Array, c: Array) -> Array:
        xp = _xp.namespace(a)
        return xp.clip(a - alpha * b * _xp.inverse(xp.sqrt(c)), min=0.0, max=high)

    return apply(step, u, gradient, V), V


def check_scaled(name: str, alpha: float, P1: float, high: float) -> None:
    """Raise unless the rate is positive and the first step size in [0, high]."""
    check_number(f"{name}(alpha=...)", alpha, positive=True)
    check_number(f"{name}(P1=...)", P1)
    if not (isinstance(high, (int, float)) and high >= P1 and high > 0):
        raise ValueError(f"`{name}(high=...)` must be positive and at least P1 = {P1}; got {high!r}.")


registry.add("osgm", lambda oracle: OnlineScaled(alpha=0.1, P1=0.1), "online scaled gradients; needs values")
