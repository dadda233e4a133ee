"""What is proved, what is true and what is measured of Algorithm 1 and SGD: exact gradients, few rounds.

Everything is the average squared gradient over T rounds in units of beta D, where D bounds f(x_1) - inf f.

- proved: the theorems, without regret for U = I and with the stated regret bound for Hedge;
- true: for U = I and for SGD the largest value over all smooth f in any dimension, a semidefinite program;
- found: for Hedge over I and a projector, whose steps are no linear function of the gradients, the largest value that a
  search finds. Every value that is reported belongs to a smooth function of the plane that is written down and run;
- measured: a linear classifier of real data.

Run: ``python benchmarks/lower_bound.py [T ...] [--figure docs/assets/lower-bound.png]``. It needs PEPit, of the extra ``bench``.

Reference: for the program that of ``worst_case.py``; for the search the conditions under which a smooth function has
given values and gradients, which in one dimension give the functions themselves: slopes in zigzag.
"""  # noqa: E501

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from o2nc import Smooth, SmoothConversion
from o2nc.lab.objectives import objective
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import Constant, Hedge, Oracle

try:
    import PEPit
    from PEPit.functions import SmoothFunction
except ImportError:
    PEPit = None

ROUNDS = (1, 2, 4, 8, 16)
SEEDS, CANDIDATES, GENERATIONS, KEPT = 4, 300, 250, 20  # of the search
TRIVIAL = 2.0  # |grad f|^2 <= 2 beta (f - inf f) at every point


def paper(T: int) -> Any:
    """The constants of Theorem 1 for beta = D = 1; f can be made flat above x_1, so a range of 2 D is enough."""
    return Smooth.paper(M=2.0, beta=1.0, sigma=0.0, T=T)


def sharp(T: int) -> Any:
    """Those of the sharp theorem for beta = D = 1; Hedge's regret bound needs the range."""
    return Smooth(gap=1.0, M=2.0, beta=1.0, sigma=0.0, T=T)


CONSTANTS: dict[str, Callable[[int], Any]] = {"paper": paper, "sharp": sharp}


def hedge() -> Oracle:
    """Hedge over I and the projection onto the first coordinate of the plane."""
    return Hedge([Identity(), Diagonal(np.asarray([1.0, 0.0]))])


def proved(kind: str, T: int) -> tuple[float, float]:
    """The theorem without regret, and with the bound that Hedge states."""
    conversion = SmoothConversion(hedge(), CONSTANTS[kind](T))
    return conversion.proved(0.0, T).bound, conversion.a_priori(np.zeros(2)).bound  # type: ignore[union-attr]


def worst_case(eta: float, a: float | None, T: int) -> float:
    """The largest average: x moves by -eta m with m_1 = 0 and the tracking rate a, or if that is None by -eta g."""
    problem = PEPit.PEP()
    f = problem.declare_function(SmoothFunction, L=1.0)
    x = problem.set_initial_point()
    g, value = f.oracle(x)
    problem.set_initial_condition(value <= 1)
    m, total = 0 * g, 0
    for t in range(1, T + 1):
        problem.add_constraint(value >= g**2 / 2)
        total += g**2
        x, m = (x - eta * g, m) if a is None else (x - eta * m, (1 - a) * m + a * g)
        if t < T and (a is None or t > 1):  # m_1 = 0: Algorithm 1 does not move in round 1
            g, value = f.oracle(x)
    problem.set_performance_metric(total / T)
    return float(problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0))


class Sequences(NamedTuple):
    """Candidates: the first gradients, and by how much of the step each coordinate of the gradient changes."""

    first: Any  # (N, 2), positive
    share: Any  # (T - 1, N, 2), in [-1, 1]: the mean curvature of f on the step


def play(conversion: SmoothConversion, found: Sequences) -> tuple[Any, Any, Any, Any]:
    """Average, smallest gap of a smooth separable f with these gradients, the gradients and the steps, candidate by candidate.

    On a step of length d on which the slope changes by h, f can fall by no less than the mean slope times d less
    (d^2 - h^2) / 4: the slope falls at rate 1 and rises again. A coordinate that turns back is refused.
    """  # noqa: E501
    g, state = found.first, conversion.init(found.first)
    height, lowest, total = np.zeros_like(g), -(g**2) / 2, np.zeros(len(g))
    turned, gradients, steps = np.zeros(len(g), dtype=bool), [g], []
    for share in [*found.share, None]:
        total = total + np.sum(g**2, axis=-1)
        dx, state = conversion.update(g, state)
        if share is None:
            break
        new = g + share * dx
        turned |= np.any(new < 0, axis=-1)
        height = height + (g + new) / 2 * dx + (dx**2 - (new - g) ** 2) / 4
        lowest = np.minimum(lowest, height - new**2 / 2)
        g = new
        gradients.append(g)
        steps.append(dx)
    gap = np.where(turned, np.inf, -np.sum(lowest, axis=-1))
    return total / len(gradients), gap, gradients, steps


def search(conversion: SmoothConversion, T: int, start: Any = None) -> tuple[float, Sequences, Any]:
    """The largest average among candidates with a gap of at most 1, by the cross-entropy method, several times.

    ``start`` is what was found for fewer rounds: one of the searches begins there.
    """
    size = 2 + 2 * (T - 1)
    blank = np.concatenate([np.full(2, -0.5), np.zeros(size - 2)])
    begins = [(blank, 1.0)] * SEEDS
    if start is not None:
        begins.append((np.concatenate([start, np.full(size - len(start), 0.5)]), 0.3))
    best, winner, where = 0.0, None, blank
    for seed, (mean, width) in enumerate(begins):
        rng, spread = np.random.default_rng(seed), np.full(size, width)
        for _ in range(GENERATIONS):
            z = mean + spread * rng.normal(size=(CANDIDATES, size))
            found = Sequences(np.exp(z[:, :2]), np.tanh(z[:, 2:]).reshape(CANDIDATES, T - 1, 2).swapaxes(0, 1))
            average, gap, *_ = play(conversion, found)
            score = np.where(gap <= 1, average, np.where(np.isfinite(gap), average / gap**2, 0.0))
            order = np.argsort(-score)[:KEPT]
            mean, spread = z[order].mean(axis=0), 0.8 * z[order].std(axis=0) + 0.2 * spread
            k = int(np.argmax(np.where(gap <= 1, average, 0.0)))
            if gap[k] <= 1 and average[k] > best:
                best, winner, where = float(average[k]), Sequences(found.first[[k]], found.share[:, [k]]), z[k]
    if winner is None:
        raise ArithmeticError(f"The search found no function with a gap of at most 1 in {T} rounds.")
    return best, winner, where


class Zigzag:
    """The function of one number that has slope p_0, ..., at the points of a path to the left, and falls least between.

    The slopes are not negative. To the right of the path and to the left of it f becomes flat as fast as it may.

    >>> f = Zigzag([1.0, 1.0], [-1.0])
    >>> [float(f(np.asarray(x))[1]) for x in (0.0, -0.5, -1.0, -2.0)]
    [1.0, 0.5, 1.0, 0.0]
    """

    def __init__(self, slopes: list[float], steps: list[float]) -> None:
        x, knots, values = 0.0, [slopes[0], 0.0], [0.0, slopes[0]]
        for p, q, dx in zip(slopes, slopes[1:], steps, strict=False):
            if dx:
                down = (-dx + p - q) / 2
                knots += [x - down, x + dx]
                values += [p - down, q]
            x += dx
        self.knots = np.asarray([*knots, x - slopes[-1]])[::-1]  # then down to slope 0, and flat
        self.values = np.asarray([*values, 0.0])[::-1]
        areas = np.diff(self.knots) * (self.values[1:] + self.values[:-1]) / 2
        self.heights = np.concatenate([[0.0], np.cumsum(areas)])

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """Value, counted from the left end, and slope."""
        k = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        slope = np.interp(x, self.knots, self.values)
        inside = np.clip(x, self.knots[0], self.knots[-1])
        value = self.heights[k] + (inside - self.knots[k]) * (slope + self.values[k]) / 2
        return value, slope

    @property
    def gap(self) -> float:
        """f(0) - inf f; where a piece turns from falling to rising, its least value is inside."""
        ends = zip(self.heights[:-1], self.values[:-1], self.values[1:], strict=True)
        turns = [h - v**2 / 2 for h, v, w in ends if v < 0 < w]
        return float(self(np.asarray(0.0))[0] - min(*self.heights, *turns))


def run(conversion: SmoothConversion, winner: Sequences) -> tuple[float, float]:
    """The average squared gradient of a run on the function of the plane that was found, and its gap."""
    _, _, gradients, steps = play(conversion, winner)
    parts = [Zigzag([g[0, k] for g in gradients], [dx[0, k] for dx in steps]) for k in range(2)]
    x = np.zeros(2)
    state, total = conversion.init(x), 0.0
    for _ in gradients:
        g = np.asarray([f(v)[1] for f, v in zip(parts, x, strict=True)])
        total += g @ g
        dx, state = conversion.update(g, state)
        x = x + dx
    return total / len(gradients), sum(f.gap for f in parts)


def measured(kind: str, T: int, oracle: Oracle) -> float:
    """The same average on a linear classifier with the sigmoid loss, exact gradients, in units of beta D."""
    f = objective("sigmoid")
    D = f.first_gap
    made = (
        Smooth.paper(M=2 * D, beta=f.beta, sigma=0.0, T=T)
        if kind == "paper"
        else Smooth(gap=D, beta=f.beta, sigma=0.0, T=T)
    )
    conversion, x, total = SmoothConversion(oracle, made), f.start(np.zeros(1)), 0.0
    state = conversion.init(x)
    for _ in range(T):
        g = f.gradient(x)
        total += g @ g
        dx, state = conversion.update(g, state)
        x = x + dx
    return total / T / (f.beta * D)


def row(kind: str, T: int, start: Any = None) -> tuple[dict[str, float], Any]:
    """All numbers of one T, and where the search ended."""
    c = CONSTANTS[kind](T)
    conversion = SmoothConversion(hedge(), c)
    best, winner, end = search(conversion, T, start)
    again, gap = run(conversion, winner)
    if not (math.isclose(again, best, rel_tol=1e-9) and gap <= 1 + 1e-9):
        raise ArithmeticError(f"The run on the function that was found has {again} and gap {gap}; the search {best}.")
    alone, with_hedge = proved(kind, T)
    return {
        "proved, I": alone, "proved, Hedge": with_hedge, "proved, SGD": min(TRIVIAL, 2 / T), "any point": TRIVIAL,
        "true, I": worst_case(c.eta, c.a, T), "true, SGD": worst_case(1.0, None, T),
        "found, Hedge": best, "measured, I": measured(kind, T, Constant()),
    }, end  # fmt: skip


STYLES = {  # colour and dash: one colour a method
    "proved, I": ("BLUE", "dash"), "true, I": ("BLUE", "solid"), "measured, I": ("BLUE", "dot"),
    "proved, Hedge": ("ORANGE", "dash"), "found, Hedge": ("ORANGE", "solid"),
    "proved, SGD": ("GREEN", "dash"), "true, SGD": ("GREEN", "solid"), "any point": ("BLACK", "dash"),
}  # fmt: skip


def draw(path: Path, rows: dict[str, dict[int, dict[str, float]]]) -> None:
    """The picture: proved dashed, true and found solid, measured dotted."""
    from o2nc.lab.runner import charts

    lines = [
        charts.Line(np.asarray(list(by_T)), np.asarray([row[name] for row in by_T.values()]), name,
                    getattr(charts, colour), panel=panel, dash=dash)
        for panel, by_T in enumerate(rows.values()) for name, (colour, dash) in STYLES.items()
    ]  # fmt: skip
    titles = ("average squared gradient / (beta D), paper's step", "the same, sharp step")
    chart = charts.Chart(titles, lines, words="rounds T", log=("xy", "xy"))
    charts.figure(chart).savefig(path, dpi=160)


def main() -> None:
    """Print a row a T, and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", nargs="*", type=int, default=list(ROUNDS))
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    if PEPit is None:
        print("PEPit is not installed; `pip install pepit` or the extra `bench` brings it.")
        return
    rows: dict[str, dict[int, dict[str, float]]] = {}
    for kind in CONSTANTS:
        rows[kind], start = {}, None
        for T in sorted(arguments.rounds):
            rows[kind][T], start = row(kind, T, start)
            print(f"{kind} T = {T:<3}", "  ".join(f"{k} {v:.4f}" for k, v in rows[kind][T].items()), flush=True)
    if arguments.figure:
        draw(arguments.figure, rows)


if __name__ == "__main__":
    main()
