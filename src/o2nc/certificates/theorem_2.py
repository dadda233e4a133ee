"""Theorem 2: what static regret says about the output of Algorithm 2."""

from typing import Unpack

from ..constants import Nonsmooth
from .arguments import check_finite
from .certificate import Certificate, Details
from .lemmas.nonsmooth import localization, tracker_noise_root


def theorem2(constants: Nonsmooth, regret: float, **details: Unpack[Details]) -> Certificate:
    r"""The bound on the local stationarity of the output, for any a, eta and rho.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}\le\frac{2M}{\eta T}+\frac{2R}T+\rho+\frac{a(L^2+\sigma^2)}\rho
      +\sigma\sqrt{\frac a{2-a}}+\frac L{aT}+\Bigl(2+\frac{4(1-a)}{a^2}\Bigr)\lambda\eta^2.$$

    Args:
        constants: those of the run.
        regret: R, the expected static regret against the identity, measured or bounded beforehand.
        details: ``label`` ("a-priori" if ``regret`` was known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 2, first display.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=1.0, T=1000, a=0.25, eta=0.125, rho=0.5)
    >>> print(theorem2(c, regret=5.0))
    Theorem 2: local stationarity of the output (a-posteriori)
      range         0.016
      regret        0.01
      smoothing     0.5
      potential     0.625
      noise         0.188982
      output        0.004
      localization  0.78125
      bound         2.12523
      vacuous: every point has at most 1
    """
    check_finite("regret", regret)
    T, (L, a, _, eta, rho) = constants.T, constants.values
    terms = {
        "range": 2 * constants.M / (eta * T),
        "regret": 2 * regret / T,
        "smoothing": rho,
        "potential": a * constants.B**2 / rho,
        "noise": tracker_noise_root(a, constants.sigma),
        "output": L / (a * T),
        "localization": constants.lam * localization(a, eta),
    }
    details = {"trivial": constants.trivial, **details}
    return Certificate("Theorem 2: local stationarity of the output", terms=terms, **details)


def theorem2_tuned(constants: Nonsmooth, regret: float, **details: Unpack[Details]) -> Certificate:
    r"""The bound for the tuned a, eta and rho.

    $$\mathbb E\|\nabla f(\bar y_\tau)\|^{[\lambda]}\le 11\,\varepsilon_T+\frac L{M\sqrt\lambda}\varepsilon_T^{3/2}
      +\frac{2R}T,\qquad\varepsilon_T=\Bigl(\frac{B^4M^2\lambda}{T^2}\Bigr)^{1/7}.$$

    The arguments are those of ``theorem2``, which is at least as small at the same constants.

    Reference: Theorem 2, second display.

    >>> c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    >>> print(theorem2_tuned(c, regret=5.0))
    Theorem 2, tuned: local stationarity of the output (a-posteriori)
      scale   1.52845
      output  0.0517947
      regret  0.01
      bound   1.59024
      vacuous: every point has at most 1
    """
    check_finite("regret", regret)
    if not constants.is_tuned:
        raise ValueError(
            "`constants` must have the tuned `a`, `eta` and `rho` of Theorem 2; "
            f"got a={constants.a:.6g}, eta={constants.eta:.6g}, rho={constants.rho:.6g}. "
            "Use `theorem2` for its general form."
        )
    eps = constants.eps
    terms = {
        "scale": 11 * eps,
        "output": constants.L / (constants.M * constants.lam**0.5) * eps**1.5,
        "regret": 2 * regret / constants.T,
    }
    name = "Theorem 2, tuned: local stationarity of the output"
    details = {"trivial": constants.trivial, **details}
    return Certificate(name, terms=terms, **details)
