"""The charts of a reproduction: gap and squared gradient of each objective, and what the learners did."""

from collections.abc import Mapping
from typing import Any

from ..runner.charts import AMBER, BLACK, BLUE, COLOURS, GREEN, ORANGE, PINK, SKY, YELLOW, Chart, mean_line
from ..runner.records import Record, Records
from .methods import LABELS, PRIOR
from .numbers import LEARNERS

# colour and width; the paper's two, the control on one of them and the learners are in print, the rest on the page
STYLES = {
    "sgd": (ORANGE, 1.2),
    "hedge": (BLUE, 1.8),
    "frozen": (BLACK, 0.9),
    "identity": (AMBER, 0.9),
    "projector": (GREEN, 0.9),
    "learned": (PINK, 1.8),
    "blind": (SKY, 1.2),
    "sharp": (YELLOW, 1.2),
}


def charts(records: Records) -> dict[str, Chart]:
    """All charts by name.

    Reference: Numerical Experiments, the four figures, and the controls of this library.
    """
    return {name: _objective(name, m) for name, m in records.items()} | {
        "learner" if method == "hedge" else method: _learner(records, method) for method in LEARNERS
    }


def _objective(name: str, methods: Mapping[str, Record]) -> Chart:
    """Gap and squared true gradient against the iteration on a linear axis, means over replications."""
    lines = []
    for method, (colour, width) in STYLES.items():
        record = methods[method]
        style: dict[str, Any] = {"dash": "dash" if method == "frozen" else "solid", "width": width}
        style["minor"] = method in ("identity", "projector")
        for panel, metric in enumerate(("gap", "instant")):
            lines.append(mean_line(record, metric, LABELS[method], colour, panel=panel, **style))
    return Chart((f"{name}: gap", f"{name}: squared gradient"), lines, log=("y", "y"))


def _learner(records: Records, method: str) -> Chart:
    """The weight of P and the regret on all objectives, with 95% bands.

    The weight of the paper's Hedge is drawn less the prior and in millionths: otherwise there is nothing to see.
    """
    still, label, lines = method == "hedge", LABELS[method], []
    base, scale = (PRIOR, 1e6) if still else (0.0, 1.0)
    for (name, methods), colour in zip(records.items(), COLOURS, strict=False):
        lines.append(mean_line(methods[method], "weight", name, colour, base, scale, band=True))
        lines.append(mean_line(methods[method], "regret", name, colour, panel=1, band=True))
    words = "weight of P less 1/2, in millionths" if still else "weight of P"
    rules = [(0, 0.0 if still else PRIOR), (1, 0.0)]
    return Chart((f"{label}: {words}", f"{label}: regret against I"), lines, rules=rules)
