"""The numbers of a reproduction as rows of tables, whose words and cells are in ``tables.toml``."""

from collections.abc import Iterator
from typing import Any

from ..runner.paired import HORIZON
from ..runner.tables import Layout, Table, holds, number, terms
from . import published
from .methods import LABELS, SHARP
from .numbers import LEARNERS, TIGHT

LAYOUT = Layout(__package__)
METRIC_WORDS = {"gap": "final gap", "average": "average of |grad|^2", "instant": "|grad|^2 at the end"}
CERTIFICATES = {
    "tight": "tight", "tight_regret": "tight, with the regret", "theorem1": "Theorem 1",
    "theorem1_sharp": "Theorem 1, sharp",
}  # fmt: skip
VERDICTS = {True: "yes", False: "NO", None: "not reached"}
UNREACHED = f" Theorem 1 is about the whole horizon of {HORIZON} rounds and is not evaluated here."

Rows = Iterator[dict[str, Any]]


def tables(found: dict[str, Any]) -> list[Table]:
    """All tables of a reproduction, in the order in which they are printed.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    rows = {"results": _results(found), "paired": _paired(found), "reductions": _reductions(found)}
    rows |= {name: _exact(found, name) for name in ("initialisation", "constants", "definitions")}
    rows |= {f"decomposition{end}": _decomposition(found, end) for end in LEARNERS.values()}
    rows |= {"learner": _learner(found), "certificates": _certificates(found)}
    rows["certificates_by_method"] = _every_certificate(found)
    rows["sharp"] = _sharp(found)
    if found["further_seeds"]["seeds"]:
        rows["seeds"] = _seeds(found)
    rows["agreement"] = _agreement(found)
    values = found | {"unreached": UNREACHED if found["settings"]["iterations"] < HORIZON else ""}
    return [LAYOUT.table(name, own, values) for name, own in rows.items()]


def summary(found: dict[str, Any]) -> list[Table]:
    """The results beside the published ones and the parts of the gain, for a terminal.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    return [LAYOUT.table("summary", _results(found), found), LAYOUT.table("gain", _gain(found), found)]


def _half(ends: list[float]) -> float:
    return (ends[1] - ends[0]) / 2


def _cells(found: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {entry["cell"]: entry for entry in found["agreement"] if entry["table"] == name}


def _results(found: dict[str, Any]) -> Rows:
    reached = found["iteration"] == published.ITERATIONS
    for name, methods in found["results"].items():
        for method, values in methods.items():
            printed = published.RESULTS[name].get(method, {}) if reached else {}
            row = {"name": name, "method": method, "label": LABELS[method], **values}
            row |= {f"{k}_printed": printed.get(k, "") for k in values}
            yield row | {f"{k}_error": error for k, error in found["errors"][name][method].items()}


def _gain(found: dict[str, Any]) -> Rows:
    for method, end in LEARNERS.items():
        for name, gain in found[f"decomposition{end}"].items():
            tight = found["certificates_by_method"][name][method]["tight"]
            error = 100 / found["results"][name]["sgd"]["gap"] * _half(gain["intervals"]["learning"])
            row = {"name": name, "method": method, "error": error, "half": _half(tight["interval"])}
            yield row | gain | {"weight": found[f"learner{end}"][name]["weight"], "bound": tight["bound"]}


def _paired(found: dict[str, Any]) -> Rows:
    reached = found["iteration"] == published.ITERATIONS
    for name, metrics in found["paired"].items():
        for k, ends in metrics.items():
            printed = f"[{', '.join(published.PAIRED[name][k])}]" if reached else ""
            yield {"name": name, "metric": METRIC_WORDS[k], "ends": ends, "printed": printed}


def _reductions(found: dict[str, Any]) -> Rows:
    counts = _cells(found, "favourable")
    for cell, entry in _cells(found, "reductions").items():
        name, metric = cell.split()
        yield {"name": name, "metric": METRIC_WORDS[metric], "count": counts[cell], **entry}


def _exact(found: dict[str, Any], table: str) -> Rows:
    for cell, entry in _cells(found, table).items():
        name, quantity = cell.split()
        yield {"name": name, "quantity": quantity, "verdict": VERDICTS[entry["agrees"]], **entry}


def _decomposition(found: dict[str, Any], end: str) -> Rows:
    for k, words in METRIC_WORDS.items():
        for name, parts in found[f"decomposition{end}" + ("" if k == "gap" else f"_{k}")].items():
            yield {"name": name, "metric": words, **parts}


def _learner(found: dict[str, Any]) -> Rows:
    for method, end in LEARNERS.items():
        for name, row in found[f"learner{end}"].items():
            yield {"name": name, "label": LABELS[method], **row}


def _certificates(found: dict[str, Any]) -> Rows:
    for name, kinds in found["certificates"].items():
        for kind, words in CERTIFICATES.items():
            if c := kinds.get(kind):
                yield {**c, "name": name, "words": words, "verdict": holds(c), "made_of": terms(c)}


def _every_certificate(found: dict[str, Any]) -> Rows:
    for name, methods in found["certificates_by_method"].items():
        for method, kinds in methods.items():
            tight, sharp = kinds["tight"], "none" if method == "sgd" else "not reached"
            ratio = tight["bound"] / tight["measured"]
            if theorem := kinds.get("theorem1_sharp", kinds.get("theorem")):
                sharp = number(theorem["bound"], 3)
            row = {"name": name, "label": LABELS[method], "ratio": ratio, "sharp": sharp, "verdict": holds(tight)}
            yield tight | row | {"within": VERDICTS[ratio <= TIGHT]}


def _sharp(found: dict[str, Any]) -> Rows:
    for name, methods in found["certificates_by_method"].items():
        averages = {method: values["average"] for method, values in found["results"][name].items()}
        for method, kinds in methods.items():
            if method in SHARP:
                theorem, stated = kinds["theorem"], kinds.get("a_priori")
                row = {"name": name, "label": LABELS[method], "average": theorem["measured"]}
                row |= {
                    other: averages[method] / averages[other] for other in ("hedge", "sgd_best") if other in averages
                }
                row |= {"bound": theorem["bound"], "ratio": theorem["bound"] / theorem["measured"]}
                row["stated"] = "none" if stated is None else number(stated["bound"] / stated["measured"], 3)
                single = kinds.get("one_run")
                row["single"] = (
                    "none" if single is None else f"{single['mean_ratio']:.3g}, {single['largest_ratio']:.3g}"
                )
                yield row


def _seeds(found: dict[str, Any]) -> Rows:
    for seed, cells in (found["further_seeds"]["disagreeing"] or {"none": ""}).items():
        yield {"seed": seed, "disagreeing": ", ".join(cells)}


def _agreement(found: dict[str, Any]) -> Rows:
    for e in found["agreement"]:
        here = "" if e["measured"] is None else f"{e['measured']:.7g}"
        error = f"{e['stderr']:.1e}" if e["stderr"] else ""
        yield {**e, "here": here, "error": error, "verdict": VERDICTS[e["agrees"]]}
