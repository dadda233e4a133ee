"""The numbers of the nonsmooth experiment as tables of text."""

from collections.abc import Iterator
from typing import Any

from ..runner.tables import Table, holds, number, table, terms
from .findings import lemma_holds
from .methods import METHODS

KINDS = {"theorem2": "Theorem 2", "theorem2_tuned": "Theorem 2, tuned", "tight": "tight", "held_out": "held out"}


def tables(found: dict[str, Any]) -> list[Table]:
    """All tables in their order.

    Reference: Algorithm 2 and Theorem 2.
    """
    made = [_results(found), _best(found), _certificates(found), _ladder(found), _lemmas(found), _rate(found)]
    return [*made, *([_sandwich(found)] if found["sandwich"] else []), _tau(found), _constants(found)]


def summary(found: dict[str, Any]) -> list[Table]:
    """The results of each objective, for a terminal.

    Reference: Algorithm 2 and Theorem 2.
    """
    cells = "{method} | {measure:.4f}+-{measure_stderr:.4f} | {sharper:.4f} | {output:.4f} | {regret_text} | "
    cells += "{tight} | {best[measure]:.4f} (x{best[factor]:g})"
    header = ", T = {settings[T]} | measure | sharper | f, output | regret | tight / measure | best step"
    return [
        table(name, "", "", name + header.format(**found), cells, [row for row in _rows(found) if row["name"] == name])
        for name in found["results"]
    ]


def _rows(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, methods in found["results"].items():
        for method, row in methods.items():
            tight = f"{row['certificate']['tight']['bound'] / row['measure']:.3f}" if "certificate" in row else ""
            regret = f"{row['regret']:.2f}" if "regret" in row else ""
            named = {"name": name, "method": method, "label": METHODS[method].words}
            yield row | named | {"regret_text": regret, "tight": tight}


def _results(found: dict[str, Any]) -> Table:
    caption = (
        "Means over {replications} paired replications of T = {T} samples, all constants as prescribed. "
        "The measure is that of the run's own witness, in expectation over tau; at tau alone it is an estimate of the "
        "same, and 'sharper' is the least measure of any weights on a window before tau with the same mean. Both are "
        "upper bounds on the paper's measure. The interval is of the difference to Algorithm 2 with I."
    ).format(**found["settings"])
    header = " | method | measure | less that of I | mean gradient | spread | at tau | sharper | f, mean | f, output"
    cells = "{name} | {label} | {measure:.4f} +- {measure_stderr:.4f} | "
    cells += "[{less_identity[0]:.4f}, {less_identity[1]:.4f}] | {gradient:.4f} | {spread:.4f} | {measure_tau:.4f} | "
    cells += "{sharper:.4f} | {value:.4f} | {output:.4f} | {regret_text}"
    return table("results", "Results as prescribed", caption, header + " | regret", cells, _rows(found))


def _best(found: dict[str, Any]) -> Table:
    rows = [row | row["best"] | {"end": ", the largest" if row["best"]["at_an_end"] else ""} for row in _rows(found)]
    cells = "{name} | {label} | {factor:g}{end} | {measure:.4f} +- {measure_stderr:.4f} | {value:.4f} | {output:.4f}"
    caption = (
        "The step length times 1, 4, 16 or 64, whichever has the smallest measure on these runs. Theorem 2 holds for "
        "any step length; the baselines have no prescription."
    )
    header = " | method | factor | measure | f, mean | f, output"
    return table("best", "Results with the best of four step lengths", caption, header, cells, rows)


def _certificates(found: dict[str, Any]) -> Table:
    rows = (
        c
        | row
        | {
            "measured": c["measured"],
            "kind": KINDS[kind],
            "ratio": c["bound"] / c["measured"],
            "verdict": holds(c),
            "made_of": terms(c),
        }
        for row in _rows(found)
        for kind, c in row.get("certificate", {}).items()
    )
    caption = "Bounds on the expected measure of the output, with the measured regret, and what they are made of."
    header = " | method | certificate | measured | bound | 95% interval | bound / measured | holds | terms"
    cells = "{name} | {label} | {kind} | {measured:n} | {bound:n} | {interval:i} | {ratio:.3f} | {verdict} | {made_of}"
    return table("certificates", "Certificates of Algorithm 2", caption, header, cells, rows)


def _ladder(found: dict[str, Any]) -> Table:
    names = list(found["ladder"])
    rows = [[rung, *(number(found["ladder"][name][rung]) for name in names)] for rung in found["ladder"][names[0]]]
    caption = (
        "Algorithm 2 with I: Theorem 2 with one worst case after the other replaced by what was measured. Every row "
        "keeps the replacements above it, except that the held-out samples replace trackers and noise together."
    )
    return Table("ladder", "From Theorem 2 to the measured value", caption, ["measured instead", *names], rows)


def _lemmas(found: dict[str, Any]) -> Table:
    rows = (
        {"name": name, "label": METHODS[method].words, "lemma": lemma, "verdict": "yes" if lemma_holds(row) else "NO"}
        | row
        for name, methods in found["lemmas"].items()
        for method, kinds in methods.items()
        for lemma, row in kinds.items()
    )
    caption = (
        "The lemmas of the appendix. The first is an identity between expectations: the difference of its sides is "
        "printed. Intervals are Student's for 99.9%; a lemma fails if its bound is below the interval."
    )
    header = " | method | lemma | measured | interval | bound | holds"
    cells = "{name} | {label} | {lemma} | {measured:n} | {interval:i} | {bound:n} | {verdict}"
    return table("lemmas", "Lemmas", caption, header, cells, rows)


def _rate(found: dict[str, Any]) -> Table:
    slopes = ", ".join(f"{name} {rate['slope']:.3f}" for name, rate in found["rate"].items() if rate["slope"])
    caption = f"Algorithm 2 with I, tuned for each T. Theorem 2 has the slope -2/7 = -0.286; fitted here: {slopes}."
    header = " | T | measure | error | held out | tight | Theorem 2 | tuned"
    cells = "{name} | {T} | {measure:n} | {stderr:.1e} | {held_out:n} | {tight:n} | {theorem2:n} | {theorem2_tuned:n}"
    rows = ({"name": name, **row} for name, rate in found["rate"].items() for row in rate["rows"])
    return table("rate", "The measure against T", caption, header, cells, rows)


def _sandwich(found: dict[str, Any]) -> Table:
    rows = [
        [name, f"{i}", *map(number, bounds)]
        for name, both in found["sandwich"].items()
        for i, bounds in enumerate(zip(*(both[key] for key in ("lower", "grid", "sharper", "witness")), strict=True))
    ]
    caption = (
        "The paper's measure at outputs of Algorithm 2 with I in the plane: a lower bound by weak duality, and "
        "upper bounds from atoms on a grid, from the best weights on the window and from the run's own weights."
    )
    header = ["", "replication", "lower bound", "grid", "window", "own weights"]
    return Table("sandwich", "The measure from both sides", caption, header, rows)


def _tau(found: dict[str, Any]) -> Table:
    rows = ({"name": name, **test} for name, test in found["tau"].items())
    caption = "A chi-square test of the rounds tau that the first replications draw against their law."
    cells = "{name} | {draws} | {bins} | {statistic:.2f} | {p:.3f}"
    return table("tau", "The law of tau", caption, " | draws | bins | chi-square | p", cells, rows)


def _constants(found: dict[str, Any]) -> Table:
    rows = ({"name": name, **c, **found["noise"][name]} for name, c in found["constants"].items())
    caption = (
        "Bounds on gradient, range and noise, derived in the docstrings; the root mean square of the noise along "
        "the runs of Algorithm 2 with I, its mean and its largest over replications; and the constants of the "
        "algorithm."
    )
    header = " | d | L | M | sigma | noise measured | largest | eps_T | a | eta"
    cells = "{name} | {d} | {L:n} | {M:n} | {sigma:n} | {measured:n} | {largest:n} | {eps:n} | {a:n} | {eta:n}"
    return table("constants", "Constants", caption, header, cells, rows)
