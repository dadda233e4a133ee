"""Theorem 1: what static regret says about the gradients along the trajectory of Algorithm 1."""

import math
from fractions import Fraction
from typing import Unpack

from ..constants import PaperSmooth
from .arguments import check_finite, check_paper, check_size
from .certificate import Certificate, Details

KAPPA_LIMIT = Fraction(6080, 129)  # where these constants end with the descent loss; the sharp theorem has no such end


def theorem1(constants: PaperSmooth, regret: float, **details: Unpack[Details]) -> Certificate:
    r"""The bound on the average squared gradient, with the printed constants.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{101\,\sigma\sqrt{M\beta}}{\sqrt T}
      +\frac{8192}{5951}\frac{\sqrt{M\beta}\,R}T+\frac{97M\beta}T.$$

    Args:
        constants: those of the run; the step and the tracking rate must be the ones they prescribe.
        regret: R, the expected static regret against the identity, measured or bounded beforehand.
        details: ``label`` ("a-priori" if ``regret`` was known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 1.

    >>> from o2nc import Smooth
    >>> print(theorem1(Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=10_000), regret=-10.0, measured=0.01))
    Theorem 1: average squared gradient (a-posteriori)
      noise             1.01
      regret            -0.00275315
      range             0.0388
      bound             1.04605
      measured          0.01
      measured / bound  0.0095598
    """
    return _printed("Theorem 1: average squared gradient", constants, regret, details)


def minimum_over_iterates(constants: PaperSmooth, regret: float, **details: Unpack[Details]) -> Certificate:
    r"""The same bound for $\min_i\mathbb E\|\nabla f(x_i)\|^2$, a minimum of expectations.

    The arguments are those of ``theorem1``. It bounds the best iterate, not the last one.

    Reference: Theorem 1, second display.

    >>> from o2nc import Smooth
    >>> round(minimum_over_iterates(Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=10_000), regret=0.0).bound, 4)
    1.0488
    """
    return _printed("Theorem 1: smallest expected squared gradient", constants, regret, details)


def sqrt_regret(constants: PaperSmooth, C_A: float, **details: Unpack[Details]) -> Certificate:
    r"""The classical rate from an oracle whose regret is at most $C_{\mathcal A}\sqrt T$, known before the run.

    $$\frac1T\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2\le\frac{\sqrt{M\beta}}{\sqrt T}
      \Bigl(101\,\sigma+\frac{8192}{5951}C_{\mathcal A}\Bigr)+\frac{97M\beta}T.$$

    Reference: Theorem 1 with worst-case regret of order sqrt(T).

    >>> from o2nc import Smooth
    >>> print(sqrt_regret(Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=10_000), C_A=2.0))
    Theorem 1: regret C_A sqrt(T) (a-priori)
      noise   1.01
      regret  0.055063
      range   0.0388
      bound   1.10386
    """
    check_size("C_A", C_A)
    details = {**details, "label": "a-priori"}
    return _printed("Theorem 1: regret C_A sqrt(T)", constants, C_A * math.sqrt(constants.T), details)


def exact_oracle(M: float, beta: float, T: int, regret: float, **details: Unpack[Details]) -> Certificate:
    r"""The bound with exact gradients: $\sigma=0$, so a = 1 and the noise term is gone.

    $$\frac1T\sum_{t=1}^T\|\nabla f(x_t)\|^2\le\frac{8192}{5951}\frac{\sqrt{M\beta}\,R}T+\frac{97M\beta}T.$$

    Reference: Theorem 1 and the remark on an exact gradient oracle.

    >>> exact_oracle(M=1.0, beta=4.0, T=1000, regret=0.0).terms
    {'noise': 0.0, 'regret': 0.0, 'range': 0.388}
    """
    constants = PaperSmooth(M, beta, sigma=0.0, T=T)
    return _printed("Theorem 1: exact gradients", constants, regret, details)


def theorem1_sharp(
    constants: PaperSmooth, regret: float, V_T: float | None = None, *, kappa: float = 0.0, **details: Unpack[Details]
) -> Certificate:
    r"""The bound with the fractions of the proof, before they are rounded up to 97 and 101.

    $$S\le\frac{574208}{5951}\frac{G^2}a+\frac{8192}{5951}GR+\frac{24960}{5951}aV_T,\qquad
      S=\sum_{t=1}^T\mathbb E\|\nabla f(x_t)\|^2,$$

    divided by T. It also serves the *descent loss*
    $L_t(U)=\frac1G[-\langle s_t,Um_t\rangle+\frac{\kappa\beta\eta}2\|Um_t\|^2]$. Smoothness leaves
    $\frac a{128}\|U_tm_t\|^2$ a round. The loss charges the player $\kappa$ times that, and the identity
    $\frac{\kappa a}{128}\|m_t\|^2$; what it leaves uncharged, for $\kappa<1$, is at most
    $\frac{(1-\kappa)a}{128}\|m_t\|^2$, as in the paper. So with $k=\max(1,\kappa)$ the same steps give

    $$S\le\frac{128\,(4096+6(64+k))\,G^2/a+8192\,GR+384\,(64+k)\,aV_T}{6080-129k},$$

    which for k = 1 is the display above, term by term. R is the regret on the loss that was revealed.

    Args:
        constants: those of the run.
        regret: R, the expected static regret against the identity.
        V_T: the sum of the variances of the samples, at most sigma^2 T, which is the default.
        kappa: weight of the quadratic term of the loss; 0 is the paper's linear loss.
        details: ``label`` ("a-priori" if all numbers were known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 1, the last display of the proof before the division by T.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=10_000)
    >>> round(theorem1_sharp(c, regret=0.0).bound, 4), round(theorem1(c, regret=0.0).bound, 4)
    (1.0068, 1.0488)
    """
    name = "Theorem 1, sharp: average squared gradient"
    return with_factors(name, constants, regret, V_T, sharp_factors(kappa), details)


def with_factors(
    name: str,
    constants: PaperSmooth,
    regret: float,
    V_T: float | None,
    factors: tuple[float, float, float],
    details: Details,
) -> Certificate:
    """The certificate with these factors of G^2 / a, G R and a V_T."""
    check_paper(constants)
    check_finite("regret", regret)
    V_T = constants.sigma**2 * constants.T if V_T is None else V_T
    check_size("V_T", V_T)
    range_factor, regret_factor, noise_factor = map(float, factors)
    G, _, a, _ = constants.values
    terms = {
        "noise": noise_factor * a * V_T / constants.T,
        "regret": regret_factor * G * regret / constants.T,
        "range": range_factor * G**2 / a / constants.T,
    }
    details = {"trivial": constants.trivial, **details}
    return Certificate(name, terms=terms, **details)


def sharp_factors(kappa: float = 0) -> tuple[float, float, float]:
    r"""The factors of $G^2/a$, $GR$ and $aV_T$ in the sharp form of Theorem 1; fractions if ``kappa`` is exact.

    $$\frac{128\,(4096+6(64+k))}{6080-129k},\quad\frac{8192}{6080-129k},\quad\frac{384\,(64+k)}{6080-129k},\qquad
      k=\max(1,\kappa)<\frac{6080}{129}.$$

    Reference: Theorem 1, the last display of the proof before the division by T.

    >>> [str(factor) for factor in sharp_factors()]
    ['574208/5951', '8192/5951', '24960/5951']
    """
    check_size("kappa", kappa)
    k = max(Fraction(1), Fraction(kappa) if isinstance(kappa, int) else kappa)
    rest = KAPPA_LIMIT.numerator - KAPPA_LIMIT.denominator * k
    if rest <= 0:
        raise ValueError(f"`kappa` must be less than {KAPPA_LIMIT}; got {kappa}.")
    return 128 * (4096 + 6 * (64 + k)) / rest, 8192 / rest, 384 * (64 + k) / rest


def reading(regret: float, stderr: float = 0.0) -> str:
    r"""What the sign of the regret against the identity says, in a sentence.

    $$R<0:\ \text{outperforms the identity},\qquad R=0:\ \text{baseline},\qquad R>0:\ \text{adaptation cost}.$$

    Args:
        regret: R, the expected static regret against the identity.
        stderr: its standard error; a regret within two of them of 0 is not told from 0.

    Reference: Theorem 1, the cases after it.

    >>> reading(-3.0)
    'Regret -3: the learned preconditioner outperforms the identity on the induced losses.'
    >>> reading(0.1, stderr=0.2)
    'Regret 0.1 (standard error 0.2): not told from 0, the identity-preconditioned baseline.'
    """
    check_finite("regret", regret)
    check_size("stderr", stderr)
    error = f" (standard error {float(stderr):.4g})" if stderr else ""
    start = f"Regret {float(regret):.4g}{error}: "
    if regret == 0 and not stderr:
        return start + "the identity-preconditioned baseline."
    if abs(regret) <= 2 * stderr:
        return start + "not told from 0, the identity-preconditioned baseline."
    if regret > 0:
        return start + "the learned preconditioner pays an adaptation cost."
    return start + "the learned preconditioner outperforms the identity on the induced losses."


def _printed(name: str, constants: PaperSmooth, regret: float, details: Details) -> Certificate:
    check_paper(constants)
    check_finite("regret", regret)
    T, G = constants.T, constants.G
    terms = {
        "noise": 101 * constants.sigma * G / math.sqrt(T),
        "regret": 8192 / 5951 * G * regret / T,
        "range": 97 * constants.M * constants.beta / T,
    }
    details = {"trivial": constants.trivial, **details}
    return Certificate(name, terms=terms, **details)
