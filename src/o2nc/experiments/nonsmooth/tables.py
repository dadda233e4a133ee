"""The tables of the nonsmooth experiment as rows of text."""

from typing import Any

from ..runner.tables import Table, holds, interval, number, terms
from .findings import lemma_holds
from .methods import METHODS

KINDS = {"theorem2": "Theorem 2", "theorem2_tuned": "Theorem 2, tuned", "tight": "tight", "held_out": "held out"}


def tables(found: dict[str, Any]) -> list[Table]:
    """All tables in their order.

    Reference: Algorithm 2 and Theorem 2.
    """
    made = [_results(found), _best(found), _certificates(found), _ladder(found), _lemmas(found), _rate(found)]
    return [*made, *([_sandwich(found)] if found["sandwich"] else []), _tau(found), _constants(found)]


def _by_method(found: dict[str, Any], cells: Any) -> list[list[str]]:
    return [
        [name, METHODS[method].words, *cells(row)]
        for name, methods in found["results"].items()
        for method, row in methods.items()
    ]


def _pm(row: dict[str, Any], key: str) -> str:
    return f"{row[key]:.4f} +- {row[f'{key}_stderr']:.4f}"


def _results(found: dict[str, Any]) -> Table:
    def cells(row: dict[str, Any]) -> list[str]:
        low, high = row["less_identity"]
        return [
            _pm(row, "measure"), f"[{low:.4f}, {high:.4f}]", f"{row['gradient']:.4f}", f"{row['spread']:.4f}",
            f"{row['measure_tau']:.4f}", f"{row['sharper']:.4f}", f"{row['value']:.4f}", f"{row['output']:.4f}",
            f"{row['regret']:.2f}" if "regret" in row else "",
        ]  # fmt: skip

    s = found["settings"]
    caption = (
        f"Means over {s['replications']} paired replications of T = {s['T']} samples, all constants as prescribed. "
        "The measure is that of the run's own witness, in expectation over tau; at tau alone it is an estimate of the "
        "same, and 'sharper' is the least measure of any weights on a window before tau with the same mean. Both are "
        "upper bounds on the paper's measure. The interval is of the difference to Algorithm 2 with I."
    )
    header = ["", "method", "measure", "less that of I", "mean gradient", "spread", "at tau", "sharper", "f, mean",
              "f, output", "regret"]  # fmt: skip
    return Table("results", "Results as prescribed", caption, header, _by_method(found, cells))


def _best(found: dict[str, Any]) -> Table:
    def cells(row: dict[str, Any]) -> list[str]:
        best = row["best"]
        end = ", the largest" if best["at_an_end"] else ""
        return [f"{best['factor']:g}{end}", _pm(best, "measure"), f"{best['value']:.4f}",
                f"{best['output']:.4f}"]  # fmt: skip

    caption = (
        "The step length times 1, 4, 16 or 64, whichever has the smallest measure on these runs. Theorem 2 holds for "
        "any step length; the baselines have no prescription."
    )
    header = ["", "method", "factor", "measure", "f, mean", "f, output"]
    return Table("best", "Results with the best of four step lengths", caption, header, _by_method(found, cells))


def _certificates(found: dict[str, Any]) -> Table:
    rows = []
    for name, methods in found["results"].items():
        for method, row in methods.items():
            for kind, c in row.get("certificate", {}).items():
                sides = [number(c["measured"]), number(c["bound"]), interval(c["interval"])]
                ratio = f"{c['bound'] / c['measured']:.3f}"
                rows.append([name, METHODS[method].words, KINDS[kind], *sides, ratio, holds(c), terms(c)])
    caption = "Bounds on the expected measure of the output, with the measured regret, and what they are made of."
    header = ["", "method", "certificate", "measured", "bound", "95% interval", "bound / measured", "holds", "terms"]
    return Table("certificates", "Certificates of Algorithm 2", caption, header, rows)


def _ladder(found: dict[str, Any]) -> Table:
    names = list(found["ladder"])
    rungs = list(next(iter(found["ladder"].values())))
    rows = [[rung, *(number(found["ladder"][name][rung]) for name in names)] for rung in rungs]
    caption = (
        "Algorithm 2 with I: Theorem 2 with one worst case after the other replaced by what was measured. Every "
        "row keeps the replacements above it, except that the held-out samples replace trackers and noise "
        "together."
    )
    return Table("ladder", "From Theorem 2 to the measured value", caption, ["measured instead", *names], rows)


def _lemmas(found: dict[str, Any]) -> Table:
    rows = [
        [name, METHODS[method].words, lemma, number(row["measured"]), interval(row["interval"]),
         number(row["bound"]), "yes" if lemma_holds(row) else "NO"]
        for name, methods in found["lemmas"].items()
        for method, kinds in methods.items()
        for lemma, row in kinds.items()
    ]  # fmt: skip
    caption = (
        "The lemmas of the appendix. The first is an identity between expectations: the difference of its sides is "
        "printed. Intervals are Student's for 99.9%; a lemma fails if its bound is below the interval."
    )
    header = ["", "method", "lemma", "measured", "interval", "bound", "holds"]
    return Table("lemmas", "Lemmas", caption, header, rows)


def _rate(found: dict[str, Any]) -> Table:
    rows = [
        [name, f"{row['T']}", number(row["measure"]), f"{row['stderr']:.1e}", number(row["held_out"]),
         number(row["tight"]), number(row["theorem2"]), number(row["theorem2_tuned"])]
        for name, rate in found["rate"].items()
        for row in rate["rows"]
    ]  # fmt: skip
    slopes = ", ".join(f"{name} {rate['slope']:.3f}" for name, rate in found["rate"].items() if rate["slope"])
    caption = f"Algorithm 2 with I, tuned for each T. Theorem 2 has the slope -2/7 = -0.286; fitted here: {slopes}."
    header = ["", "T", "measure", "error", "held out", "tight", "Theorem 2", "tuned"]
    return Table("rate", "The measure against T", caption, header, rows)


def _sandwich(found: dict[str, Any]) -> Table:
    rows = [
        [name, f"{i}", *(number(both[key][i]) for key in ("lower", "grid", "sharper", "witness"))]
        for name, both in found["sandwich"].items()
        for i in range(len(both["lower"]))
    ]
    caption = (
        "The paper's measure at outputs of Algorithm 2 with I in the plane: a lower bound by weak duality, and "
        "upper bounds from atoms on a grid, from the best weights on the window and from the run's own weights."
    )
    header = ["", "replication", "lower bound", "grid", "window", "own weights"]
    return Table("sandwich", "The measure from both sides", caption, header, rows)


def _tau(found: dict[str, Any]) -> Table:
    rows = [[name, f"{t['draws']}", f"{t['bins']}", f"{t['statistic']:.2f}", f"{t['p']:.3f}"]
            for name, t in found["tau"].items()]  # fmt: skip
    caption = "A chi-square test of the rounds tau that the first replications draw against their law."
    return Table("tau", "The law of tau", caption, ["", "draws", "bins", "chi-square", "p"], rows)


def _constants(found: dict[str, Any]) -> Table:
    rows = [
        [name, f"{c['d']}", *(number(c[key]) for key in ("L", "M", "sigma")), number(found["noise"][name]["measured"]),
         number(found["noise"][name]["largest"]), *(number(c[key]) for key in ("eps", "a", "eta"))]
        for name, c in found["constants"].items()
    ]  # fmt: skip
    caption = (
        "Bounds on gradient, range and noise, derived in the docstrings; the root mean square of the noise along "
        "the runs of Algorithm 2 with I, its mean and its largest over replications; and the constants of the "
        "algorithm."
    )
    header = ["", "d", "L", "M", "sigma", "noise measured", "largest", "eps_T", "a", "eta"]
    return Table("constants", "Constants", caption, header, rows)


def summary(found: dict[str, Any]) -> list[Table]:
    """The results of each objective, for a terminal.

    Reference: Algorithm 2 and Theorem 2.
    """
    T, made = found["settings"]["T"], []
    for name, results in found["results"].items():
        rows = []
        for key, row in results.items():
            measure, best = f"{row['measure']:.4f}+-{row['measure_stderr']:.4f}", row["best"]
            tight = f"{row['certificate']['tight']['bound'] / row['measure']:.3f}" if "certificate" in row else ""
            regret = f"{row['regret']:.2f}" if "regret" in row else ""
            longer = f"{best['measure']:.4f} (x{best['factor']:g})"
            rows.append([key, measure, f"{row['sharper']:.4f}", f"{row['output']:.4f}", regret, tight, longer])
        header = [f"{name}, T = {T}", "measure", "sharper", "f, output", "regret", "tight / measure", "best step"]
        made.append(Table(name, "", "", header, rows))
    return made
