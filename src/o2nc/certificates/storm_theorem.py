"""Variance reduction: the theorem of the STORM tracker, whose rate is T^(-2/3)."""

import math
from typing import Unpack

from ..checks import check_horizon
from ..constants.rates import storm_batch, storm_rate, storm_step
from .arguments import check_finite
from .certificate import Certificate, Details, averaged
from .sharp_theorem import defaults


def theorem_storm(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float | None = None,
    batch: int | None = None,
    first: float | None = None,
    V_T: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on the average squared gradient for the STORM tracker and the step of ``storm_step``.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1T\Bigl[\frac{\mathbb E\|e_1\|^2}{a(2-a)}
      +\frac{2c\beta D}{\sqrt a}+\frac{2aV_T}{2-a}+2GR\Bigr].$$

    It holds for contractions with the linear loss and with the descent loss for $\kappa\beta\eta\le1$, and for every
    operator with the prediction loss, $\kappa\beta\eta=1$. With the default a and batch it is at most
    $6(\beta D\sigma/T)^{2/3}+2\beta D/T+2GR/T$, and 6 tends to 4 as T grows.

    Args:
        gap: D, the first value of f less its infimum, or a bound on it such as the range M.
        beta: the constant of mean-square smoothness, of the samples and not only of f.
        sigma: root of the variance of a sample.
        T: number of rounds; each takes two gradients.
        regret: GR, the expected static regret against the identity on the losses times G.
        a: tracking rate; that of ``storm_rate`` by default.
        batch: the samples of the first tracker; those of ``storm_batch`` by default.
        first: the expected square of the first error; by default sigma^2 over the batch.
        V_T: the sum of the variances of the old samples at the new points, at most sigma^2 T, which is the default.
        details: ``label`` ("a-priori" if all numbers were known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: variance reduction, in the theory pages; the tracker is that of Cutkosky and Orabona (2019).

    >>> print(theorem_storm(gap=0.5, beta=2.0, sigma=1.0, T=1000, regret=0.0, label="a-priori"))
    Variance reduction: average squared gradient (a-priori)
      start   0.0100503
      gap     0.0208749
      noise   0.0100503
      regret  0
      bound   0.0409754
    """
    a, first, V_T = _known(gap, beta, sigma, T, regret, a, batch, first, V_T)
    sums = {
        "start": first / (a * (2 - a)),
        "gap": 2 * gap / storm_step(beta, a)[1],
        "noise": 2 * a * V_T / (2 - a),
        "regret": 2 * regret,
    }
    return averaged("Variance reduction: average squared gradient", sums, T, details)


def theorem_storm_decreasing(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float | None = None,
    batch: int | None = None,
    first: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The same for the weights $a_t=\max\{a,\frac1t\}$, the step of ``storm_step`` fixed: no first batch is needed.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1T\Bigl[\mathbb E\|e_1\|^2+\frac{2c\beta D}{\sqrt a}
      +\frac{2a\sigma^2T}{2-a}+\sigma^2\Bigl(2+4\log\frac1a\Bigr)+2GR\Bigr].$$

    The arguments are those of ``theorem_storm``; ``batch`` is 1 by default.

    Reference: variance reduction with decreasing weights, in the theory pages.

    >>> print(theorem_storm_decreasing(gap=0.5, beta=2.0, sigma=1.0, T=1000, regret=0.0, label="a-priori"))
    Variance reduction, decreasing weights: average squared gradient (a-priori)
      start   0.001
      gap     0.0208749
      noise   0.0304709
      regret  0
      bound   0.0523458
    """
    a, first, V_T = _known(gap, beta, sigma, T, regret, a, 1 if batch is None else batch, first, None)
    sums = {
        "start": first,
        "gap": 2 * gap / storm_step(beta, a)[1],
        "noise": 2 * a * V_T / (2 - a) + sigma**2 * (2 + 4 * math.log(1 / a)),
        "regret": 2 * regret,
    }
    return averaged("Variance reduction, decreasing weights: average squared gradient", sums, T, details)


def _known(
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float | None,
    batch: int | None,
    first: float | None,
    V_T: float | None,
) -> tuple[float, float, float]:
    """The rate, the first error, by default that of the mean of a batch, and the sum of the variances."""
    check_finite("regret", regret)
    a = storm_rate(gap, beta, sigma, T) if a is None else a
    batch = storm_batch(a, T) if batch is None else batch
    check_horizon(batch, "batch")
    return a, *defaults(gap, beta, sigma, T, sigma**2 / batch if first is None else first, V_T)
