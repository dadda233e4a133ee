"""Theorem 1 when the sample is taken at any point of the segment from x_t to x_{t+1}."""

from fractions import Fraction
from typing import Unpack

from ..constants import PaperSmooth
from .arguments import check_size
from .certificate import Certificate, Details
from .lemmas.tracking import segment_moments
from .theorem_1 import with_factors


def segment_factors(r: float | None = 1, kappa: float = 0) -> tuple[float, float, float]:
    r"""The factors of $G^2/a$, $GR$ and $aV_T$ in the theorem for a sample at $y_t=x_t+r_t\delta_t$.

    With $k=\max(q,\kappa)$, q of `segment_moments`, and the tracking error of `segment_tracker_error`,
    $E_{tr}\le(20480\,G^2/a+10240\,aV_T+25\,S)/8167$:

    $$\frac{8167\cdot4096+20480(64+k)}D,\quad\frac{8167\cdot64}D,\quad\frac{10240(64+k)}D,\qquad
      D=8167(48-k)-25(64+k).$$

    For k = 1 they are 91.00, 1.3675 and 1.741, below the paper's 97, 8192/5951 and 101 - 97. And the tracking error
    implies that of Lemma 6, so Theorem 1 holds word for word at the start, at the end and for uniform r. The proof,
    step by step, is in the theory pages.

    Reference: Theorem 1, for other points of the segment.

    >>> [round(float(factor), 4) for factor in segment_factors(r=1)]
    [91.0022, 1.3675, 1.7414]
    """
    check_size("kappa", kappa)
    q = segment_moments(r)[2]
    k = max(Fraction(q) if isinstance(q, int) else q, Fraction(kappa) if isinstance(kappa, int) else kappa)
    D = 8167 * (48 - k) - 25 * (64 + k)
    if D <= 0:
        raise ValueError(f"`kappa` must be less than 390416/8192; got {kappa}.")
    return (8167 * 4096 + 20480 * (64 + k)) / D, 8167 * 64 / D, 10240 * (64 + k) / D


def theorem1_segment(
    constants: PaperSmooth,
    regret: float,
    V_T: float | None = None,
    *,
    r: float | None = 1.0,
    kappa: float = 0.0,
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on $\frac1T\sum_tE\|\nabla f(y_t)\|^2$ over the points $y_t$ where the samples were taken.

    Args:
        constants: those of the run.
        regret: R, the expected static regret against the identity on the loss that was revealed.
        V_T: the sum of the variances of the samples, at most sigma^2 T, which is the default.
        r: the place of the sample on the segment; None for uniform.
        kappa: weight of the quadratic term of the loss; 0 is the linear loss.
        details: ``label`` ("a-priori" if all numbers were known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 1, for other points of the segment.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=10_000)
    >>> round(theorem1_segment(c, regret=0.0).bound, 4)
    0.9274
    """
    name = "Theorem 1 on the segment: average squared gradient"
    return with_factors(name, constants, regret, V_T, segment_factors(r, kappa), details)
