"""The sharp theorem: Theorem 1 from an identity, with readable constants and the first gap in place of the range."""

import math
from typing import Unpack

from ..checks import check_horizon
from ..constants.rates import decreasing_rate, is_too_small, least_squares_rate, sharp_rate, smallest_divisor
from .arguments import check_finite, check_size, check_sizes
from .certificate import Certificate, Details, averaged
from .lemmas.sharp import segment_growth
from .lemmas.tracking import segment_moments


def sharp_step(beta: float, a: float, *, r: float | None = 0.0, tracked: float = 1.0) -> tuple[float, float]:
    r"""The smallest divisor c that the sharp theorem allows, and the step.

    $$c=\frac{a+\sqrt{a^2+4}}2\le1+a,\qquad\eta=\frac a{c\beta}.$$

    It is the root of $\frac k{c^2}+q\frac ac=1$ with $k=q=1$. A sample elsewhere on the segment has the q of
    ``segment_moments`` and the k of ``segment_growth``; a regret bound that contains the tracking error doubles k.

    Args:
        beta: smoothness constant.
        a: tracking rate, in (0, 1].
        r: the place of the sample; None for uniform.
        tracked: how often the tracking error enters; 2 for online least squares.

    Reference: the sharp theorem, step 4, in the theory pages.

    >>> c, eta = sharp_step(beta=2.0, a=1.0)
    >>> round(c, 6), round(eta, 6)
    (1.618034, 0.309017)
    """
    check_size("beta", beta, positive=True)
    check_size("tracked", tracked, positive=True)
    c = smallest_divisor(a, tracked * float(segment_growth(r, a)[1]), float(segment_moments(r)[2]))
    return c, a / (c * beta)


def theorem_sharp(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float | None = None,
    c: float | None = None,
    first: float | None = None,
    V_T: float | None = None,
    r: float | None = 0.0,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on the average squared gradient for the step $\eta=a/(c\beta)$ of ``sharp_step``.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1T\Bigl[\frac{\mathbb E\|e_1\|^2}a+\frac{2c\beta D}a
      +aV_T+2GR\Bigr].$$

    It holds for contractions with the linear loss and with the descent loss for $\kappa\le c/a$, and for every
    operator with the prediction loss, $\kappa=c/a$. With $m_1=0$ and the default a it is at most
    $4\sigma\sqrt{\beta D/T}+6\beta D/T+2GR/T$.

    Args:
        gap: D, the first value of f less its infimum, or a bound on it such as the range M.
        beta: smoothness constant.
        sigma: root of the variance of a sample.
        T: number of rounds.
        regret: GR, the expected static regret against the identity on the losses times G; G is 1 if they are not
            scaled.
        a: tracking rate; that of ``sharp_rate`` by default.
        c: divisor of the step, at least that of ``sharp_step``, which is the default.
        first: the expected square of the first error, of m_1 minus the first gradient; by default 2 beta D, which is
            enough for m_1 = 0.
        V_T: the sum of the variances of the samples, at most sigma^2 T, which is the default.
        r: the place of the sample; the average is over the points where the samples are taken; None for uniform.
        details: ``label`` ("a-priori" if all numbers were known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: the sharp theorem, in the theory pages.

    >>> print(theorem_sharp(gap=0.5, beta=2.0, sigma=1.0, T=10_000, regret=0.0, label="a-priori"))
    Sharp theorem: average squared gradient (a-priori)
      start   0.01
      gap     0.0101005
      noise   0.02
      regret  0
      bound   0.0401005
    """
    check_finite("regret", regret)
    a = sharp_rate(gap, beta, sigma, T) if a is None else a
    first, V_T = defaults(gap, beta, sigma, T, first, V_T)
    c = divisor(c, a, sharp_step(beta, a, r=r)[0])
    growth = segment_growth(r, a)[0]
    sums = {
        "start": growth * first / a,
        "gap": 2 * c * beta * gap / a,
        "noise": growth * a * V_T,
        "regret": 2 * regret,
    }
    return averaged("Sharp theorem: average squared gradient", sums, T, details)


def theorem_sharp_decreasing(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float | None = None,
    first: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The same for a tracker with the weights $a_t=\max\{a,\frac2{t+1}\}$ from $m_1=0$, the step $a/(c\beta)$ fixed.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1T\Bigl[\mathbb E\|g_1\|^2+\frac{2c\beta D}a+a\sigma^2T
      +4\sigma^2\log\frac2a+2GR\Bigr].$$

    With the default a it is at most
    $2\sqrt2\,\sigma\sqrt{\beta D/T}+\frac{6\beta D}T+\frac{4\sigma^2}T\log\frac2a+\frac{2GR}T$; the first factor is
    that of SGD's textbook bound. The arguments are those of ``theorem_sharp``; ``a`` is by default that of
    ``decreasing_rate``, and the sample is taken at x_t.

    Reference: the sharp theorem with decreasing weights, in the theory pages.

    >>> print(theorem_sharp_decreasing(gap=0.5, beta=2.0, sigma=1.0, T=20_000, regret=0.0, label="a-priori"))
    Sharp theorem, decreasing weights: average squared gradient (a-priori)
      start   0.0001
      gap     0.0100501
      noise   0.0110597
      regret  0
      bound   0.0212098
    """
    check_finite("regret", regret)
    a = decreasing_rate(gap, beta, sigma, T) if a is None else a
    first, V_T = defaults(gap, beta, sigma, T, first, None)
    c, _ = sharp_step(beta, a)
    sums = {
        "start": first,
        "gap": 2 * c * beta * gap / a,
        "noise": a * V_T + 4 * sigma**2 * math.log(2 / a),
        "regret": 2 * regret,
    }
    return averaged("Sharp theorem, decreasing weights: average squared gradient", sums, T, details)


def least_squares_regret(error: float, variance: float, N: float, lam: float) -> float:
    r"""The regret of online least squares centred at the identity, on the prediction loss times G.

    $$GR\le\tfrac12\Bigl[E_{tr}+\nu\log\Bigl(1+\frac N\lambda\Bigr)\Bigr],\qquad\nu=\sigma_{op}^2,\ \sum_i\sigma_i^2,\
      K\sigma_{op}^2.$$

    Args:
        error: the tracking error, the sum of the expected squares of m_t - g_t.
        variance: $\nu$: for one factor the largest variance of a sample in any direction; for a factor for each
            coordinate the sum of the variances; for K operators K times the first. The variance of a sample is enough
            for the first two.
        N: the sum of the expected squared norms of m_t.
        lam: $\lambda>0$, the weight of the centre.

    Reference: the sharp theorem with online least squares, in the theory pages.

    >>> round(least_squares_regret(error=2.0, variance=4.0, N=3.0, lam=1.0), 4)
    3.7726
    """
    check_sizes(error=error, variance=variance, N=N)
    check_size("lam", lam, positive=True)
    return (error + variance * math.log1p(N / lam)) / 2


def theorem_sharp_least_squares(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    lam: float,
    variance: float | None = None,
    a: float | None = None,
    c: float | None = None,
    first: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The sharp theorem for the operator that online least squares learns; no regret is left in it.

    With $c\ge\frac{a+\sqrt{a^2+8}}2$, $\eta=a/(c\beta)$, $m_1=0$, the prediction loss,
    $X=\frac{2c\beta D}a+\frac{2\mathbb E\|g_1\|^2}a+2a\sigma^2T$ and $\rho=\nu/(\lambda+\sigma^2T+X)<1$,

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1T\Bigl[X
      +\frac\nu{1-\rho}\log\Bigl(1+\frac{\sigma^2T+X}\lambda\Bigr)\Bigr].$$

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: smoothness constant.
        sigma: root of the variance of a sample.
        T: number of rounds.
        lam: $\lambda>0$, the weight of the centre.
        variance: $\nu$ of ``least_squares_regret``; sigma^2 by default, which is enough for one factor and for one
            factor for each coordinate.
        a: tracking rate; that of ``least_squares_rate`` by default.
        c: divisor of the step; the smallest by default.
        first: the expected squared norm of the first gradient; 2 beta D by default.
        details: ``measured``, ``interval``, ``replications`` and ``note`` of the certificate.

    Reference: the sharp theorem with online least squares, in the theory pages.

    >>> print(theorem_sharp_least_squares(gap=0.5, beta=2.0, sigma=1.0, T=10_000, lam=1.0))
    Sharp theorem, least squares: average squared gradient (a-priori)
      start   0.0216478
      gap     0.0154077
      noise   0.0369552
      regret  0.00092827
      bound   0.074939
    """
    a = least_squares_rate(gap, beta, sigma, T) if a is None else a
    first, V_T = defaults(gap, beta, sigma, T, first, None)
    variance = sigma**2 if variance is None else variance
    check_size("variance", variance)
    check_size("lam", lam, positive=True)
    c = divisor(c, a, sharp_step(beta, a, tracked=2.0)[0])
    sums = {"start": 2 * first / a, "gap": 2 * c * beta * gap / a, "noise": 2 * a * V_T}
    most = V_T + sum(sums.values())  # of N, but for the regret itself
    if variance >= lam + most:
        raise ValueError(f"`variance` must be less than lam + sigma^2 T + X = {lam + most:.6g}; got {variance}.")
    sums["regret"] = variance / (1 - variance / (lam + most)) * math.log1p(most / lam)
    details = {**details, "label": "a-priori"}
    return averaged("Sharp theorem, least squares: average squared gradient", sums, T, details)


def divisor(c: float | None, a: float, least: float) -> float:
    """c, or the smallest one if it is None; raise if it is smaller, but for rounding.

    >>> divisor(None, 1.0, least=1.5)
    1.5
    """
    if c is None:
        return least
    check_size("c", c, positive=True)
    if is_too_small(c, least):
        raise ValueError(f"`c` must be at least {least:.6g} for a = {a:.6g}; got {c}.")
    return c


def defaults(
    gap: float, beta: float, sigma: float, T: int, first: float | None, V_T: float | None
) -> tuple[float, float]:
    """The first error, by default that of m_1 = 0, and the sum of the variances, by default T of them.

    >>> defaults(gap=1.0, beta=2.0, sigma=0.5, T=8, first=None, V_T=None)
    (4.0, 2.0)
    """
    check_sizes(gap=gap, beta=beta, sigma=sigma)
    check_horizon(T)
    first, V_T = 2 * beta * gap if first is None else first, sigma**2 * T if V_T is None else V_T
    check_sizes(first=first, V_T=V_T)
    return first, V_T
