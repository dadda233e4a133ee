"""The tracking rates of the theorems, and how long a step they allow."""

import math
from fractions import Fraction

from ..checks import check_horizon, check_number

ROUNDING = 1e-12  # of a divisor, relative to the smallest one
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
    check_rate(a)
    return (q * a + math.sqrt((q * a) ** 2 + 4 * k)) / 2


def is_too_small(c: float, least: float) -> bool:
    """Whether a divisor is below the smallest one, but for rounding.

    >>> is_too_small(1.5, 1.6), is_too_small(0.1 + 0.2, 0.3)
    (True, False)
    """
    return c < least * (1 - ROUNDING)


def storm_step(beta: float, a: float) -> tuple[float, float]:
    r"""The smallest divisor c that the theorem allows, and the step.

    $$c=\frac{\sqrt a+\sqrt{a+4h}}2\le1.1,\quad h=\frac{2(1-a)^2}{2-a},\qquad\eta=\frac{\sqrt a}{c\beta}.$$

    It is the root of $\frac h{c^2}+\frac{\sqrt a}c=1$.

    Args:
        beta: the constant of mean-square smoothness.
        a: tracking rate, in (0, 1].

    Reference: variance reduction, step 4, in the theory pages.

    >>> c, eta = storm_step(beta=2.0, a=0.16)
    >>> round(c, 6), round(eta, 6)
    (1.098308, 0.182098)
    """
    check_number("beta", beta, positive=True)
    check_rate(a)
    h = 2 * (1 - a) ** 2 / (2 - a)
    c = (math.sqrt(a) + math.sqrt(a + 4 * h)) / 2
    return c, math.sqrt(a) / (c * beta)


def storm_rate(gap: float, beta: float, sigma: float, T: int) -> float:
    r"""The tracking rate that makes the gap and the noise together smallest, but for the factors $c$ and $\frac2{2-a}$.

    $$a=\min\Bigl\{1,\Bigl(\frac{\beta D}{\sigma^2T}\Bigr)^{2/3}\Bigr\}.$$

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: the constant of mean-square smoothness.
        sigma: root of the variance of a sample; 0 gives a = 1.
        T: number of rounds.

    Reference: variance reduction, step 5, in the theory pages.

    >>> round(storm_rate(gap=0.5, beta=2.0, sigma=1.0, T=1000), 12)
    0.01
    """
    _check(gap, beta, sigma, T)
    return min(1.0, (beta * gap / T) ** (2 / 3) / sigma ** (4 / 3)) if sigma else 1.0


def storm_batch(a: float, T: int) -> int:
    r"""How many samples the first tracker needs, for an error that costs no more than the noise of the T rounds.

    $$b=\Bigl\lceil\frac1{2a^2T}\Bigr\rceil,$$

    which is $\lceil\frac12(\sigma^2/\beta D)^{4/3}T^{1/3}\rceil$ at the rate of ``storm_rate``.

    Args:
        a: tracking rate, in (0, 1].
        T: number of rounds.

    Reference: variance reduction, step 5, in the theory pages.

    >>> storm_batch(a=0.01, T=1000)
    5
    """
    check_rate(a)
    check_horizon(T)
    return max(1, math.ceil(1 / (2 * a**2 * T) * (1 - 1e-12)))  # rounding must not ask for one more


def check_rate(a: float) -> None:
    """Raise unless the tracking rate ``a`` lies in (0, 1]; exact fractions pass.

    >>> check_rate(1.5)
    Traceback (most recent call last):
    ValueError: `a` must lie in (0, 1]; got 1.5.
    """
    check_number("a", float(a) if isinstance(a, Fraction) else a, positive=True)
    if a > 1:
        raise ValueError(f"`a` must lie in (0, 1]; got {a}.")


def _rate(factor: float, gap: float, beta: float, sigma: float, T: int) -> float:
    """min{1, sqrt(factor beta D / (sigma^2 T))}."""
    _check(gap, beta, sigma, T)
    return min(1.0, math.sqrt(factor * beta * gap / T) / sigma) if sigma else 1.0


def _check(gap: float, beta: float, sigma: float, T: int) -> None:
    check_number("gap", gap, positive=True)
    check_number("beta", beta, positive=True)
    check_number("sigma", sigma)
    check_horizon(T)
