"""The numbers of a reproduction as tables of text, in the order in which they are printed."""

from collections.abc import Iterator
from typing import Any

from ..runner.paired import HORIZON
from ..runner.tables import Table, holds, interval, number, terms
from . import published
from .methods import METHODS
from .numbers import LEARNERS, TIGHT, tight_ratios

METRIC_WORDS = {"gap": "final gap", "average": "average of |grad|^2", "instant": "|grad|^2 at the end"}
STEPS = ("tracker", "prior", "learning", "total")
CERTIFICATES = {
    "tight": "tight",
    "tight_regret": "tight, with the regret",
    "theorem1": "Theorem 1",
    "theorem1_sharp": "Theorem 1, sharp",
}
VERDICTS = {True: "yes", False: "NO", None: "not reached"}


def tables(found: dict[str, Any]) -> list[Table]:
    """All tables of a reproduction.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    made = [_results(found), _paired(found), _reductions(found), *_exact(found)]
    made += [_decomposition(found, learner) for learner in LEARNERS]
    made += [_learner(found), _certificates(found), _every_certificate(found)]
    return [*made, *([_seeds(found)] if found["further_seeds"]["seeds"] else []), _agreement(found)]


def summary(found: dict[str, Any]) -> list[Table]:
    """The results beside the published ones and the parts of the gain, for a terminal.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    t, results, parts = found["iteration"], [], []
    for name, methods in found["results"].items():
        for method, row in methods.items():
            printed = published.RESULTS[name].get(method, {}) if t == published.ITERATIONS else {}
            cells = [cell for k in published.METRICS for cell in (_plain(k, row[k]), printed.get(k, ""))]
            results.append([f"{name} {method}", *cells])
    for method, end in LEARNERS.items():
        for name, gain in found[f"decomposition{end}"].items():
            tracker, prior, _, total = (f"{gain['percent'][step]:.3g}" for step in STEPS)
            error = 100 / found["results"][name]["sgd"]["gap"] * _half(gain["intervals"]["learning"])
            learning = f"{gain['percent']['learning']:.2g}+-{error:.1g}"
            weight, tight = (
                found[f"learner{end}"][name]["weight"],
                found["certificates_by_method"][name][method]["tight"],
            )
            bound = f"{tight['bound']:.4f}+-{_half(tight['interval']):.4f}"
            parts.append([f"{name} {method}", tracker, prior, learning, total, f"{weight:.7f}", bound])
    columns = [cell for metric in published.METRICS for cell in (metric, "paper")]
    gain = ["gain %", *STEPS, "weight of P", "certificate"]
    return [Table("results", "", "", [f"t = {t}", *columns], results), Table("gain", "", "", gain, parts)]


def _plain(metric: str, value: float) -> str:
    return f"{value:.6f}" if metric == "average" else f"{value:.4e}"


def _half(ends: list[float]) -> float:
    return (ends[1] - ends[0]) / 2


def _cells(found: dict[str, Any], table: str) -> dict[str, dict[str, Any]]:
    return {entry["cell"]: entry for entry in found["agreement"] if entry["table"] == table}


def _results(found: dict[str, Any]) -> Table:
    t, cells, rows = found["iteration"], _cells(found, "results"), []
    for name, methods in found["results"].items():
        for method, values in methods.items():
            row = [name, METHODS[method].label]
            for k in published.METRICS:
                printed = cells.get(f"{name} {method} {k}", {}).get("printed", "") if t == published.ITERATIONS else ""
                value = f"{values[k]:.6f}" if k == "average" else number(values[k])
                row += [value, f"{found['errors'][name][method][k]:.1e}", printed]
            rows.append(row)
    R = found["settings"]["replications"]
    caption = f"Means over {R} paired replications at iteration {t}, their standard errors, and the published means."
    header = ["", "method", *(cell for k in published.METRICS for cell in (METRIC_WORDS[k], "error", "paper"))]
    return Table("results", f"Results at t = {t}", caption, header, rows)


def _paired(found: dict[str, Any]) -> Table:
    rows = []
    for name, metrics in found["paired"].items():
        for metric, ends in metrics.items():
            reached = found["iteration"] == published.ITERATIONS
            printed = f"[{', '.join(published.PAIRED[name][metric])}]" if reached else ""
            rows.append([name, METRIC_WORDS[metric], interval(ends), printed])
    caption = "Black-box + Hedge less SGD: paired, normal-approximation 95% intervals, as in the paper."
    return Table("paired", "Paired intervals", caption, ["", "metric", "measured", "paper"], rows)


def _reductions(found: dict[str, Any]) -> Table:
    counts, rows = _cells(found, "favourable"), []
    for cell, entry in _cells(found, "reductions").items():
        name, metric = cell.split()
        lower = [number(entry["measured"], 2), number(entry["stderr"], 2), entry["printed"]]
        rows.append([name, METRIC_WORDS[metric], *lower, number(counts[cell]["measured"], 1), counts[cell]["printed"]])
    header = ["", "metric", "reduction, %", "error", "paper", "of 128 in favour", "paper"]
    caption = "By how much Black-box + Hedge lowers SGD's mean, and in how many replications it is lower."
    return Table("reductions", "Reductions", caption, header, rows)


def _exact(found: dict[str, Any]) -> Iterator[Table]:
    captions = {
        "initialisation": "Starting points, first gaps and gradient norms.",
        "constants": "Constants of the objectives and of the algorithm, each derived from the objective.",
        "definitions": "Numbers in the definition of the objectives.",
    }
    for table, caption in captions.items():
        rows = [
            [*cell.split(), entry["printed"], f"{entry['measured']:.9g}", VERDICTS[entry["agrees"]]]
            for cell, entry in _cells(found, table).items()
        ]
        yield Table(table, table.capitalize(), caption, ["", "quantity", "paper", "here", "agrees"], rows)


def _decomposition(found: dict[str, Any], learner: str) -> Table:
    key, label, rows = f"decomposition{LEARNERS[learner]}", METHODS[learner].label, []
    for metric in published.METRICS:
        for name, parts in found[key if metric == "gap" else f"{key}_{metric}"].items():
            steps = [f"{number(parts['percent'][s], 2)}% {interval(parts['intervals'][s], 2)}" for s in STEPS]
            rows.append([name, METRIC_WORDS[metric], *steps])
    caption = (
        "The gain over SGD in steps that add up: SGD to the tracker with I (tracker), to the fixed operator (I + P)/2 "
        f"(prior), to {label} (learning). Percent of SGD's mean, and the paired 95% interval of the gain itself."
    )
    return Table(key, f"Where the gain comes from: {label}", caption, ["", "metric", *STEPS], rows)


def _learner(found: dict[str, Any]) -> Table:
    rows = [
        [name, METHODS[method].label, f"{row['weight']:.7f}", f"{row['largest_move']:.1e}", f"{row['regret']:.4f}",
         f"{row['regret_stderr']:.4f}", f"{row['gap_relative_to_frozen']:.1e}"]
        for method, end in LEARNERS.items()
        for name, row in found[f"learner{end}"].items()
    ]  # fmt: skip
    measured = ["weight of P", "largest distance from 1/2", "regret against I", "error", "gap / frozen gap - 1"]
    caption = (
        "What was learned: the weight of P at the end, its largest distance from the prior at checkpoints, and the "
        "regret on the loss that was revealed."
    )
    return Table("learner", "What the learner learned", caption, ["", "method", *measured], rows)


def _certificates(found: dict[str, Any]) -> Table:
    rows = [
        [name, words, number(kinds[kind]["measured"], 5), number(kinds[kind]["bound"], 5),
         interval(kinds[kind]["interval"]), holds(kinds[kind]), terms(kinds[kind])]
        for name, kinds in found["certificates"].items()
        for kind, words in CERTIFICATES.items()
        if kind in kinds
    ]  # fmt: skip
    T = found["settings"]["iterations"]
    caption = (
        f"Bounds on the average squared gradient of Black-box + Hedge over the {T} rounds of the run. They are between "
        "expectations; the interval is that of the bound, which is estimated from the replications."
    )
    if T < HORIZON:
        caption += f" Theorem 1 is about the whole horizon of {HORIZON} rounds and is not evaluated here."
    header = ["", "certificate", "measured", "bound", "95% interval of the bound", "holds", "terms"]
    return Table("certificates", "Certificates", caption, header, rows)


def _every_certificate(found: dict[str, Any]) -> Table:
    ratios, rows = tight_ratios(found), []
    for name, methods in found["certificates_by_method"].items():
        for method, kinds in methods.items():
            tight, ratio = kinds["tight"], ratios[name][method]
            bounds = [number(tight["measured"], 5), number(tight["bound"], 5), interval(tight["interval"], 5)]
            sharp = number(kinds["theorem1_sharp"]["bound"], 3) if "theorem1_sharp" in kinds else "not reached"
            verdict = "yes" if ratio <= TIGHT else "NO"
            rows.append(
                [name, METHODS[method].label, *bounds, f"{ratio:.4f}", verdict, "none" if method == "sgd" else sharp]
            )
    T = found["settings"]["iterations"]
    caption = (
        f"The tight certificate of every method over the {T} rounds of the run (that of SGD, which has no tracker, is "
        f"the descent lemma), whether it is within {TIGHT} times the measured average, and the sharp bound of Theorem "
        f"1 for the loss that was revealed, which is about the whole horizon of {HORIZON} rounds."
    )
    bounds = ["measured", "tight", "95% interval", "tight / measured", f"within {TIGHT}", "Theorem 1, sharp"]
    return Table("certificates_by_method", "Certificates of every method", caption, ["", "method", *bounds], rows)


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
         "" if not e["stderr"] else f"{e['stderr']:.1e}", VERDICTS[e["agrees"]]]
        for e in found["agreement"]
    ]  # fmt: skip
    caption = (
        "Every published cell. What is not random must round to the printed digits; a random cell must lie within 4 "
        "standard errors of the difference of two independent experiments."
    )
    header = ["table", "cell", "paper", "here", "error", "agrees"]
    return Table("agreement", "All published cells", caption, header, rows)
