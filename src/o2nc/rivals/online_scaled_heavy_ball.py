"""Gradient descent whose step sizes and momentum are learned online, with null steps."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..conversions.base import Conversion, as_scalar, check_given, registry
from ..vectors import Vector, apply, check_like, check_vector, inner, where, zero_scalar, zeros_like
from .online_scaled import check_scaled, descend, products

MOST = 0.9995  # the largest momentum, that of the authors


class OnlineScaledHeavyBallState(NamedTuple):
    """What is remembered of the point that is kept, and of the two learners."""

    k: Array  # samples so far, (..., 1)
    g: Vector  # the gradient at the kept point x_k; 0 before the first sample
    f: Array  # the value there, (..., 1)
    w: Vector  # x_k - x_{k-1}; 0 after a null step
    delta: Vector  # from the kept point to the trial point
    P: Vector  # the diagonal of P_k
    V: Vector  # sum of the squared hypergradients in P, coordinate by coordinate
    b: Array  # the momentum b_k, (..., 1)
    v: Array  # sum of the squared hypergradients in b, (..., 1)
    nulls: Array  # null steps so far, (..., 1)


@dataclass(frozen=True)
class OnlineScaledHeavyBall(Conversion):
    r"""OSGM-Best: like `OnlineScaled`, and the trial point is $x_k-P_kg_k+b_kw_k$ with $w_k=x_k-x_{k-1}$.

    $$D_k=\|g_k\|^2+\tfrac\tau2\|w_k\|^2,\qquad\nabla_P=-\frac{s\circ g_k}{D_k},\qquad
      \nabla_b=\frac{\langle s,w_k\rangle}{D_k},\qquad s=\nabla f(x_k-P_kg_k+b_kw_k),$$

    and a step of AdaGrad for each, on $[0,high]$ and on $[0,0.9995]$. The authors' program also decays $\alpha$ and
    restarts AdaGrad with an estimate of the curvature. That is not done here.

    Args:
        alpha: the factor of AdaGrad's steps for P, a length of the scale of $1/\beta$.
        gamma: the factor of AdaGrad's steps for b.
        P1: the first step size of all coordinates.
        b1: the first momentum, at least 0 and less than 1.
        weight: $\tau$, the weight of the momentum in D, of the scale of $\beta^2$; the authors' program starts with 0.
        high: the largest step size; infinite for none.

    Reference: Chu, Gao, Ye and Udell, Provable and practical online learning rate adaptation with hypergradient descent
    (2025), and Gradient methods with online scaling, part II (2025).

    >>> import numpy as np
    >>> conversion = OnlineScaledHeavyBall(alpha=0.1)
    >>> x = np.asarray([1.0])
    >>> state = conversion.init(x)
    >>> for _ in range(20):
    ...     dx, state = conversion.update(4 * x, state, value=2 * x**2)
    ...     x = x + dx
    >>> bool(state.f[0] < 1e-3)
    True
    """

    alpha: float
    gamma: float = 1.0
    P1: float = 0.0
    b1: float = 0.95
    weight: float = 0.0
    high: float = math.inf

    def __post_init__(self) -> None:
        check_scaled("OnlineScaledHeavyBall", self.alpha, self.P1, self.high)
        check_number("OnlineScaledHeavyBall(gamma=...)", self.gamma, positive=True)
        check_share("OnlineScaledHeavyBall(b1=...)", self.b1)
        check_number("OnlineScaledHeavyBall(weight=...)", self.weight)

    @property
    def needs(self) -> frozenset[str]:
        """The value of f."""
        return frozenset({"value"})

    def init(self, x: Vector, *, tau: Any = None) -> OnlineScaledHeavyBallState:
        """The first trial point is x itself."""
        check_vector("x", x)
        zero, zeros = zero_scalar(x), zeros_like(x)
        return OnlineScaledHeavyBallState(
            k=zero, g=zeros, f=zero, w=zeros, delta=zeros, P=apply(lambda u: u + self.P1, zeros), V=zeros,
            b=zero + self.b1, v=zero, nulls=zero,
        )  # fmt: skip

    def update(
        self, s: Vector, state: OnlineScaledHeavyBallState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, OnlineScaledHeavyBallState]:
        """Judge the trial point by its gradient ``s`` and its ``value``, keep the better one, go to the next."""
        check_like("s", s, state.g)
        check_given(self, value=value)
        value = as_scalar(value, zero_scalar(s))
        unit = _xp.inverse(inner(state.g, state.g) + 0.5 * self.weight * inner(state.w, state.w))
        P, V = descend(state.P, state.V, products(s, state.g) * -unit, self.alpha, self.high)
        b, v = descend(state.b, state.v, inner(s, state.w) * unit, self.gamma, MOST)
        better, zeros = (value < state.f) | (state.k == 0), zeros_like(s)
        g, w = where(better, s, state.g), where(better, state.delta, zeros)
        delta = w * b - products(P, g)
        return delta - where(better, zeros, state.delta), OnlineScaledHeavyBallState(
            k=state.k + 1,
            g=g,
            f=where(better, value, state.f),
            w=w,
            delta=delta,
            P=P,
            V=V,
            b=b,
            v=v,
            nulls=state.nulls + _xp.indicator(~better, state.nulls),
        )


registry.add("osgm-best", lambda _: OnlineScaledHeavyBall(alpha=0.1, P1=0.1, weight=1.0), "OSGM with momentum")
