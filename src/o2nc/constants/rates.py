"""The tracking rates of the sharp theorem, and how short a step it allows."""

import math

from ..checks import check_horizon, check_number

ONE_RUN_STEP = 8.0  # c of `one_run_rate`, chosen with its factor on random objectives of their own


def sharp_rate(gap: float, beta: float, sigma: float, T: int) -> float:
    r"""The tracking rate that makes the bound with $m_1=0$ smallest, but for terms of order 1/T.

    $$a=\min\Bigl\{1,\ 2\sqrt{\frac{\beta D}{\sigma^2T}}\Bigr\}.$$

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: smoothness constant.
        sigma: root of the variance of a sample; 0 gives a = 1.
        T: number of rounds.

    Reference: the sharp theorem, step 5, in the theory pages.

    >>> sharp_rate(gap=0.5, beta=2.0, sigma=1.0, T=400)
    0.1
    """
    return _rate(4.0, gap, beta, sigma, T)


def decreasing_rate(gap: float, beta: float, sigma: float, T: int) -> float:
    r"""The last tracking rate for the weights $\max\{a,\frac2{t+1}\}$.

    $$a=\min\Bigl\{1,\ \sqrt{\frac{2\beta D}{\sigma^2T}}\Bigr\}.$$

    The arguments are those of ``sharp_rate``.

    Reference: the sharp theorem with decreasing weights, in the theory pages.

    >>> decreasing_rate(gap=0.5, beta=2.0, sigma=1.0, T=200)
    0.1
    """
    return _rate(2.0, gap, beta, sigma, T)


def least_squares_rate(gap: float, beta: float, sigma: float, T: int) -> float:
    r"""The tracking rate for online least squares, where the tracking error counts twice.

    $$a=\min\Bigl\{1,\ \sqrt{\frac{(2+\sqrt2)\beta D}{\sigma^2T}}\Bigr\}.$$

    The arguments are those of ``sharp_rate``.

    Reference: the sharp theorem with online least squares, in the theory pages.

    >>> round(least_squares_rate(gap=0.5, beta=2.0, sigma=1.0, T=400), 6)
    0.092388
    """
    return _rate(2 + math.sqrt(2), gap, beta, sigma, T)


def one_run_rate(gap: float, beta: float, sigma: float, T: int) -> tuple[float, float]:
    r"""The tracking rate and the step for which the certificate of one run is small, by rule of thumb.

    $$a=\min\Bigl\{1,\ 8\sqrt{\frac{\beta D}{\sigma^2T}}\Bigr\},\qquad\eta=\frac a{8\beta}.$$

    The step is half as long as that of ``sharp_rate``, and the tracker four times as fast. The factors were chosen on
    random objectives; every a and eta has a certificate. The arguments are those of ``sharp_rate``.

    Reference: a certificate for one run, in the theory pages.

    >>> one_run_rate(gap=0.5, beta=1.0, sigma=1.0, T=20_000)
    (0.04, 0.005)
    """
    a = _rate(ONE_RUN_STEP**2, gap, beta, sigma, T)
    return a, a / (ONE_RUN_STEP * beta)


def smallest_divisor(a: float, k: float = 1.0, q: float = 1.0) -> float:
    r"""The smallest c that the sharp theorem allows, the root of $\frac k{c^2}+q\frac ac=1$.

    $$c=\frac{qa+\sqrt{q^2a^2+4k}}2,\qquad\eta=\frac a{c\beta}.$$

    $k=q=1$ where the sample is taken at $x_t$, and then $c\le1+a$; k doubles where the regret bound contains the
    tracking error; ``sharp_step`` has k and q for other points of the segment.

    Args:
        a: tracking rate, in (0, 1].
        k: factor of $W/c^2$ in the tracking error.
        q: factor of the curvature that smoothness leaves.

    Reference: the sharp theorem, step 4, in the theory pages.

    >>> round(smallest_divisor(1.0), 6), smallest_divisor(1.0, k=2.0)
    (1.618034, 2.0)
    """
    return (q * a + math.sqrt((q * a) ** 2 + 4 * k)) / 2


def _rate(factor: float, gap: float, beta: float, sigma: float, T: int) -> float:
    """min{1, sqrt(factor beta D / (sigma^2 T))}."""
    check_number("gap", gap, positive=True)
    check_number("beta", beta, positive=True)
    check_number("sigma", sigma)
    check_horizon(T)
    return min(1.0, math.sqrt(factor * beta * gap / T) / sigma) if sigma else 1.0
