"""Three lemmas behind Theorem 2 with the constants that their proofs could have kept."""

import math

from ...checks import check_horizon
from ...constants.rates import check_rate
from ..arguments import check_size, check_sizes
from .nonsmooth import identity_correlation

LEAK = math.sqrt((5 * math.sqrt(5) - 11) / 2)  # the largest u - u^2 / sqrt(1 + u^2), about 0.3003


def smoothing_sharp(a: float, rho: float, L: float, sigma: float) -> float:
    r"""What the smoothed norm and the squares of the samples cost together in the bound on the tracker's norm.

    $$\rho\,\min\Bigl\{k+q,\ \theta\Bigl(\frac{2Q}{1+\theta^2}-1\Bigr)\Bigr\},\qquad
      q=\frac{a(L^2+\sigma^2)}{(2-a)\rho^2},\quad Q=1+\frac q{1-a},\quad\theta^2=\sqrt{Q^2+4Q}-1-Q,\quad
      k=\sqrt{\tfrac{5\sqrt5-11}2}=0.3003.$$

    The second is the largest $u-\frac{u^2}{\sqrt{1+u^2}}+\frac{Q-1}{\sqrt{1+u^2}}$, and the smaller one for small a.

    Reference: Theorem 2, step 11, in the theory pages.

    >>> round(smoothing_sharp(a=0.01, rho=1.0, L=8.0, sigma=6.0), 4)
    0.7305
    >>> round(smoothing_sharp(a=0.5, rho=1.0, L=1.0, sigma=1.0), 4)
    0.9669
    """
    check_rate(a)
    check_size("rho", rho, positive=True)
    check_sizes(L=L, sigma=sigma)
    q = a * (L**2 + sigma**2) / ((2 - a) * rho**2)
    if a == 1:
        return rho * (LEAK + q)
    Q = 1 + q / (1 - a)
    square = (2 * Q - 1) / (math.sqrt(Q**2 + 4 * Q) + 1 + Q)  # theta^2, without a difference
    return rho * min(LEAK + q, math.sqrt(square) * (2 * Q / (1 + square) - 1))


def tracker_norm_sharp(
    D: float, eta: float, regret: float, rho: float, a: float, L: float, sigma: float, T: int
) -> float:
    r"""The bound on the average norm of the tracker of Algorithm 2, from the potential without loss.

    $$\frac1T\sum_{t=1}^T\mathbb E\|m_t\|\le\frac2{2-a}\Bigl[\frac D{\eta T}+\frac RT\Bigr]+0.3003\,\rho
      +\frac{a(L^2+\sigma^2)}{(2-a)\rho}.$$

    For small a the last two terms together are less, those of ``smoothing_sharp``.

    Reference: Lemma 11 (static regret controls the predictable tracker), sharpened in the theory pages.

    >>> round(tracker_norm_sharp(D=2.0, eta=0.5, regret=1.0, rho=1.0, a=0.5, L=1.0, sigma=1.0, T=10), 4)
    1.6336
    """
    check_horizon(T)
    return 2 * identity_correlation(D, eta, regret) / T / (2 - a) + smoothing_sharp(a, rho, L, sigma)


def localization_sharp(a: float, eta: float) -> float:
    r"""The bound on the spread of the output's witness distribution, from the variance of a geometric law.

    $$\mathbb E\sum_{s=1}^\tau q_{\tau,s}\|y_s-\bar y_\tau\|^2\le\Bigl(\frac1{12}+\frac{1-a}{a^2}\Bigr)\eta^2.$$

    Reference: Lemma 14 (localization of the single-run output), sharpened in the theory pages.

    >>> round(localization_sharp(a=0.5, eta=0.5), 4)
    0.5208
    """
    check_rate(a)
    check_size("eta", eta)
    return eta**2 / 12 + (1 - a) / a**2 * eta**2
