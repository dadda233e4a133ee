"""Theorem 1 for a horizon that was not known: all phases of `o2nc.conversions.DoublingConversion` together."""

import math
from typing import Unpack

from ..checks import check_horizon
from ..constants import PaperSmooth
from .arguments import check_finite, check_paper
from .certificate import Certificate, Details
from .theorem_1 import sharp_factors


def phases(T0: int, rounds: int) -> list[tuple[int, int]]:
    """The length T_i = 2^i T_0 of each phase that ``rounds`` rounds begin, and how many of its rounds they are.

    Reference: Theorem 1 with phases, in the theory pages.

    >>> phases(4, 14)
    [(4, 4), (8, 8), (16, 2)]
    """
    check_horizon(T0)
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise ValueError(f"`rounds` must be a whole number, at least 1; got {rounds!r}.")
    found, T = [], T0
    while rounds > 0:
        found.append((T, min(T, rounds)))
        rounds, T = rounds - T, 2 * T
    return found


def theorem1_doubling(
    constants: PaperSmooth, regret: float, rounds: int, *, kappa: float = 0.0, **details: Unpack[Details]
) -> Certificate:
    r"""The bound on the average squared gradient over the first N rounds, for every fixed N.

    It is a bound on expectations at a number of rounds that does not depend on the samples. At a random time, such as
    the first round in which something was seen, it bounds neither the average nor its expectation.

    With k phases begun, $T_i=2^iT_0$, $n_i\le T_i$ the rounds of phase i, $a_i=G/\max\{G,\sigma\sqrt{T_i}\}$, and
    $c_2,c_3$ of `sharp_factors`, which are $\frac{8192}{5951}$ and $\frac{24960}{5951}$ up to $\kappa=1$,

    $$\frac1N\sum_{t=1}^N\mathbb E\|\nabla f(x_t)\|^2\le\frac1N\Bigl[c_2\Bigl(\frac{64\,G^2}{a_{k-1}}+GR\Bigr)
      +c_3\sum_{i<k}\Bigl(\frac{2G^2}{a_i}+a_i\sigma^2n_i\Bigr)\Bigr].$$

    With one phase this is `theorem1_sharp`. For $N\ge T_0$ and $\kappa\le1$ the right side is at most
    $\frac{168\,\sigma\sqrt{M\beta}}{\sqrt N}+\frac{8192}{5951}\frac{\sqrt{M\beta}R}N+\frac{(89+9k)M\beta}N$ with
    $k\le\log_2(N/T_0)+2$, and where a phase ends, the 101 of Theorem 1 stands in the place of 168. So not to know the
    horizon costs a factor of at most 1.67 in the first term and a logarithm in the last.

    Args:
        constants: those of the run; their ``T`` is $T_0$, the length of the first phase.
        regret: R, the expected static regret against the identity over all N rounds.
        rounds: N.
        kappa: that of the conversion.
        details: ``label`` ("a-priori" if ``regret`` was known before the run), ``measured``, ``interval``,
            ``replications`` and ``note`` of the certificate.

    Reference: Theorem 1 with phases; the proof is in the theory pages.

    >>> from o2nc import Smooth
    >>> c = Smooth.paper(M=1.0, beta=4.0, sigma=0.5, T=100)
    >>> print(theorem1_doubling(c, regret=0.0, rounds=1500))
    Theorem 1, doubling: average squared gradient (a-posteriori)
      noise   0.202516
      regret  0
      range   2.06628
      bound   2.26879
    """
    check_paper(constants)
    check_finite("regret", regret)
    _, c2, c3 = map(float, sharp_factors(kappa))
    G, sigma, begun = constants.G, constants.sigma, phases(constants.T, rounds)
    scales = [max(G, sigma * math.sqrt(T)) for T, _ in begun]  # G / a_i
    terms = {
        "noise": c3 * sigma**2 * sum(G / B * n for B, (_, n) in zip(scales, begun, strict=True)) / rounds,
        "regret": c2 * G * regret / rounds,
        "range": G * (64 * c2 * scales[-1] + 2 * c3 * sum(scales)) / rounds,
    }
    details = {"trivial": constants.trivial, **details}
    return Certificate("Theorem 1, doubling: average squared gradient", terms=terms, **details)
