"""The lemmas behind the sharp theorem: the tracking error by convexity, the alignment by smoothness and regret."""

from fractions import Fraction
from typing import Any

from ...constants.rates import check_rate
from ..arguments import check_finite, check_size, check_sizes
from .tracking import segment_moments


def tracker_error_convex(a: float, c: float, first: float, W: float, V_T: float) -> float:
    r"""The tracking error for the step $\eta=a/(c\beta)$, by convexity of the square.

    $$E_{tr}\le\frac{\mathbb E\|e_1\|^2}a+\frac W{c^2}+aV_T,\qquad W=\sum_t\mathbb E\|U_tm_t\|^2.$$

    Args:
        a: tracking rate.
        c: the divisor of the step.
        first: the expected square of the first error, of m_1 - g_1.
        W: the sum of the expected squared norms of U_t m_t.
        V_T: the sum of the variances of the samples.

    Reference: step 2 of the sharp theorem, in the theory pages.

    >>> tracker_error_convex(a=0.5, c=2.0, first=1.0, W=4.0, V_T=4.0)
    5.0
    """
    check_rate(a)
    check_size("c", c, positive=True)
    check_sizes(first=first, W=W, V_T=V_T)
    return first / a + W / c**2 + a * V_T


def sharp_alignment(
    beta: float, a: float, c: float, *, gap: float, regret: float, N: float, W: float, kappa: float = 0, q: float = 1
) -> float:
    r"""The alignment of the tracker with the gradients, twice, from smoothness and regret.

    $$2Q\le\frac{2c\beta D}a+2GR+\kappa\frac acN+(q-\kappa)\frac acW,\qquad Q=\sum_t\mathbb E\langle s_t,m_t\rangle.$$

    Args:
        beta: smoothness constant.
        a: tracking rate.
        c: the divisor of the step.
        gap: D, the first value of f less its infimum.
        regret: GR, the expected static regret against the identity on the losses times G.
        N: the sum of the expected squared norms of m_t.
        W: the sum of the expected squared norms of U_t m_t.
        kappa: weight of the quadratic term of the loss; c / a is the prediction loss.
        q: what smoothness leaves, 1 for a sample at x_t; the third of ``segment_moments`` elsewhere.

    Reference: step 3 of the sharp theorem, in the theory pages.

    >>> sharp_alignment(1.0, 0.5, 2.0, gap=1.0, regret=0.0, N=8.0, W=4.0, kappa=2.0)
    11.0
    """
    check_rate(a)
    check_size("c", c, positive=True)
    check_sizes(beta=beta, gap=gap, N=N, W=W, kappa=kappa, q=q)
    check_finite("regret", regret)
    return 2 * c * beta * gap / a + 2 * regret + kappa * a / c * N + (q - kappa) * a / c * W


def segment_growth(r: float | None, a: float) -> tuple[Any, Any]:
    r"""How a sample at $y_t=x_t+r_t\delta_t$ multiplies the tracking error: the first and last terms, and that of W.

    $$E_{tr}\le p\Bigl(\frac{\mathbb E\|m_1-\nabla f(x_1)\|^2}a+aV_T\Bigr)+k\frac W{c^2},\qquad
      p=k=1+ra,\quad\text{and}\quad p=1+a,\ k=(1+a)^2\ \text{for uniform }r.$$

    Args:
        r: the place of the sample; None for uniform.
        a: tracking rate.

    Reference: the sharp theorem on the segment, in the theory pages.

    >>> segment_growth(0.0, 0.5), segment_growth(1.0, 0.5), segment_growth(None, 0.5)
    ((1.0, 1.0), (1.5, 1.5), (1.5, 2.25))
    """
    check_rate(a)
    segment_moments(r)  # raises unless r is None or a place on the segment
    return (1 + a, (1 + a) ** 2) if r is None else (1 + r * a, 1 + r * a)


def decreasing_weight(a: float, t: int) -> float:
    r"""The weight of the sample of round t that forgets $m_1=0$ at once: $a_t=\max\{a,\frac2{t+1}\}$.

    Reference: the sharp theorem with decreasing weights, in the theory pages.

    >>> [decreasing_weight(0.25, t) for t in (1, 3, 7, 8)]
    [1.0, 0.5, 0.25, 0.25]
    """
    check_rate(a)
    return max(a, (Fraction(2) if isinstance(a, Fraction) else 2.0) / (t + 1))
