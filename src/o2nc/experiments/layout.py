"""The tables in the order and the words in which they are printed: rows of text, before any markup."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from . import paper
from .methods import METHODS
from .tables import TIGHT, tight_ratios

METRIC_WORDS = {"gap": "final gap", "average": "average of |grad|^2", "instant": "|grad|^2 at the end"}
CERTIFICATES = {
    "tight": "tight",
    "tight_regret": "tight, with the regret",
    "theorem1": "Theorem 1",
    "theorem1_sharp": "Theorem 1, sharp",
}


class Table(NamedTuple):
    """A table of text.

    >>> Table("a", "Title", "What it says.", ["x"], [["1"]]).rows
    [['1']]
    """

    name: str
    title: str
    caption: str
    header: list[str]
    rows: list[list[str]]


def layout(found: dict[str, Any]) -> list[Table]:
    """All tables of a reproduction.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    tables = [_results(found), _paired(found), _reductions(found), *_exact(found)]
    tables += [_decomposition(found), _decomposition(found, "learned"), _learner(found), _certificates(found)]
    tables.append(_every_certificate(found))
    if found["further_seeds"]["seeds"]:
        tables.append(_seeds(found))
    return [*tables, _agreement(found)]


def number(value: float | None, digits: int = 4) -> str:
    """A number as the tables print it.

    >>> number(1.663e-4), number(0.102682, 6), number(None)
    ('1.6630e-4', '0.102682', '')
    """
    if value is None:
        return ""
    if value == 0 or 0.1 <= abs(value) < 1e5:
        return f"{value:.{digits}f}".rstrip("0").rstrip(".") if value else "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _verdict(agrees: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not reached"}[agrees]


def _cells(found: dict[str, Any], table: str) -> dict[str, dict[str, Any]]:
    return {entry["cell"]: entry for entry in found["agreement"] if entry["table"] == table}


def _results(found: dict[str, Any]) -> Table:
    t, cells = found["iteration"], _cells(found, "results")
    header = ["", "method"]
    for metric in paper.METRICS:
        header += [METRIC_WORDS[metric], "error", "paper"]
    rows = []
    for name, methods in found["results"].items():
        for method, values in methods.items():
            row = [name, METHODS[method].label]
            for metric in paper.METRICS:
                entry = cells.get(f"{name} {method} {metric}", {})
                error = found["errors"][name][method][metric]
                printed = entry.get("printed", "") if t == paper.ITERATIONS else ""
                row += [_measure(metric, values[metric]), f"{error:.1e}", printed]
            rows.append(row)
    R = found["settings"]["replications"]
    caption = f"Means over {R} paired replications at iteration {t}, their standard errors, and the published means."
    return Table("results", f"Results at t = {t}", caption, header, rows)


def _measure(metric: str, value: float) -> str:
    return f"{value:.6f}" if metric == "average" else number(value)


def _paired(found: dict[str, Any]) -> Table:
    rows = []
    for name, metrics in found["paired"].items():
        for metric, (low, high) in metrics.items():
            printed = f"[{', '.join(paper.PAIRED[name][metric])}]" if found["iteration"] == paper.ITERATIONS else ""
            rows.append([name, METRIC_WORDS[metric], f"[{number(low)}, {number(high)}]", printed])
    caption = "Black-box + Hedge less SGD: paired, normal-approximation 95% intervals, as in the paper."
    return Table("paired", "Paired intervals", caption, ["", "metric", "measured", "paper"], rows)


def _reductions(found: dict[str, Any]) -> Table:
    percent, counts = _cells(found, "reductions"), _cells(found, "favourable")
    rows = []
    for cell, entry in percent.items():
        name, metric = cell.split()
        share = counts[cell]
        rows.append(
            [name, METRIC_WORDS[metric], number(entry["measured"], 2), number(entry["stderr"], 2), entry["printed"],
             number(share["measured"], 1), share["printed"]]
        )  # fmt: skip
    header = ["", "metric", "reduction, %", "error", "paper", "of 128 in favour", "paper"]
    caption = "By how much Black-box + Hedge lowers SGD's mean, and in how many replications it is lower."
    return Table("reductions", "Reductions", caption, header, rows)


def _exact(found: dict[str, Any]) -> Iterator[Table]:
    titles = {
        "initialisation": ("Initialisation", "Starting points, first gaps and gradient norms."),
        "constants": (
            "Constants",
            "Constants of the objectives and of the algorithm, each derived from the objective.",
        ),
        "definitions": ("Definitions", "Numbers in the definition of the objectives."),
    }
    for table, (title, caption) in titles.items():
        rows = [
            [*cell.split(), entry["printed"], f"{entry['measured']:.9g}", _verdict(entry["agrees"])]
            for cell, entry in _cells(found, table).items()
        ]
        yield Table(table, title, caption, ["", "quantity", "paper", "here", "agrees"], rows)


def _decomposition(found: dict[str, Any], learner: str = "hedge") -> Table:
    key = "decomposition" if learner == "hedge" else f"decomposition_{learner}"
    rows = []
    for metric in paper.METRICS:
        for name, parts in found[key if metric == "gap" else f"{key}_{metric}"].items():
            row = [name, METRIC_WORDS[metric]]
            for step in ("tracker", "prior", "learning", "total"):
                low, high = parts["intervals"][step]
                row.append(f"{number(parts['percent'][step], 2)}% [{number(low, 2)}, {number(high, 2)}]")
            rows.append(row)
    caption = (
        "The gain over SGD in steps that add up: SGD to the tracker with I (tracker), to the fixed operator (I + P)/2 "
        f"(prior), to {METHODS[learner].label} (learning). Percent of SGD's mean, and the paired 95% interval of the "
        "gain itself."
    )
    title = f"Where the gain comes from: {METHODS[learner].label}"
    return Table(key, title, caption, ["", "metric", "tracker", "prior", "learning", "total"], rows)


def _learner(found: dict[str, Any]) -> Table:
    rows = [
        [name, METHODS[method].label, f"{row['weight']:.7f}", f"{row['largest_move']:.1e}", f"{row['regret']:.4f}",
         f"{row['regret_stderr']:.4f}", f"{row['gap_relative_to_frozen']:.1e}"]
        for method, key in (("hedge", "learner"), ("learned", "learner_learned"))
        for name, row in found[key].items()
    ]  # fmt: skip
    header = [
        "",
        "method",
        "weight of P",
        "largest distance from 1/2",
        "regret against I",
        "error",
        "gap / frozen gap - 1",
    ]
    caption = (
        "What was learned: the weight of P at the end, its largest distance from the prior at checkpoints, and the "
        "regret on the loss that was revealed."
    )
    return Table("learner", "What the learner learned", caption, header, rows)


def _certificates(found: dict[str, Any]) -> Table:
    rows = []
    for name, kinds in found["certificates"].items():
        for kind, words in CERTIFICATES.items():
            if kind not in kinds:
                continue
            c = kinds[kind]
            terms = ", ".join(f"{term} {number(value, 3)}" for term, value in c["terms"].items())
            interval = "" if c["interval"] is None else f"[{number(c['interval'][0])}, {number(c['interval'][1])}]"
            rows.append([name, words, number(c["measured"], 5), number(c["bound"], 5), interval,
                         holds(c), terms])  # fmt: skip
    T = found["settings"]["iterations"]
    caption = (
        f"Bounds on the average squared gradient of Black-box + Hedge over the {T} rounds of the run. They are between "
    )
    caption += "expectations; the interval is that of the bound, which is estimated from the replications."
    if paper.T_RUN > T:
        caption += f" Theorem 1 is about the whole horizon of {paper.T_RUN} rounds and is not evaluated here."
    header = ["", "certificate", "measured", "bound", "95% interval of the bound", "holds", "terms"]
    return Table("certificates", "Certificates", caption, header, rows)


def holds(certificate: dict[str, Any]) -> str:
    """Whether the bound holds: it is between expectations, so an estimate of it may miss by its own error.

    >>> holds({"measured": 1.0, "bound": 0.9, "interval": [0.7, 1.1], "holds": False})
    'within its interval'
    """
    if certificate["holds"]:
        return "yes"
    interval = certificate["interval"]
    return "within its interval" if interval is not None and certificate["measured"] <= interval[1] else "NO"


def _every_certificate(found: dict[str, Any]) -> Table:
    rows = []
    ratios = tight_ratios(found)
    for name, methods in found["certificates_by_method"].items():
        for method, kinds in methods.items():
            tight, sharp = kinds["tight"], kinds.get("theorem1_sharp")
            low, high = tight["interval"]
            ratio = ratios[name][method]
            rows.append(
                [name, METHODS[method].label, number(tight["measured"], 5), number(tight["bound"], 5),
                 f"[{number(low, 5)}, {number(high, 5)}]", f"{ratio:.4f}", "yes" if ratio <= TIGHT else "NO",
                 number(sharp["bound"], 3) if sharp else "none" if method == "sgd" else "not reached"]
            )  # fmt: skip
    T = found["settings"]["iterations"]
    caption = (
        f"The tight certificate of every method over the {T} rounds of the run (that of SGD, which has no tracker, is "
        f"the descent lemma), whether it is within {TIGHT} times the measured average, and the sharp bound of Theorem "
        f"1 for the loss that was revealed, which is about the whole horizon of {paper.T_RUN} rounds."
    )
    header = [
        "",
        "method",
        "measured",
        "tight",
        "95% interval",
        "tight / measured",
        f"within {TIGHT}",
        "Theorem 1, sharp",
    ]
    return Table("certificates_by_method", "Certificates of every method", caption, header, rows)


def _seeds(found: dict[str, Any]) -> Table:
    further = found["further_seeds"]
    rows = [[seed, ", ".join(cells)] for seed, cells in further["disagreeing"].items()]
    caption = (
        f"All published cells agree in {further['agree']} of {further['seeds']} further seeds; the others are listed."
    )
    return Table("seeds", "Further seeds", caption, ["seed", "cells that disagree"], rows or [["none", ""]])


def _agreement(found: dict[str, Any]) -> Table:
    rows = [
        [e["table"], e["cell"], e["printed"], "" if e["measured"] is None else f"{e['measured']:.7g}",
         "" if not e["stderr"] else f"{e['stderr']:.1e}", _verdict(e["agrees"])]
        for e in found["agreement"]
    ]  # fmt: skip
    caption = (
        "Every published cell. What is not random must round to the printed digits; a random cell must lie within 4 "
        "standard errors of the difference of two independent experiments."
    )
    header = ["table", "cell", "paper", "here", "error", "agrees"]
    return Table("agreement", "All published cells", caption, header, rows)
