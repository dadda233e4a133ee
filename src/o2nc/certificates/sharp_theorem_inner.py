"""The sharp theorem for short steps: the inner product of gradient and tracking error is tracked too."""

from typing import NamedTuple, Unpack

from ..constants.rates import check_rate
from .arguments import check_finite, check_size
from .certificate import Certificate, Details, averaged
from .sharp_theorem import defaults


class InnerFactors(NamedTuple):
    r"""The factors of $\beta D/a$, $\mathbb E\|g_1\|^2/a$, $aV_T$ and $GR$.

    Reference: the sharp theorem for short steps, in the theory pages.

    >>> InnerFactors(gap=9.2, start=1.2, noise=0.1, regret=1.1).noise
    0.1
    """

    gap: float
    start: float
    noise: float
    regret: float


def inner_factors(a: float, c: float) -> InnerFactors:
    r"""The factors of the sharp theorem for the linear loss, contractions, $m_1=0$ and the step $\eta=a/(c\beta)$.

    $$S\le\frac1X\Bigl[\frac{c\beta D}a+\Bigl(\frac\mu a+\nu\Bigr)\mathbb E\|g_1\|^2+\nu a^2V_T+GR\Bigr],$$

    with $b=1-a$, $\omega=(1+\frac c{2a})\frac{a^2}{c^2}$, $p=1+\frac ac+\frac{2a}{c^2}$,
    $\epsilon=\frac{1+b^2}{2c}+\frac a{c^2}$ and

    $$\nu=\frac{\frac a{2c}+\frac\epsilon p(1-\frac ac)}{1-(1+\frac{2a}c)b^2-\omega+\frac{2\omega\epsilon}p},\quad
      \mu=\frac{1-\frac ac-2\nu\omega}p,\quad X=1-\frac a{2c}-\mu\Bigl(\frac1c+\frac a{c^2}\Bigr)-\nu\omega.$$

    Exact fractions go in and come out. The proof needs $\nu>0$, $\mu\ge0$, $X>0$ and $\mu^2\le2ac\nu$. All
    $0<a\le1$ and $c\ge2$ have them, by the lemma there; for a smaller c this function checks them.

    Reference: the sharp theorem for short steps, in the theory pages.

    >>> [round(factor, 3) for factor in inner_factors(a=0.01, c=8.0)]
    [9.183, 1.218, 0.084, 1.148]
    """
    check_rate(a)
    check_size("c", c, positive=True)
    b, l = 1 - a, 2 * a / c
    omega, p, eps = (1 + 1 / l) * (a / c) ** 2, 1 + a / c + 2 * a / c**2, (1 + b**2) / (2 * c) + a / c**2
    rest = 1 - (1 + l) * b**2 - omega + 2 * omega * eps / p
    if rest > 0:
        nu = (a / (2 * c) + eps / p * (1 - a / c)) / rest
        mu = (1 - a / c - 2 * nu * omega) / p
        X = 1 - a / (2 * c) - mu * (1 / c + a / c**2) - nu * omega
        if nu > 0 and mu >= 0 and X > 0 and mu**2 <= 2 * a * c * nu:
            return InnerFactors(c / X, (mu + a * nu) / X, a * nu / X, 1 / X)
    raise ValueError(f"`c` must be larger for a = {a}, as a rule at least 2; got {c}.")


def theorem_sharp_inner(
    *,
    gap: float,
    beta: float,
    sigma: float,
    T: int,
    regret: float,
    a: float,
    c: float = 8.0,
    first: float | None = None,
    V_T: float | None = None,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on the average squared gradient for the step $a/(c\beta)$, with the factors of ``inner_factors``.

    The regret enters once, not twice. The best a has $\frac ST\le k\,\sigma\sqrt{\beta D/T}$ to leading order, with k =
    1.98 for c = 8, 1.48 for c = 64, and $\sqrt2$ in the limit, which is SGD's own optimum.

    Args:
        gap: D, the first value of f less its infimum, or a bound on it.
        beta: smoothness constant.
        sigma: root of the variance of a sample.
        T: number of rounds.
        regret: GR, the expected static regret against the identity on the *linear* losses times G.
        a: tracking rate; m_1 = 0.
        c: divisor of the step, as a rule at least 2.
        first: the expected squared norm of the first gradient; 2 beta D by default.
        V_T: the sum of the variances of the samples, at most sigma^2 T, which is the default.
        details: ``label`` ("a-priori" if all numbers were known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: the sharp theorem for short steps, in the theory pages.

    >>> print(theorem_sharp_inner(gap=0.5, beta=2.0, sigma=1.0, T=10_000, regret=0.0, a=0.1, label="a-priori"))
    Sharp theorem, short steps: average squared gradient (a-priori)
      start   0.00238627
      gap     0.0092245
      noise   0.00823994
      regret  0
      bound   0.0198507
    """
    check_finite("regret", regret)
    first, V_T = defaults(gap, beta, sigma, T, first, V_T)
    factors = inner_factors(a, c)
    sums = {
        "start": factors.start * first / a,
        "gap": factors.gap * beta * gap / a,
        "noise": factors.noise * a * V_T,
        "regret": factors.regret * regret,
    }
    return averaged("Sharp theorem, short steps: average squared gradient", sums, T, details)
