"""The sharp theorem for clipped samples, whose mean is not the gradient."""

from typing import Unpack

from ..constants.rates import check_rate, smallest_divisor
from ..noise import HeavyTailed, check_noise
from .arguments import check_finite, check_size
from .certificate import Certificate, Details, averaged
from .sharp_theorem import defaults, divisor

PAID = 0.1  # k, the relative loss where there is no bias


def clipped_step(beta: float, a: float, k: float = PAID) -> tuple[float, float]:
    r"""The smallest divisor c that the sharp theorem allows for clipped samples, and the step $\eta=a/(c\beta)$.

    It is the root of $\frac{(1+k)^2}{c^2}+\frac ac+k=1$.

    Args:
        beta: smoothness constant.
        a: tracking rate, in (0, 1].
        k: what the bias is paid with, between 0 and 1.

    Reference: a certificate for one run, step 7, in the theory pages.

    >>> c, eta = clipped_step(beta=1.0, a=0.5, k=0.25)
    >>> round((1.25 / c) ** 2 + 0.5 / c + 0.25, 9), eta == 0.5 / c
    (1.0, True)
    """
    check_size("beta", beta, positive=True)
    check_rate(a)
    check_size("k", k, positive=True)
    if k >= 1:
        raise ValueError(f"`k` must be less than 1; got {k}.")
    c = smallest_divisor(a, (1 + k) ** 2 / (1 - k), 1 / (1 - k))
    return c, a / (c * beta)


def theorem_sharp_clipped(
    *,
    gap: float,
    beta: float,
    noise: HeavyTailed,
    T: int,
    regret: float,
    a: float,
    c: float | None = None,
    k: float = PAID,
    first: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on the average squared gradient for samples that are clipped at R, and the step $\eta=a/(c\beta)$.

    With the bias b and the variance $\sigma^2$ of the clipped samples, and every $0<k<1$,

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac1{(1-k)T}\Bigl[(1+k)\Bigl(\frac{\mathbb E\|e_1\|^2}a
      +a\sigma^2T\Bigr)+\frac{2c\beta D}a+2GR+\frac{4+2k+k^2}kb^2T\Bigr],$$

    if $\frac{(1+k)^2}{c^2}+\frac ac+k\le1$; the smallest such c is the default. The regret is that of losses with the
    clipped samples. It holds for contractions with $\kappa\le c/a$, and for every operator with the prediction loss.

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: smoothness constant.
        noise: what is known of the noise, and the radius R.
        T: number of rounds.
        regret: GR, the expected static regret against the identity on the losses times G.
        a: tracking rate, in (0, 1].
        c: the divisor of the step.
        k: what the bias is paid with; it is the relative loss where there is no bias.
        first: the expected square of the first error; by default 2 beta D, which is enough for m_1 = 0.
        details: ``label``, ``measured``, ``interval``, ``replications`` and ``note`` of the certificate.

    Reference: a certificate for one run, clipped samples, in the theory pages.

    >>> from o2nc.noise import HeavyTailed
    >>> print(theorem_sharp_clipped(gap=0.5, beta=2.0, noise=HeavyTailed(v=1.0, L=1.0, R=51.0), T=10_000, regret=0.0,
    ...                             a=0.02, label="a-priori"))
    Sharp theorem, clipped samples: average squared gradient (a-priori)
      start   0.0122222
      gap     0.0130074
      noise   0.0244444
      bias    0.00116944
      regret  0
      bound   0.0508435
    """
    check_finite("regret", regret)
    check_noise("noise", noise)
    c = divisor(c, a, clipped_step(beta, a, k)[0])
    first, V_T = defaults(gap, beta, noise.sigma, T, first, None)
    sums = {
        "start": (1 + k) * first / a,
        "gap": 2 * c * beta * gap / a,
        "noise": (1 + k) * a * V_T,
        "bias": (4 + 2 * k + k * k) / k * noise.bias**2 * T,
        "regret": 2 * regret,
    }
    return averaged("Sharp theorem, clipped samples: average squared gradient", sums, (1 - k) * T, details)
