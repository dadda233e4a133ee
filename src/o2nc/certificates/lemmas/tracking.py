"""The tracking error with the constants that the proof could have kept, also for samples on the segment."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

from ...constants.rates import check_rate
from ..arguments import check_size, check_sizes

GRID = tuple(2.0**k for k in range(-12, 5))  # the weights of Young's inequality, in units of a, fixed beforehand


def tracker_error_at(l: float, a: float, first: float, W: float, V_T: float, c: float = 64) -> float:
    r"""The bound on the tracking error for one weight l of Young's inequality.

    $$E_{tr}\le\frac{\mathbb E\|g_1\|^2+(1+\frac1l)\frac{a^2}{c^2}W+a^2V_T}{1-(1+l)(1-a)^2},\qquad
      W=\sum_t\mathbb E\|U_tm_t\|^2.$$

    Proof. Let $e_t=m_t-g_t$, $\Delta_t=g_{t+1}-g_t$, $\xi_t=s_t-g_t$. Before projection the tracker differs from
    $g_{t+1}$ by $(1-a)e_t-\Delta_t+a\xi_t$. As $g_{t+1}$ lies in the ball, the projection only shortens that (Lemma 2),
    active or not. $x_{t+1}$ is known before $s_t$ is drawn, so the noise is orthogonal to the rest:
    $\mathbb E\|e_{t+1}\|^2\le\mathbb E\|(1-a)e_t-\Delta_t\|^2+a^2\mathbb E\|\xi_t\|^2$. By Young's inequality and
    $\|\Delta_t\|\le\beta\eta\|U_tm_t\|=\frac ac\|U_tm_t\|$ the first term on the right is at most
    $(1+l)(1-a)^2\mathbb E\|e_t\|^2+(1+\frac1l)\frac{a^2}{c^2}\mathbb E\|U_tm_t\|^2$. Sum over t = 1 .. T-1, add
    $\mathbb E\|e_1\|^2=\mathbb E\|g_1\|^2$ (for $m_1=0$) and solve for $E_{tr}$, the sum over 1 .. T.
    The last round of W and of $V_T$ is not needed; counting it does no harm.

    Args:
        l: any positive number for which the denominator is positive.
        a: tracking rate.
        first: the expected squared norm of the first gradient.
        W: the sum of the expected squared norms of U_t m_t.
        V_T: the sum of the variances of the samples.
        c: divisor of the step $\eta=a/(c\beta)$; the paper's is 64.

    Reference: Lemma 6 (tracker error), whose proof has l = a/2 and rounds up.

    >>> tracker_error_at(l=1.0, a=0.5, first=1.0, W=0.0, V_T=4.0)
    4.0
    """
    check_size("l", l, positive=True)
    check_rate(a)
    check_sizes(first=first, W=W, V_T=V_T)
    check_size("c", c, positive=True)
    rest = 1 - (1 + l) * (1 - a) ** 2
    if rest <= 0:
        raise ValueError(f"`l` must be less than 1/(1 - a)^2 - 1 for a = {a}; got {l}.")
    return (first + (1 + 1 / l) * a**2 * W / c**2 + a**2 * V_T) / rest


def tracker_error_best(a: float, first: float, W: float, V_T: float, c: float = 64) -> float:
    r"""The smallest of these bounds over all weights l, in closed form.

    $$E_{tr}\le\frac{(\sqrt{A+B}+\sqrt B)^2}{a(2-a)},\qquad A=\mathbb E\|g_1\|^2+\frac{a^2W}{c^2}+a^2V_T,\quad
      B=\frac{(1-a)^2}{a(2-a)}\frac{a^2W}{c^2}.$$

    Proof. Write $l=\theta\,a(2-a)/(1-a)^2$ with $0<\theta<1$: the bound is $(A+B/\theta)/((1-\theta)\,a(2-a))$, and
    $\frac{A+B/\theta}{1-\theta}=\frac{A+B}{1-\theta}+\frac B\theta$ is smallest where
    $\theta:(1-\theta)=\sqrt B:\sqrt{A+B}$. It grows with W and is concave in it.

    Reference: Lemma 6 (tracker error), sharpened.

    >>> tracker_error_best(a=0.5, first=1.0, W=0.0, V_T=4.0) <= tracker_error_at(0.01, 0.5, 1.0, 0.0, 4.0)
    True
    """
    return sum(tracker_error_parts(a, first, W, V_T, c).values())


def tracker_error_parts(a: float, first: float, W: float, V_T: float, c: float = 64) -> dict[str, float]:
    r"""``tracker_error_best`` by cause: the start, the drift of the gradient and the noise.

    Reference: Lemma 6 (tracker error), sharpened.

    >>> tracker_error_parts(a=1.0, first=1.0, W=4096.0, V_T=4.0)
    {'start': 1.0, 'drift': 1.0, 'noise': 4.0}
    """
    check_rate(a)
    check_sizes(first=first, W=W, V_T=V_T)
    check_size("c", c, positive=True)
    contraction = a * (2 - a)
    drift = a**2 * W / c**2
    B = (1 - a) ** 2 / contraction * drift
    root, other = math.sqrt(B), math.sqrt(first + drift + a**2 * V_T + B)
    growth = (1 + root / other if other else 1.0) / contraction  # 1 / ((1 - theta) a (2 - a))
    return {
        "start": growth * first,
        "drift": growth * (drift + root * (root + other)),
        "noise": growth * a**2 * V_T,
    }


def segment_moments(r: float | None) -> tuple[Any, Any, Any]:
    r"""$E[r^2]$, $E[(1-r)^2]$ and the factor q of $\frac{\beta\eta^2}2\|U_tm_t\|^2$ that smoothness leaves.

    For a fixed r, $f(x_{t+1})-f(x_t)\le\langle\nabla f(y_t),\delta_t\rangle+\frac\beta2q\|\delta_t\|^2$ with
    $q=(1-r)^2+r^2$; for a uniform r (``None``) it is an identity in expectation with q = 0.

    Reference: Lemma 9 (segment) for the uniform r.

    >>> segment_moments(1.0)
    (1.0, 0.0, 1.0)
    """
    if r is None:
        return Fraction(1, 3), Fraction(1, 3), 0
    check_size("r", r)
    if r > 1:
        raise ValueError(f"`r` must be None or lie in [0, 1]; got {r}.")
    return r**2, (1 - r) ** 2, (1 - r) ** 2 + r**2


def segment_tracker_error(r: float | None, a: float, first: float, W: float, V_T: float, c: float = 64) -> float:
    r"""The tracking error $E_{tr}=\sum_tE\|m_t-\nabla f(y_t)\|^2$ for a sample at $y_t=x_t+r_t\delta_t$.

    $$E_{tr}\le\min_{l,n}\frac{(1+l)(E\|g_1\|^2+a^2V_T)
      +[(1+l)(1+\frac1n)E(1-r)^2+(1+\frac1l)E[r^2]]\frac{a^2}{c^2}W}{1-(1+l)(1+n)(1-a)^2},$$

    over a grid of l and n fixed beforehand (l = 0 for r = 0, n = 0 for r = 1). Proof: let $h_t=\nabla f(x_t)$,
    $g_t=\nabla f(y_t)$, $\hat e_t=m_t-h_t$, $e_t=m_t-g_t$. (1) $e_t=\hat e_t-(g_t-h_t)$ and
    $\|g_t-h_t\|\le r_t\frac ac\|U_tm_t\|$, so
    $E\|e_t\|^2\le(1+l)E\|\hat e_t\|^2+(1+\frac1l)E[r^2]\frac{a^2}{c^2}E\|U_tm_t\|^2$. (2) Before projection the next
    tracker differs from $h_{t+1}$ by $(1-a)e_t-(h_{t+1}-g_t)+a\xi_t$, the noise is orthogonal to the rest since
    $x_{t+1}$ and $y_t$ are fixed before it, and $\|h_{t+1}-g_t\|\le(1-r_t)\frac ac\|U_tm_t\|$. Sum both over t.

    For c = 64 and l = n = a/4 the denominator is at least a, and with $W\le\sum E\|m_t\|^2\le2S+2E_{tr}$,
    $E\|g_1\|^2\le2G^2$ and $\frac54E(1-r)^2+E[r^2]\le\frac54$ it becomes
    $E_{tr}\le(20480G^2/a+10240aV_T+25S)/8167$ for every law of r.

    Args:
        r: the place of the sample; None for uniform.
        a: tracking rate.
        first: the expected squared norm of the first gradient.
        W: the sum of the expected squared norms of U_t m_t.
        V_T: the sum of the variances of the samples.
        c: divisor of the step $\eta=a/(c\beta)$; the paper's is 64.

    Reference: Lemma 6 (tracker error), for other points of the segment.

    >>> round(segment_tracker_error(1.0, a=1.0, first=1.0, W=0.0, V_T=4.0), 3)
    5.001
    """
    check_rate(a)
    check_sizes(first=first, W=W, V_T=V_T)
    check_size("c", c, positive=True)
    square, complement, _ = (float(moment) for moment in segment_moments(r))
    ls, ns = ([a * unit for unit in GRID] if moment else [0.0] for moment in (square, complement))
    drift = a**2 / c**2 * W

    def bound(l: float, n: float) -> float:
        rest = 1 - (1 + l) * (1 + n) * (1 - a) ** 2
        if rest <= 0:
            return float("inf")
        moved = (1 + l) * (1 + 1 / n) * complement if complement else 0.0
        moved += (1 + 1 / l) * square if square else 0.0
        return ((1 + l) * (first + a**2 * V_T) + moved * drift) / rest

    return min(bound(l, n) for l, n in product(ls, ns))
