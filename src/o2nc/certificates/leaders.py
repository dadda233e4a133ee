"""Regret bounds of leaders on the operator-norm ball, in terms of the trace of the root of the summed squares."""

import math

from .arguments import check_size

OWN = math.sqrt(3) / 2  # the damping whose bound is least


def augmented_leader(trace: float, eta: float = OWN) -> float:
    r"""The regret of the augmented leader $X_t=-(S_{t-1}S_{t-1}^\top+\eta^2V_{t-1})^{-1/2}S_{t-1}$.

    With $S_t=\sum_{i\le t}G_i$ and $V_t=\sum_{i\le t}G_iG_i^\top$, against every X with $\|X\|_{op}\le1$,

    $$\sum_t\langle G_t,X_t-X\rangle\le\Bigl(\eta+\frac1{2\eta}+\sqrt{1+\frac1{4\eta^2}}\Bigr)\,\mathrm{tr}V_T^{1/2}.$$

    The factor is least at $\eta=\sqrt3/2$, where it is $3\sqrt3/2=2.598$.

    Args:
        trace: $\mathrm{tr}V_T^{1/2}$, at most $\sqrt{p\sum_t\|G_t\|_F^2}$ for matrices with p rows.
        eta: the factor of the damping.

    Reference: derived on the page "Leaders on the operator-norm ball"; the learner is that of Jiang, Mhammedi, Mohri
    and Mokhtari (2026).

    >>> round(augmented_leader(trace=10.0), 4)
    25.9808
    """
    check_size("trace", trace)
    check_size("eta", eta, positive=True)
    return (eta + 1 / (2 * eta) + math.sqrt(1 + 1 / (4 * eta**2))) * trace


def perturbed_leader(trace: float, kappa: float, eta: float | None = None) -> float:
    r"""The regret of the perturbed leader, which plays minus the polar factor of $[S_{t-1},0]+\eta V_{t-1}^{1/2}N$.

    N is drawn before round 1 and scaled so that its columns beside those of S have the least singular value 1; of the
    polar factors of N and -N the columns of S are averaged. With $\kappa=\|N\|_{op}$, or its mean over several
    draws, against every X with $\|X\|_{op}\le1$,

    $$\sum_t\langle G_t,X_t-X\rangle\le\Bigl(\frac1\eta+(1+\kappa)\,\eta\Bigr)\,\mathrm{tr}V_T^{1/2},$$

    which is $2\sqrt{1+\kappa}\,\mathrm{tr}V_T^{1/2}$ for the best $\eta=1/\sqrt{1+\kappa}$. It holds for every
    sequence, also for one that is chosen by somebody who knows N.

    Args:
        trace: $\mathrm{tr}V_T^{1/2}$, at most $\sqrt{p\sum_t\|G_t\|_F^2}$ for matrices with p rows.
        kappa: the norm of the scaled draws, at least 1.
        eta: the factor of the perturbation, or None for the best.

    Reference: derived on the page "Leaders on the operator-norm ball"; the learner is that of Jiang, Mhammedi, Mohri
    and Mokhtari (2026), here with draws that are kept.

    >>> perturbed_leader(trace=10.0, kappa=3.0)
    40.0
    """
    check_size("trace", trace)
    check_size("kappa", kappa, positive=True)
    eta = 1 / math.sqrt(1 + kappa) if eta is None else eta
    check_size("eta", eta, positive=True)
    return (1 / eta + (1 + kappa) * eta) * trace
