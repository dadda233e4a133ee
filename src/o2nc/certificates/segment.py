"""Theorem 1 when the sample is taken at any point of the segment from x_t to x_{t+1}."""

from collections.abc import Iterable
from fractions import Fraction
from statistics import fmean
from typing import Any, Unpack

from ..constants import Smooth
from .arguments import check_rate, check_size
from .certificate import Certificate, Details
from .smooth import with_factors
from .tight_certificate import averaged, known, same_length


def segment_moments(r: float | None) -> tuple[Any, Any, Any]:
    r"""$E[r^2]$, $E[(1-r)^2]$ and the factor q of $\frac{\beta\eta^2}2\|U_tm_t\|^2$ that smoothness leaves.

    For a fixed r, $f(x_{t+1})-f(x_t)\le\langle\nabla f(y_t),\delta_t\rangle+\frac\beta2q\|\delta_t\|^2$ with
    $q=(1-r)^2+r^2$; for a uniform r (``None``) it is an identity in expectation with q = 0.

    Reference: Lemma 9 (segment) for the uniform r.

    >>> segment_moments(1.0)
    (1.0, 0.0, 1.0)
    """
    if r is None:
        return Fraction(1, 3), Fraction(1, 3), 0
    check_size("r", r)
    if r > 1:
        raise ValueError(f"`r` must be None or lie in [0, 1]; got {r}.")
    return r**2, (1 - r) ** 2, (1 - r) ** 2 + r**2


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
    constants: Smooth,
    regret: float,
    V_T: float | None = None,
    *,
    r: float | None = 1.0,
    kappa: float = 0.0,
    label: str = "a-posteriori",
    **details: Unpack[Details],
) -> Certificate:
    r"""The bound on $\frac1T\sum_tE\|\nabla f(y_t)\|^2$ over the points $y_t$ where the samples were taken.

    Args:
        constants: those of the run.
        regret: R, the expected static regret against the identity on the loss that was revealed.
        V_T: the sum of the variances of the samples, at most sigma^2 T, which is the default.
        r: the place of the sample on the segment; None for uniform.
        kappa: weight of the quadratic term of the loss; 0 is the linear loss.
        label: "a-priori" if all numbers were known before the run.
        details: ``measured``, ``interval``, ``replications`` and ``note`` of the certificate.

    Reference: Theorem 1, for other points of the segment.

    >>> c = Smooth(M=1.0, beta=4.0, sigma=0.5, T=10_000)
    >>> round(theorem1_segment(c, regret=0.0).bound, 4)
    0.9274
    """
    name = "Theorem 1 on the segment: average squared gradient"
    return with_factors(name, constants, regret, V_T, segment_factors(r, kappa), label, details)


GRID = tuple(2.0**k for k in range(-12, 5))  # the weights of Young's inequality, in units of a, fixed beforehand


def segment_tracker_error(r: float | None, a: float, first: float, W: float, V_T: float) -> float:
    r"""The tracking error $E_{tr}=\sum_tE\|m_t-\nabla f(y_t)\|^2$ for a sample at $y_t=x_t+r_t\delta_t$.

    $$E_{tr}\le\min_{l,n}\frac{(1+l)(E\|g_1\|^2+a^2V_T)
      +[(1+l)(1+\frac1n)E(1-r)^2+(1+\frac1l)E[r^2]]\frac{a^2}{4096}W}{1-(1+l)(1+n)(1-a)^2},$$

    over a grid of l and n fixed beforehand (l = 0 for r = 0, n = 0 for r = 1). Proof: let $h_t=\nabla f(x_t)$,
    $g_t=\nabla f(y_t)$, $\hat e_t=m_t-h_t$, $e_t=m_t-g_t$. (1) $e_t=\hat e_t-(g_t-h_t)$ and
    $\|g_t-h_t\|\le r_t\frac a{64}\|U_tm_t\|$, so
    $E\|e_t\|^2\le(1+l)E\|\hat e_t\|^2+(1+\frac1l)E[r^2]\frac{a^2}{4096}E\|U_tm_t\|^2$. (2) Before projection the next
    tracker differs from $h_{t+1}$ by $(1-a)e_t-(h_{t+1}-g_t)+a\xi_t$, the noise is orthogonal to the rest since
    $x_{t+1}$ and $y_t$ are fixed before it, and $\|h_{t+1}-g_t\|\le(1-r_t)\frac a{64}\|U_tm_t\|$. Sum both over t.

    With l = n = a/4 the denominator is at least a, and with $W\le\sum E\|m_t\|^2\le2S+2E_{tr}$, $E\|g_1\|^2\le2G^2$ and
    $\frac54E(1-r)^2+E[r^2]\le\frac54$ it becomes $E_{tr}\le(20480G^2/a+10240aV_T+25S)/8167$ for every law of r.

    Args:
        r: the place of the sample; None for uniform.
        a: tracking rate.
        first: the expected squared norm of the first gradient.
        W: the sum of the expected squared norms of U_t m_t.
        V_T: the sum of the variances of the samples.

    Reference: Lemma 6 (tracker error), for other points of the segment.

    >>> round(segment_tracker_error(1.0, a=1.0, first=1.0, W=0.0, V_T=4.0), 3)
    5.001
    """
    check_rate(a)
    for name, value in (("first", first), ("W", W), ("V_T", V_T)):
        check_size(name, value)
    square, complement, _ = (float(moment) for moment in segment_moments(r))
    ls = [a * unit for unit in GRID] if square else [0.0]
    ns = [a * unit for unit in GRID] if complement else [0.0]
    drift = a**2 / 4096 * W

    def bound(l: float, n: float) -> float:
        rest = 1 - (1 + l) * (1 + n) * (1 - a) ** 2
        if rest <= 0:
            return float("inf")
        moved = (1 + l) * (1 + 1 / n) * complement if complement else 0.0
        moved += (1 + 1 / l) * square if square else 0.0
        return ((1 + l) * (first + a**2 * V_T) + moved * drift) / rest

    return min(bound(l, n) for l in ls for n in ns)


def tight_segment(
    constants: Smooth,
    Q: Iterable[float],
    N: Iterable[float],
    W: Iterable[float],
    first: float | None = None,
    V_T: float | None = None,
    confidence: float = 0.95,
    *,
    r: float | None = 1.0,
    rounds: int | None = None,
    measured: float | None = None,
) -> Certificate:
    r"""The tight certificate for samples on the segment: $S=2Q-N+E_{tr}$ with `segment_tracker_error`, divided by T.

    The arguments are those of `tight`, and the place ``r`` of the samples.

    Reference: `tight`, whose identity holds at every point.

    >>> c = Smooth(M=1.0, beta=1.0, sigma=0.1, T=100)
    >>> tight_segment(c, [2.0, 2.2], [2.0, 2.1], [1.0, 1.0], first=0.1).label
    'a-posteriori'
    """
    T, first, V_T = known(constants, rounds, first, V_T)
    Q, N, W = same_length(Q=Q, N=N, W=W)

    def error(w: float) -> float:
        return segment_tracker_error(r, constants.a, first, w, V_T)

    sums = {"alignment": 2 * fmean(Q), "tracker": -fmean(N), "tracking error": error(fmean(W))}
    linear = [2 * q - n for q, n in zip(Q, N, strict=True)]
    name = "Theorem 1 on the segment, tight: average squared gradient"
    return averaged(name, T, sums, linear, W, error, confidence, measured)
