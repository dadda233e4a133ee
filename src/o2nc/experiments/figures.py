"""The figures: gap and squared gradient of each objective, and what the learner did."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .methods import METHODS, PRIOR
from .paper import Z
from .record import Record
from .store import replacing

# colours that differ in print and for the colour-blind (Okabe and Ito)
STYLES: dict[str, dict[str, Any]] = {
    "sgd": {"color": "#D55E00", "linewidth": 1.2},
    "hedge": {"color": "#0072B2", "linewidth": 1.8},
    "frozen": {"color": "#000000", "linewidth": 0.9, "linestyle": (0, (4, 4))},
    "identity": {"color": "#E69F00", "linewidth": 0.9},
    "projector": {"color": "#009E73", "linewidth": 0.9},
    "learned": {"color": "#CC79A7", "linewidth": 1.8},
    "blind": {"color": "#56B4E9", "linewidth": 1.2},
}
SHOWN = ("sgd", "hedge", "frozen", "blind", "learned")  # the paper's two, the control on one of them, the learners
SIZE = (8.0, 3.1)


def objective_figure(name: str, methods: Mapping[str, Record]) -> Any:
    """Two panels against the iteration on a linear axis: gap and squared true gradient, means over replications.

    Reference: Numerical Experiments, the four figures.
    """
    figure, panels = canvas()
    titles = (f"$f_{name[1:]}(W_t)-f_{name[1:]}^\\star$", rf"$\|\nabla f_{name[1:]}(W_t)\|_2^2$")
    for panel, metric, title in zip(panels, ("gap", "instant"), titles, strict=True):
        for method in SHOWN:
            line = methods[method].mean[metric]
            panel.plot(np.arange(1, len(line) + 1), line, label=METHODS[method].label, **STYLES[method])
        panel.set_yscale("log")
        panel.set_title(title, fontsize=10)
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def learner_figure(records: Mapping[str, Mapping[str, Record]], method: str = "hedge") -> Any:
    """Two panels for a learner on all objectives, with 95% bands: the weight of P, and the regret.

    The weight of the paper's Hedge is drawn less the prior and in millionths: otherwise there is nothing to see.

    Reference: not in the paper; the controls of this library.
    """
    figure, panels = canvas()
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
    still = method == "hedge"
    prior, million = (PRIOR, 1e6) if still else (0.0, 1.0)
    for (name, methods), colour in zip(records.items(), colours, strict=False):
        record, label = methods[method], f"$f_{name[1:]}$"
        t = np.unique(np.linspace(1, len(record.mean["gap"]), 600).astype(int))
        half = Z / np.sqrt(record.R)  # the band is the 95% interval of the mean
        for panel, metric, base, scale in ((panels[0], "weight", prior, million), (panels[1], "regret", 0.0, 1.0)):
            values, band = scale * (record.mean[metric][t - 1] - base), scale * half * record.std(metric)[t - 1]
            panel.plot(t, values, color=colour, linewidth=1.2, label=label)
            panel.fill_between(t, values - band, values + band, color=colour, alpha=0.15, linewidth=0)
    panels[0].axhline(0.0 if still else PRIOR, color="black", linewidth=0.5)
    panels[1].axhline(0.0, color="black", linewidth=0.5)
    words = "weight of $P$ less $1/2$, in millionths" if still else "weight of $P$"
    panels[0].set_title(f"{METHODS[method].label}: {words}", fontsize=10)
    panels[1].set_title(r"regret against $I$", fontsize=10)
    panels[1].legend(frameon=False, fontsize=8)
    return figure


def canvas(
    count: int = 2,
    left: float = 0.075,
    bottom: float = 0.145,
    between: float | None = None,
    words: str = "iteration t",
) -> Any:
    """A figure and ``count`` empty panels side by side.

    Reference: Numerical Experiments, the four figures.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE)  # fixed margins: a layout engine would draw everything several times
    margins = {"left": left, "right": 0.975, "bottom": bottom, "top": 0.91, "wspace": between}
    panels = figure.subplots(1, count, squeeze=False, gridspec_kw=margins)[0]
    for panel in panels:
        panel.set_xlabel(words, fontsize=9)
        panel.tick_params(labelsize=8)
        panel.grid(alpha=0.25, linewidth=0.5)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.01)
    return figure, panels


def write_figure(folder: Path, name: str, figure: Any) -> None:
    """Write ``name``.pdf and ``name``.png, without a date, so that equal runs have equal files.

    Reference: Numerical Experiments, the four figures.
    """
    for end, options in (("pdf", {"metadata": {"CreationDate": None}}), ("png", {"dpi": 160})):
        with replacing(folder / f"{name}.{end}") as part:
            figure.savefig(part, format=end, **options)
