"""How far the sharp theorems are from the worst case, which performance estimation finds exactly (sigma = 0, small T).

For T rounds the largest S - k GR over all smooth f in any dimension, all first points and all directions d_t that the
theorem allows is a semidefinite program in the Gram matrix of gradients and directions. Printed is this worst case over
the theorem's bound without its regret term: 1 means attained. A row is one of ``CASES`` at one a, a column one T.

Run: ``python benchmarks/worst_case.py [T ...]``. It needs PEPit, which is in the extra ``bench``.

Reference: Drori and Teboulle (2014); Taylor, Hendrickx and Glineur (2017); for the infimum of nonconvex functions
Abbaszadehpeivast, de Klerk and Zamani (2022), where f_t >= inf f + |g_t|^2 / (2 beta) makes the program exact.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from o2nc.certificates import decreasing_weight, inner_factors, sharp_step

try:
    import PEPit
    from PEPit.functions import SmoothFunction
except ImportError:
    PEPit = None

RATES = (1.0, 0.5, 0.2)
ROUNDS = (1, 2, 4, 8, 16)


class Theorem(NamedTuple):
    """A bound start |m_1 - grad f(x_1)|^2 + gap D + k GR, the method's divisor c, and its weights."""

    c: float
    start: float
    gap: float
    regret: float
    weight: Callable[[float, int], float] = lambda a, t: a


def sharp(a: float, r: float = 0.0) -> Theorem:
    c, _ = sharp_step(1.0, a, r=r)
    return Theorem(c, (1 + r * a) / a, 2 * c / a, 2.0)


def decreasing(a: float) -> Theorem:
    c, _ = sharp_step(1.0, a)
    return Theorem(c, 1.0, 2 * c / a, 2.0, decreasing_weight)


def inner(a: float, c: float = 8.0) -> Theorem:
    gap, start, _, regret = inner_factors(a, c)
    return Theorem(c, start / a, gap / a, regret)


class Case(NamedTuple):
    """A theorem, what is played and where the samples are."""

    name: str
    theorem: Callable[[float], Theorem]
    played: str = "identity"  # or "contractions", "anything"
    prediction: bool = False  # the prediction loss, kappa = c / a, instead of the linear one
    r: float = 0.0
    any_start: bool = False  # m_1 is free, not 0


CASES = (
    Case("theorem, U = I", sharp),
    Case("theorem, U = I, any m_1", sharp, any_start=True),
    Case("theorem, linear loss, contractions", sharp, "contractions"),
    Case("theorem, prediction loss, any operator", sharp, "anything", prediction=True),
    Case("segment r = 1/2, U = I", lambda a: sharp(a, 0.5), r=0.5),
    Case("segment r = 1, U = I", lambda a: sharp(a, 1.0), r=1.0),
    Case("segment r = 1, linear loss, contractions", lambda a: sharp(a, 1.0), "contractions", r=1.0),
    Case("decreasing weights, U = I", decreasing),
    Case("decreasing weights, linear loss, contractions", decreasing, "contractions"),
    Case("short steps c = 8, U = I", inner),
    Case("short steps c = 8, linear loss, contractions", inner, "contractions"),
)


def worst_case(case: Case, a: float, T: int) -> float:
    """The largest (S - k GR) / (start |e_1|^2 + gap D), beta = 1 and inf f = 0."""
    theorem = case.theorem(a)
    problem = PEPit.PEP()
    f = problem.declare_function(SmoothFunction, L=1.0)
    x = problem.set_initial_point()
    h, value = f.oracle(x)
    m = PEPit.Point() if case.any_start else 0 * h
    problem.add_constraint(value >= h**2 / 2)
    problem.set_initial_condition(theorem.start * (m - h) ** 2 + theorem.gap * value <= 1)
    kappa = theorem.c / a if case.prediction else 0.0
    total: Any = 0
    for t in range(1, T + 1):
        d = m
        if case.played != "identity":
            d = PEPit.Point()
            if case.played == "contractions":
                problem.add_constraint(d**2 <= m**2)
        step = a / theorem.c * d
        if t == 1 and not case.any_start and case.played != "anything":
            g = h  # m_1 = 0: nothing moves
        else:
            g, value = f.oracle(x - case.r * step)
            problem.add_constraint(value >= g**2 / 2)
        regret = g * m - g * d + kappa * a / (2 * theorem.c) * (d**2 - m**2)
        total += g**2 - theorem.regret * regret
        rate = theorem.weight(a, t)
        x, m = x - step, (1 - rate) * m + rate * g
    problem.set_performance_metric(total)
    return float(problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0))


def main(rounds: tuple[int, ...]) -> None:
    """Print a row a case, a column a pair of a and T."""
    if PEPit is None:
        print("PEPit is not installed; `pip install pepit` or the extra `bench` brings it.")
        return
    print("worst case over bound; T =", " ".join(map(str, rounds)))
    for case in CASES:
        for a in RATES:
            row = [worst_case(case, a, T) for T in rounds]
            print(
                f"{case.name:48} a = {a:<4}", " ".join(f"{v:.3f}" if math.isfinite(v) else "-" for v in row), flush=True
            )


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or ROUNDS)
