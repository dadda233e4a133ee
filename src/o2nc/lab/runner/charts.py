"""Charts as data, drawn twice: as a figure for print and on the page of a report."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .records import Floats, Record
from .statistics import Z
from .store import replacing

# colours that differ in print and for the colour-blind (Okabe and Ito)
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
AMBER, SKY, YELLOW, BLACK = "#E69F00", "#56B4E9", "#F0E442", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, YELLOW, BLACK)
DASHES = {"solid": "-", "dash": "--", "dot": ":"}  # as Plotly and as Matplotlib name them
SIZE = (8.0, 3.1)  # inches
PANEL = 2.6  # inches: the height of a panel with a title of one line and its axis
TITLE, LABEL = 10, 7.5  # points: letters of titles, and of legends
POINTS = 600  # of a line on a page
COLUMNS = 4  # of a legend


class Line(NamedTuple):
    """A line of a chart; it may have a band.

    >>> Line(np.ones(2), np.ones(2), "flat", BLUE).dash
    'solid'
    """

    x: NDArray[Any]
    y: NDArray[Any]
    label: str
    colour: str
    panel: int = 0
    dash: str = "solid"
    width: float = 1.2
    band: Floats | None = None  # half of its height
    minor: bool = False  # on the page only


class Chart(NamedTuple):
    """Panels side by side with lines, and one legend.

    >>> Chart(["gap"], []).words
    'iteration t'
    """

    titles: Sequence[str]  # one a panel
    lines: Sequence[Line]
    words: str = "iteration t"  # of the horizontal axes
    log: Sequence[str] = ()  # which axes of each panel are logarithmic: "", "x", "y" or "xy"
    rules: Sequence[tuple[int, float]] = ()  # horizontal lines: panel and height
    rows: Sequence[str] = ()  # names of the heights 0, 1, ... from above


def mean_line(
    record: Record, metric: str, label: str, colour: str, base: float = 0.0, scale: float = 1.0, **style: Any
) -> Line:
    """The mean of a metric over the replications, less ``base`` and times ``scale``, with a 95% band if wanted."""
    mean = record.mean[metric]
    x = np.arange(1, len(mean) + 1) if len(mean) != len(record.checkpoints) else record.checkpoints
    band = scale * Z / np.sqrt(record.R) * record.std(metric) if style.pop("band", False) else None
    return Line(x, scale * (mean - base), label, colour, band=band, **style)


def canvas(titles: Sequence[str], words: str = "iteration t", size: tuple[float, float] = SIZE, on: Any = None) -> Any:
    """A figure of this size, or the part ``on`` of one, and empty panels with these titles side by side.

    Margins make room for what is written, and long titles are broken into lines.

    Reference: Numerical Experiments, the four figures.
    """
    from matplotlib.figure import Figure

    figure = on or Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(titles), squeeze=False)[0]
    for panel, title in zip(panels, _broken(titles), strict=True):
        panel.set_title(title, fontsize=TITLE)
        panel.set_xlabel(words, fontsize=9)
        panel.tick_params(which="both", labelsize=8)
        panel.grid(alpha=0.25, linewidth=0.5)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.01)
    return figure, panels


def wrapped(text: str, points: float, inches: float) -> str:
    """A text in lines that are at most so wide in letters of so many points.

    >>> wrapped("regret against the identity", 10, 1.5)
    'regret against\\nthe identity'
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points)

    def width(line: str) -> float:
        return float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]) / 72

    lines, letters = text.splitlines(), len(text)
    while letters > 1 and (widest := max(map(width, lines), default=0.0)) > inches:
        letters = min(letters - 1, 1 + int(max(map(len, lines)) * inches / widest))
        lines = textwrap.wrap(text, letters)
    while len(lines) > 1 and len(shorter := textwrap.wrap(text, letters := letters - 1)) == len(lines):
        lines = shorter  # of about equal length
    return "\n".join(lines)


def _broken(titles: Sequence[str]) -> list[str]:
    return [wrapped(title, TITLE, SIZE[0] / len(titles) - 0.7) for title in titles]


class Legend(NamedTuple):
    """The labels below a figure, in as many columns as fit.

    >>> Legend.of(["SGD", "Adam"]).columns
    4
    """

    labels: list[str]  # in lines
    columns: int

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Legend":
        """Up to four columns, each as wide as the widest label with its line."""
        em = LABEL / 72
        lines = [wrapped(label, LABEL, SIZE[0] - 6 * em) for label in labels]
        columns = next(
            n for n in range(COLUMNS, 0, -1)
            if n == 1 or all(wrapped(label, LABEL, SIZE[0] / n - 5 * em) == label for label in lines)
        )  # fmt: skip
        return cls(lines, columns)

    @property
    def height(self) -> float:
        """In inches."""
        rows = -(-len(self.labels) // self.columns)
        return (
            LABEL / 72 * (0.5 + rows * (0.6 + 1.25 * max((label.count("\n") + 1 for label in self.labels), default=0)))
        )

    def draw(self, figure: Any, handles: Sequence[Any], **more: Any) -> None:
        """Below the panels of a figure with room for it."""
        place = {"loc": "outside lower center", "ncols": self.columns, "frameon": False, "fontsize": LABEL}
        figure.legend(handles, self.labels, **place, **more)


def _legend(chart: Chart) -> Legend:
    return Legend.of([line.label for line in chart.lines if not line.minor and line.panel == 0])


def height(chart: Chart) -> float:
    """Of a figure of the chart, in inches: its panels are as high as those of others, whatever is written around them.

    >>> height(Chart(["gap"], [])) < height(Chart(["gap " * 50], []))
    True
    """
    lines = max((title.count("\n") for title in _broken(chart.titles)), default=0)
    return PANEL + lines * 1.2 * TITLE / 72 + max(0, len(chart.rows) - 10) * 0.17 + _legend(chart).height


def figure(chart: Chart, on: Any = None) -> Any:
    """The chart for print, by Matplotlib, as a figure or ``on`` a part of one.

    Reference: Numerical Experiments, the four figures.
    """
    drawn, panels = canvas(chart.titles, chart.words, (SIZE[0], height(chart)), on)
    for line in chart.lines:
        if not line.minor:
            style = {"color": line.colour, "linewidth": line.width, "linestyle": DASHES[line.dash], "label": line.label}
            panels[line.panel].plot(line.x, line.y, marker="o" if len(line.x) < 20 else "", markersize=3, **style)
        if line.band is not None:
            ends = line.y - line.band, line.y + line.band
            panels[line.panel].fill_between(line.x, *ends, color=line.colour, alpha=0.15, linewidth=0)
    for panel, axes in zip(panels, chart.log, strict=False):
        panel.set(**{f"{axis}scale": "log" for axis in axes})
    for k, level in chart.rules:
        panels[k].axhline(level, color="black", linewidth=0.5)
    if chart.rows:
        panels[0].set_yticks(range(len(chart.rows)), chart.rows, fontsize=8)
        panels[0].invert_yaxis()
    legend = _legend(chart)
    legend.draw(drawn, panels[0].get_lines()[: len(legend.labels)])
    return drawn


def write_figure(folder: Path, name: str, chart: Chart) -> None:
    """Write ``name``.pdf and ``name``.png, without a date, so that equal runs have equal files.

    Reference: Numerical Experiments, the four figures.
    """
    drawn = figure(chart)
    for end, options in (("pdf", {"metadata": {"CreationDate": None}}), ("png", {"dpi": 160})):
        with replacing(folder / f"{name}.{end}") as part:
            drawn.savefig(part, format=end, **options)


def plotly(chart: Chart) -> dict[str, Any]:
    """The chart for a page, as Plotly takes it; logarithmic heights end below what is drawn in print too."""
    n, margin = len(chart.titles), 250 if chart.rows else 60
    layout: dict[str, Any] = {"legend": {"orientation": "h", "y": -0.2}, "annotations": []}
    layout["margin"] = {"t": 40, "r": 10, "l": margin, "b": 80}
    for k, title in enumerate(chart.titles):
        start, end, logs = 1.12 * k / n, (1.12 * k + 0.92) / n if n > 1 else 1.0, chart.log[k] if chart.log else ""
        place = {"x": start, "y": 1.1, "xref": "paper", "yref": "paper", "xanchor": "left"}
        layout["annotations"].append({"text": title, "showarrow": False} | place)
        x, y = ({"type": "log"} if axis in logs else {} for axis in "xy")
        layout[f"xaxis{k + 1}"] = {"domain": [start, end], "title": {"text": chart.words}, "anchor": f"y{k + 1}"} | x
        layout[f"yaxis{k + 1}"] = {"anchor": f"x{k + 1}"} | y
        if "y" in logs:
            low = min(float(line.y.min()) for line in chart.lines if line.panel == k and not line.minor)
            top = max(float(line.y.max()) for line in chart.lines if line.panel == k)
            layout[f"yaxis{k + 1}"] |= {
                "dtick": 1,
                "exponentformat": "power",
                "range": np.log10([low / 5, 2 * top]).tolist(),
            }
    if chart.rows:
        ticks = {"tickvals": list(range(len(chart.rows))), "ticktext": list(chart.rows)}
        layout["yaxis1"] |= ticks | {"autorange": "reversed"}
    return {"data": [_trace(line) for line in chart.lines], "layout": layout}


def _trace(line: Line) -> dict[str, Any]:
    """At most about POINTS points of a line: the first fifty, then evenly."""
    n, k = len(line.y), line.panel + 1
    t = np.unique(np.concatenate([np.arange(min(50, n)), np.linspace(0, n - 1, POINTS).astype(int)]))
    return {
        "x": [float(x) for x in line.x[t]], "y": [float(f"{y:.5g}") for y in line.y[t]], "name": line.label,
        "legendgroup": line.label, "showlegend": not line.panel, "mode": "lines", "xaxis": f"x{k}", "yaxis": f"y{k}",
        "line": {"color": line.colour, "dash": line.dash, "width": 1.6},
    }  # fmt: skip
