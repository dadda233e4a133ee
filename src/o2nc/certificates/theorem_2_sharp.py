"""Theorem 2 with the constants that its proof could have kept, and the first gap in place of the range."""

from typing import Unpack

from ..constants import Nonsmooth
from .arguments import check_finite, check_size
from .certificate import Certificate, Details
from .lemmas.nonsmooth import tracker_noise_root
from .lemmas.nonsmooth_sharp import LEAK, localization_sharp, smoothing_sharp


def theorem2_sharp(
    constants: Nonsmooth, regret: float, *, gap: float | None = None, **details: Unpack[Details]
) -> Certificate:
    r"""The bound on the local stationarity of the output, for any a, eta and rho.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}\le\frac2{2-a}\Bigl[\frac D{\eta T}+\frac RT\Bigr]+0.3003\,\rho
      +\frac{a(L^2+\sigma^2)}{(2-a)\rho}+\sigma\sqrt{\frac a{2-a}}+\frac L{aT}
      +\Bigl(\frac1{12}+\frac{1-a}{a^2}\Bigr)\lambda\eta^2.$$

    For small a the terms of rho together are less, those of ``smoothing_sharp``: then "potential" is what is left.
    With the paper's tuning and D = M it is at most $3.64\,\varepsilon_T+\frac L{aT}+\frac43\frac RT$ for $R\ge0$, where
    the paper has 11 and 2.

    Args:
        constants: those of the run.
        regret: R, the expected static regret against the identity, measured or bounded beforehand.
        gap: D, the first value of f less its infimum, or a bound on it; the range M by default.
        details: ``label`` ("a-priori" if ``regret`` was known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 2, first display, sharpened in the theory pages.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=1.0, T=1000, a=0.25, eta=0.125, rho=0.5)
    >>> print(theorem2_sharp(c, regret=5.0))
    Theorem 2, sharp: local stationarity of the output (a-posteriori)
      gap           0.00914286
      regret        0.00571429
      smoothing     0.150142
      potential     0.357143
      noise         0.188982
      output        0.004
      localization  0.188802
      bound         0.903926
    """
    check_finite("regret", regret)
    gap = constants.M if gap is None else gap
    check_size("gap", gap)
    T, (L, a, _, eta, rho) = constants.T, constants.values
    terms = {
        "gap": 2 / (2 - a) * gap / (eta * T),
        "regret": 2 / (2 - a) * regret / T,
        "smoothing": LEAK * rho,
        "potential": smoothing_sharp(a, rho, L, constants.sigma) - LEAK * rho,
        "noise": tracker_noise_root(a, constants.sigma),
        "output": L / (a * T),
        "localization": constants.lam * localization_sharp(a, eta),
    }
    name = "Theorem 2, sharp: local stationarity of the output"
    details = {"trivial": constants.trivial, **details}
    return Certificate(name, terms=terms, **details)
