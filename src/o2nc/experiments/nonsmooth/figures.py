"""The figures: the running measure and objective of each method, the measure against T, and the ladder of bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..figures import canvas
from ..record import Record
from .methods import METHODS

# colours that differ in print and for the colour-blind (Okabe and Ito)
COLOURS = {
    "identity": "#0072B2",
    "hedge": "#56B4E9",
    "adagrad": "#CC79A7",
    "shifting": "#009E73",
    "scaling": "#E69F00",
    "clipped": "#F0E442",
    "sgd": "#D55E00",
    "normalised": "#000000",
}
DASHED = ("sgd", "normalised")


def run_figure(name: str, methods: Mapping[str, Record]) -> Any:
    """Two panels against the round: the measure of the running average, and the objective at the points of the samples.

    Reference: Algorithm 2.
    """
    figure, panels = canvas(left=0.095, bottom=0.26, between=0.28, words="round t")
    for panel, metric, title in zip(panels, ("measure", "value"), ("measure of the average", "objective"), strict=True):
        for method, record in methods.items():
            style = "--" if method in DASHED else "-"
            line = record.mean[metric]
            panel.plot(
                record.checkpoints, line, style, color=COLOURS[method], label=METHODS[method].label, linewidth=1.2
            )
        panel.set_title(f"{name}: {title}", fontsize=10)
    panels[0].set_yscale("log")
    # one legend for both panels, below them
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=4, frameon=False, fontsize=7.5)
    return figure


def rate_figure(rate: Mapping[str, Any]) -> Any:
    """The measure against T on logarithmic axes with the slope -2/7, and the bounds over it.

    Reference: Theorem 2.
    """
    figure, panels = canvas(left=0.095, between=0.28, words="horizon T")
    for (name, found), colour in zip(rate.items(), list(COLOURS.values())[::-1], strict=False):
        T = np.asarray([row["T"] for row in found["rows"]])
        line = np.asarray([row["measure"] for row in found["rows"]])
        error = np.asarray([row["stderr"] for row in found["rows"]])
        panels[0].errorbar(T, line, 1.96 * error, marker="o", markersize=3, color=colour, label=name, linewidth=1.2)
        for key, style in (("theorem2", "-"), ("tight", "--"), ("held_out", ":")):
            bound = np.asarray([row[key] for row in found["rows"]])
            panels[1].plot(T, bound / line, style, color=colour, linewidth=1.2, marker="o", markersize=2)
    first = next(iter(rate.values()))["rows"]
    T = np.asarray([first[0]["T"], first[-1]["T"]], dtype=float)
    top = max(found["rows"][0]["measure"] for found in rate.values())
    panels[0].plot(T, 1.3 * top * (T / T[0]) ** (-2 / 7), color="grey", linestyle="--", linewidth=1, label="slope -2/7")
    panels[1].axhline(1.0, color="black", linewidth=0.5)
    for panel, title in zip(panels, ("measure", "bound / measure"), strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_title(title, fontsize=10)
    panels[0].legend(frameon=False, fontsize=7)
    panels[1].text(0.02, 0.45, "solid: Theorem 2, dashed: tight, dotted: held out", transform=panels[1].transAxes,
                   fontsize=7)  # fmt: skip
    return figure


def ladder_figure(ladder: Mapping[str, Mapping[str, float]]) -> Any:
    """Each objective's bound while worst cases are replaced by what was measured.

    Reference: Theorem 2.
    """
    figure, (panel,) = canvas(1, left=0.32, words="bound on the measure")
    for (name, rungs), colour in zip(ladder.items(), list(COLOURS.values())[::-1], strict=False):
        panel.plot(list(rungs.values()), range(len(rungs)), "o-", color=colour, label=name, linewidth=1, markersize=4)
    panel.set_yticks(range(len(rungs)), list(rungs), fontsize=8)
    panel.invert_yaxis()
    panel.set_xscale("log")
    panel.legend(frameon=False, fontsize=8)
    return figure
