"""Whether a run contradicts what was declared of the objective, its noise, or the regret of the oracle.

Every test has a proved rate of false alarms, for any noise of the declared variance, and together at most `DELTA`.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple, Protocol

from .arguments import check_size

DELTA = 0.01  # the probability that true constants are contradicted
PAIRS = DELTA / 4  # the part of bets on pairs of samples, and that of bets on their sum over replications
DESCENT = DELTA / 5  # of the test of the steps
SQUARES = DELTA / 10  # of the bet on squares, that of the certificate of one run, and that of first samples
STAKES = (1.0, 1 / 4, 1 / 16, 1 / 64)  # of the bets on independent numbers


class Claimed(Protocol):
    """What constants claim of samples."""

    @property
    def sigma(self) -> float:
        """The root of the variance of a sample."""

    @property
    def beta(self) -> float:
        """The Lipschitz constant of the gradient."""

    @property
    def B(self) -> float:
        """The root of the second moment of a sample."""


class Seen(NamedTuple):
    """The bets of a run on its samples: what true constants make at most 1 in the mean, by name.

    Reference: declared constants, in the theory pages.

    >>> Seen(("noise",), most=[2.0], together=[[1.0], [0.5]], ratios=[1.1], runs=1).bets
    2
    """

    rows: tuple[str, ...]
    most: list[float]  # the largest logarithm that a product of one run ever had, a row
    together: list[list[float]]  # the logarithms of the products over all runs, a stake, a row
    ratios: list[float]  # the mean, a row
    runs: int

    @property
    def bets(self) -> int:
        """How many there are in one run."""
        return len(self.together) * len(self.rows)


class Descent(NamedTuple):
    r"""What the steps say of the first gap: $Y\le D+\sum\langle\xi_t,\delta_t\rangle$, one number a replication.

    Reference: declared constants, in the theory pages.

    >>> Descent(paid=[2.5], way=[1.0], gap=1.0, guess=1.0, spread=0.1, rounding=0.0).gap
    1.0
    """

    paid: list[float]  # Y, the sum of -<s_t, delta_t> - beta |delta_t|^2 / 2
    way: list[float]  # the sum of |delta_t|^2
    gap: float  # D
    guess: float  # of the way, from the constants: the level where the test is best
    spread: float  # the root of the variance of <s_t, v>, for |v| = 1
    rounding: float  # by how much Y may be off
    names: tuple[str, str] = ("gap", "the gap, beta or sigma")  # D, and what may be too small


def most_evidence(bets: int) -> float:
    """The logarithm that one of so many products reaches by chance with probability at most half of `PAIRS`, in all.

    Reference: Ville (1939).

    >>> round(most_evidence(4), 2)
    8.07
    """
    return math.log(2 * bets / PAIRS)


def evidence_objection(claims: Claimed, seen: Seen) -> str:
    """How samples contradict sigma, beta or independence, in words with the numbers; nothing if they do not.

    Args:
        claims: those of the constants.
        seen: the bets of the run.

    Reference: declared constants, in the theory pages.

    >>> from o2nc.conversions.evidence import Claims
    >>> bets = Seen(("noise",), most=[9.0], together=[[9.0]], ratios=[16.0], runs=1)
    >>> print(evidence_objection(Claims(sigma=0.5, eta=0.1, beta=2.0), bets)[:80])
    sigma = 0.5 or beta = 2 is too small: samples of successive rounds differ by mor
    >>> evidence_objection(Claims(sigma=0.5, eta=0.1, beta=2.0), bets._replace(most=[6.0], together=[[6.0]]))
    ''
    """
    one, all_runs = most_evidence(seen.bets * seen.runs), most_evidence(seen.bets)
    for k, (name, most, ratio) in enumerate(zip(seen.rows, seen.most, seen.ratios, strict=True)):
        excess = max(most - one, max(row[k] for row in seen.together) - all_runs)
        if not excess < 0:
            return f"{_contradiction(name, claims, ratio)}; {_odds(excess)}"
    return ""


def first_objection(sigma: float, apart: float, squares: Sequence[float]) -> str:
    r"""How first samples at one point contradict sigma, in words with the numbers; nothing if they do not.

    Args:
        sigma: that was declared.
        apart: how far their means may be apart.
        squares: the squared distances of the first samples of disjoint pairs of replications, which share x_1.

    Reference: declared constants, in the theory pages.

    >>> first_objection(0.5, 0.0, [4.0] * 8)
    'sigma = 0.5 is too small: the samples at x1 differ in the mean square by 4, and 2 sigma^2 = 0.5'
    >>> first_objection(0.5, 0.0, [0.5] * 8)
    ''
    """
    beyond = [max(math.sqrt(square) - apart, 0.0) ** 2 for square in squares]
    if not any(beyond) or (sigma > 0 and not _won([square / (2 * sigma**2) for square in beyond])):
        return ""
    found = f"the samples at x1 differ in the mean square by {fmean(squares):.3g}, and 2 sigma^2 = {2 * sigma**2:.3g}"
    return f"sigma = {sigma:g} is too small: {found}"


def _won(ratios: Sequence[float]) -> bool:
    """Whether a bet on independent nonnegative numbers of mean at most 1 has won more than it may."""
    bets = [math.fsum(math.log(max(1 + stake * (x - 1), 1e-300)) for x in ratios) for stake in STAKES]
    return max(bets) >= math.log(len(STAKES) / SQUARES)


def dependence_objection(sigma: float, most: float, ratio: float, bets: int) -> str:
    """How replications contradict that they are independent, in words with the numbers; nothing if they do not.

    Reference: declared constants, in the theory pages.

    >>> print(dependence_objection(0.5, most=20.0, ratio=7.0, bets=4)[:77])
    the replications are not independent, or sigma = 0.5 is too small: in the mea
    """
    excess = most - math.log(bets / PAIRS)
    if excess < 0:
        return ""
    return (
        f"the replications are not independent, or sigma = {sigma:g} is too small: in the mean the square of the sum "
        f"of their noise is {ratio:.3g} times what is possible, and each needs noise of its own; {_odds(excess)}"
    )


def _odds(excess: float) -> str:
    """How likely such a bet is, which exceeds what is allowed by so much, in logarithms."""
    return f"if all is true, this has probability {PAIRS * math.exp(-min(excess, 600.0)):.1g} at most"


def _contradiction(name: str, claims: Claimed, ratio: float) -> str:
    sigma, beta, twice = claims.sigma, claims.beta, 2 * claims.sigma**2
    if name == "second":
        seen, most = ratio * claims.B**2, claims.B**2
        return f"L or sigma is too small: the mean square of the samples is {seen:.3g}, and L^2 + sigma^2 is {most:.3g}"
    if name == "again":
        return f"beta = {beta:g} is too small: in the mean square a sample changes {ratio:.3g} times as much as it may"
    by = f"{ratio * twice:.3g} where 2 sigma^2 = {twice:.3g}" if sigma else "more than rounding, where sigma = 0"
    words, limit = f"sigma = {sigma:g}" + (f" or beta = {beta:g}" if beta else ""), "beta" if beta else "L"
    return (
        f"{words} is too small: samples of successive rounds differ by more than {limit} allows, in the mean square "
        f"by {by}"
    )


def descent_objection(descent: Descent) -> str:
    r"""How the steps of a run contradict the first gap, in words with the numbers; nothing if they do not.

    With n replications the mean of Y is at most $D+\sigma\sqrt{w_k(1/\delta_k-1)/n}$ where the mean of
    $\sum_t\|\delta_t\|^2$ is at most $w_k=2^kw_0$, with probability $1-\delta_k$, $\delta_k=\frac\delta{(k+1)(k+2)}$.

    Reference: declared constants, in the theory pages; Cantelli (1929) and Doob (1953).

    >>> descent_objection(Descent(paid=[2.5], way=[1.0], gap=1.0, guess=1.0, spread=0.01, rounding=0.0))
    'the gap, beta or sigma is too small: the steps have lowered f by 2.5, the gap is 1, and noise explains 0.353'
    >>> descent_objection(Descent(paid=[2.5], way=[1.0], gap=1.0, guess=1.0, spread=0.1, rounding=0.0))
    ''
    """
    n, paid, way = len(descent.paid), fmean(descent.paid), fmean(descent.way)
    noise = descent.rounding
    if descent.spread > 0:
        first = max(n * DESCENT * (descent.gap / (4 * descent.spread)) ** 2, descent.guess)  # w_0
        k = math.ceil(math.log2(max(way / first, 1.0))) if way < math.inf else 1000
        delta = DESCENT / ((k + 1) * (k + 2))
        noise += descent.spread * math.sqrt(first * 2.0**k * (1 / delta - 1) / n)
    if paid <= descent.gap + noise:
        return ""
    return (
        f"{descent.names[1]} is too small: the steps have lowered f by {paid:.3g}, the {descent.names[0]} is "
        f"{descent.gap:.3g}, and noise explains {noise:.3g}"
    )


def energy_objection(energy: Sequence[float], T: int, sigma: float, bound: float) -> str:
    r"""How the squares of all samples contradict a bound that was known before the run; nothing if they do not.

    $X_i=\sum_t\|s_t\|^2/(T(\sigma^2+\text{bound}))\ge0$ has mean at most 1, so that the mean of
    $\prod_i(1+\lambda(X_i-1))$ over some $\lambda$ exceeds $1/\delta$ with probability at most $\delta$.

    Args:
        energy: the sum of the squared samples of each replication.
        T: the number of rounds.
        sigma: root of the declared variance.
        bound: on the expected average squared gradient, known before the run.

    Reference: declared constants, in the theory pages; Markov's inequality.

    >>> energy_objection([3.0, 5.0], T=2, sigma=1.0, bound=0.5)
    ''
    >>> energy_objection([3e6, 5e6], T=2, sigma=1.0, bound=0.5)[:83]
    'the constants are too small: the average square of the samples is 2e+06, and at mos'
    """
    check_size("bound", bound)
    most = T * (sigma**2 + bound)
    if most == 0 or not energy:
        return ""
    if not _won([each / most for each in energy]):
        return ""
    return (
        f"the constants are too small: the average square of the samples is {fmean(energy) / T:.3g}, and at most "
        f"{most / T:.3g} is expected, sigma^2 and the a-priori bound"
    )


def regret_objection(regret: float, energy: float, stated: float, rounding: float) -> str:
    r"""How the regret of a run contradicts what the oracle states, in words; nothing if it does not.

    Args:
        regret: that was measured, on losses of this energy.
        energy: the sum of $(\|p_t\|\|m_t\|)^2$.
        stated: the bound of the oracle at that energy, for every sequence of losses.
        rounding: by how much a sum may be off, relative to its terms.

    Reference: Definition 1 (static regret minimization oracle).

    >>> regret_objection(3.0, energy=4.0, stated=2.0, rounding=1e-12)
    'the oracle states a regret of at most 2 for losses of energy 4, and it is 3'
    >>> regret_objection(2.0, energy=4.0, stated=2.0, rounding=1e-12)
    ''
    """
    if regret <= stated + rounding * (abs(regret) + math.sqrt(energy) + stated):
        return ""
    most = f"a regret of at most {stated:.6g} for losses of energy {energy:.6g}"
    return f"the oracle states {most}, and it is {regret:.6g}"
