"""The charts: the running measure and objective of each method, the measure against T, and the ladder of bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..runner.charts import AMBER, BLACK, BLUE, COLOURS, GREEN, ORANGE, PINK, SKY, YELLOW, Chart, Line, mean_line
from ..runner.records import Record, Records
from ..runner.statistics import Z
from .methods import METHODS

TEAL, WINE, GREY = "#44AA99", "#882255", "#888888"
_COLOURS = (BLUE, SKY, PINK, GREEN, AMBER, YELLOW, TEAL, WINE, GREY, ORANGE, BLACK)
METHOD_COLOURS = dict(zip(METHODS, _COLOURS, strict=True))
NO_THEOREM = ("schedule-free", "sgd", "normalised")
BOUNDS = {"theorem2": "solid", "tight": "dash", "held_out": "dot"}


def charts(records: Records, found: dict[str, Any]) -> dict[str, Chart]:
    """All charts by name.

    Reference: Algorithm 2 and Theorem 2.
    """
    runs = {name: _runs(name, methods) for name, methods in records.items()}
    return runs | {"rate": _rate(found["rate"]), "ladder": _ladder(found["ladder"])}


def _runs(name: str, methods: Mapping[str, Record]) -> Chart:
    """The measure of the running average, and the objective at the points of the samples, against the round."""
    lines = [
        mean_line(record, metric, METHODS[method].words, METHOD_COLOURS[method], panel=panel, dash=dash)
        for method, record in methods.items()
        for dash in ["dash" if method in NO_THEOREM else "solid"]
        for panel, metric in enumerate(("measure", "value"))
    ]
    return Chart((f"{name}: measure of the average", f"{name}: objective"), lines, words="round t", log=("y", ""))


def _rate(rate: Mapping[str, Any]) -> Chart:
    """The measure against T with the slope -2/7, and the bounds over it."""
    lines = []
    for (name, found), colour in zip(rate.items(), COLOURS, strict=False):
        at = {key: np.asarray([row[key] for row in found["rows"]], dtype=float) for key in found["rows"][0]}
        lines.append(Line(at["T"], at["measure"], name, colour, band=Z * at["stderr"]))
        lines += [Line(at["T"], at[key] / at["measure"], name, colour, 1, dash) for key, dash in BOUNDS.items()]
    top = 1.3 * max(found["rows"][0]["measure"] for found in rate.values())
    lines.append(Line(at["T"], top * (at["T"] / at["T"][0]) ** (-2 / 7), "slope -2/7", "grey", dash="dash"))
    titles = ("measure", "Theorem 2 / measure (- - tight, ... held out)")
    return Chart(titles, lines, words="horizon T", log=("xy", "xy"), rules=[(1, 1.0)])


def _ladder(ladder: Mapping[str, Mapping[str, float]]) -> Chart:
    """Each objective's bound while worst cases are replaced by what was measured."""
    rungs = list(next(iter(ladder.values())))
    lines = [
        Line(np.asarray(list(values.values())), np.arange(len(rungs)), name, colour)
        for (name, values), colour in zip(ladder.items(), COLOURS, strict=False)
    ]
    return Chart([""], lines, words="bound on the measure", log=["x"], rows=rungs)
