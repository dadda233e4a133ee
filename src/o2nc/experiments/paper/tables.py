"""The numbers of a reproduction as tables of text, in the order in which they are printed."""

from collections.abc import Iterator
from typing import Any

from ..runner.paired import HORIZON
from ..runner.tables import Table, holds, interval, number, table, terms
from . import published
from .methods import METHODS
from .numbers import LEARNERS, TIGHT, tight_ratios

METRIC_WORDS = {"gap": "final gap", "average": "average of |grad|^2", "instant": "|grad|^2 at the end"}
STEPS = ("tracker", "prior", "learning", "total")
CERTIFICATES = {
    "tight": "tight", "tight_regret": "tight, with the regret", "theorem1": "Theorem 1",
    "theorem1_sharp": "Theorem 1, sharp",
}  # fmt: skip
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
    gains = [
        {"name": name, "method": method, **gain["percent"], "weight": found[f"learner{end}"][name]["weight"],
         "error": 100 / found["results"][name]["sgd"]["gap"] * _half(gain["intervals"]["learning"]),
         "bound": tight["bound"], "half": _half(tight["interval"])}
        for method, end in LEARNERS.items()
        for name, gain in found[f"decomposition{end}"].items()
        for tight in [found["certificates_by_method"][name][method]["tight"]]
    ]  # fmt: skip
    cells = "{name} {method} | {tracker:.3g} | {prior:.3g} | {learning:.2g}+-{error:.1g} | {total:.3g} | {weight:.7f}"
    header = "gain % | tracker | prior | learning | total | weight of P | certificate"
    return [
        table("results", "", "", f"t = {found['iteration']} | gap | paper | average | paper | instant | paper",
              "{name} {method} | {gap:.4e} | {gap_printed} | {average:.6f} | {average_printed} | {instant:.4e} | "
              "{instant_printed}", _result_rows(found)),
        table("gain", "", "", header, cells + " | {bound:.4f}+-{half:.4f}", gains),
    ]  # fmt: skip


def _half(ends: list[float]) -> float:
    return (ends[1] - ends[0]) / 2


def _cells(found: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {entry["cell"]: entry for entry in found["agreement"] if entry["table"] == name}


def _result_rows(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    reached = found["iteration"] == published.ITERATIONS
    for name, methods in found["results"].items():
        for method, values in methods.items():
            printed = published.RESULTS[name].get(method, {}) if reached else {}
            row = {"name": name, "method": method, "label": METHODS[method].label, **values}
            row |= {f"{k}_printed": printed.get(k, "") for k in values}
            yield row | {f"{k}_error": error for k, error in found["errors"][name][method].items()}


def _results(found: dict[str, Any]) -> Table:
    t, R = found["iteration"], found["settings"]["replications"]
    caption = f"Means over {R} paired replications at iteration {t}, their standard errors, and the published means."
    header = " | ".join(["", "method", *(f"{METRIC_WORDS[k]} | error | paper" for k in published.METRICS)])
    values = (f"{{{k}:{'.6f' if k == 'average' else 'n'}}} | {{{k}_error:.1e}} | {{{k}_printed}}" for k in METRIC_WORDS)
    cells = " | ".join(["{name}", "{label}", *values])
    return table("results", f"Results at t = {t}", caption, header, cells, _result_rows(found))


def _paired(found: dict[str, Any]) -> Table:
    reached = found["iteration"] == published.ITERATIONS
    rows = [
        [name, METRIC_WORDS[k], interval(ends), f"[{', '.join(published.PAIRED[name][k])}]" if reached else ""]
        for name, metrics in found["paired"].items()
        for k, ends in metrics.items()
    ]
    caption = "Black-box + Hedge less SGD: paired, normal-approximation 95% intervals, as in the paper."
    return Table("paired", "Paired intervals", caption, ["", "metric", "measured", "paper"], rows)


def _reductions(found: dict[str, Any]) -> Table:
    counts = _cells(found, "favourable")
    rows = (
        {"name": name, "metric": METRIC_WORDS[metric], "count": counts[cell], **entry}
        for cell, entry in _cells(found, "reductions").items()
        for name, metric in [cell.split()]
    )
    header = " | metric | reduction, % | error | paper | of 128 in favour | paper"
    cells = "{name} | {metric} | {measured:n2} | {stderr:n2} | {printed} | {count[measured]:n1} | {count[printed]}"
    caption = "By how much Black-box + Hedge lowers SGD's mean, and in how many replications it is lower."
    return table("reductions", "Reductions", caption, header, cells, rows)


def _exact(found: dict[str, Any]) -> Iterator[Table]:
    captions = {
        "initialisation": "Starting points, first gaps and gradient norms.",
        "constants": "Constants of the objectives and of the algorithm, each derived from the objective.",
        "definitions": "Numbers in the definition of the objectives.",
    }
    for name, caption in captions.items():
        rows = [
            [*cell.split(), entry["printed"], f"{entry['measured']:.9g}", VERDICTS[entry["agrees"]]]
            for cell, entry in _cells(found, name).items()
        ]
        yield Table(name, name.capitalize(), caption, ["", "quantity", "paper", "here", "agrees"], rows)


def _decomposition(found: dict[str, Any], learner: str) -> Table:
    key, label = f"decomposition{LEARNERS[learner]}", METHODS[learner].label
    rows = [
        [name, METRIC_WORDS[k], *(f"{number(p['percent'][s], 2)}% {interval(p['intervals'][s], 2)}" for s in STEPS)]
        for k in published.METRICS
        for name, p in found[key if k == "gap" else f"{key}_{k}"].items()
    ]
    caption = (
        "The gain over SGD in steps that add up: SGD to the tracker with I (tracker), to the fixed operator (I + P)/2 "
        f"(prior), to {label} (learning). Percent of SGD's mean, and the paired 95% interval of the gain itself."
    )
    return Table(key, f"Where the gain comes from: {label}", caption, ["", "metric", *STEPS], rows)


def _learner(found: dict[str, Any]) -> Table:
    rows = (
        {"name": name, "label": METHODS[method].label, **row}
        for method, end in LEARNERS.items()
        for name, row in found[f"learner{end}"].items()
    )
    header = " | method | weight of P | largest distance from 1/2 | regret against I | error | gap / frozen gap - 1"
    cells = "{name} | {label} | {weight:.7f} | {largest_move:.1e} | {regret:.4f} | {regret_stderr:.4f} | "
    caption = (
        "What was learned: the weight of P at the end, its largest distance from the prior at checkpoints, and the "
        "regret on the loss that was revealed."
    )
    made = cells + "{gap_relative_to_frozen:.1e}"
    return table("learner", "What the learner learned", caption, header, made, rows)


def _certificates(found: dict[str, Any]) -> Table:
    rows = (
        {**c, "name": name, "words": CERTIFICATES[kind], "verdict": holds(c), "made_of": terms(c)}
        for name, kinds in found["certificates"].items()
        for kind, c in kinds.items()
        if kind in CERTIFICATES
    )
    T = found["settings"]["iterations"]
    caption = (
        f"Bounds on the average squared gradient of Black-box + Hedge over the {T} rounds of the run. They are between "
        "expectations; the interval is that of the bound, which is estimated from the replications."
    )
    if T < HORIZON:
        caption += f" Theorem 1 is about the whole horizon of {HORIZON} rounds and is not evaluated here."
    header = " | certificate | measured | bound | 95% interval of the bound | holds | terms"
    cells = "{name} | {words} | {measured:n5} | {bound:n5} | {interval:i} | {verdict} | {made_of}"
    return table("certificates", "Certificates", caption, header, cells, rows)


def _every_certificate(found: dict[str, Any]) -> Table:
    ratios, T = tight_ratios(found), found["settings"]["iterations"]
    rows = (
        {**kinds["tight"], "name": name, "label": METHODS[method].label, "ratio": ratios[name][method],
         "within": VERDICTS[ratios[name][method] <= TIGHT],
         "sharp": number(kinds["theorem1_sharp"]["bound"], 3) if "theorem1_sharp" in kinds
         else "none" if method == "sgd" else "not reached"}
        for name, methods in found["certificates_by_method"].items()
        for method, kinds in methods.items()
    )  # fmt: skip
    caption = (
        f"The tight certificate of every method over the {T} rounds of the run (that of SGD, which has no tracker, is "
        f"the descent lemma), whether it is within {TIGHT} times the measured average, and the sharp bound of Theorem "
        f"1 for the loss that was revealed, which is about the whole horizon of {HORIZON} rounds."
    )
    header = f" | method | measured | tight | 95% interval | tight / measured | within {TIGHT} | Theorem 1, sharp"
    cells = "{name} | {label} | {measured:n5} | {bound:n5} | {interval:i5} | {ratio:.4f} | {within} | {sharp}"
    return table("certificates_by_method", "Certificates of every method", caption, header, cells, rows)


def _seeds(found: dict[str, Any]) -> Table:
    further = found["further_seeds"]
    rows = [[seed, ", ".join(cells)] for seed, cells in further["disagreeing"].items()]
    counted = f"All published cells agree in {further['agree']} of {further['seeds']} further seeds"
    header = ["seed", "cells that disagree"]
    return Table("seeds", "Further seeds", f"{counted}; the others are listed.", header, rows or [["none", ""]])


def _agreement(found: dict[str, Any]) -> Table:
    rows = (
        {**e, "here": "" if e["measured"] is None else f"{e['measured']:.7g}", "verdict": VERDICTS[e["agrees"]],
         "error": f"{e['stderr']:.1e}" if e["stderr"] else ""}
        for e in found["agreement"]
    )  # fmt: skip
    caption = (
        "Every published cell. What is not random must round to the printed digits; a random cell must lie within 4 "
        "standard errors of the difference of two independent experiments."
    )
    header, cells = "table | cell | paper | here | error | agrees", "{table} | {cell} | {printed} | {here} | {error} | "
    return table("agreement", "All published cells", caption, header, cells + "{verdict}", rows)
