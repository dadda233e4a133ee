"""The pictures of the page: a landscape with a run on it, and what is summed over the rounds."""

import math
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, Range1d, Span
from bokeh.palettes import Blues256, interp_palette
from bokeh.plotting import figure
from bokeh.plotting.contour import ContourData, contour_data

from .landscapes import Floats, Landscape
from .rounds import Rounds, ellipse

COLOURS = {"A": "#d9480f", "B": "#1971c2"}
LEVELS = 18
NIGHT = interp_palette(["#10151d", "#1c2b3f", "#35506f"], 256)
BLANK: dict[str, Any] = {"round": [], "x": [], "y": [], "regret": [], "measured": [], "first": [], "second": []}


class Run:
    """The data of one method that is drawn: all rounds, and those that are shown."""

    def __init__(self) -> None:
        self.rounds: Rounds | None = None
        self.path = ColumnDataSource(data=dict(BLANK))
        self.here = ColumnDataSource(data={"x": [], "y": []})
        self.shape = ColumnDataSource(data={"x": [], "y": []})
        self.all: dict[str, Any] = dict(BLANK)

    def set(self, rounds: Rounds | None) -> None:
        """Take the rounds of a new run; None if there is none."""
        self.rounds = rounds
        self.all = dict(BLANK) if rounds is None else columns(rounds)

    def show(self, t: int, size: float) -> None:
        """Draw the rounds up to ``t``, with an ellipse of this size."""
        self.path.data = {name: values[:t] for name, values in self.all.items()}
        at, U = np.empty((2, 0)), None
        if self.rounds is not None:
            i = min(t, len(self.rounds.x)) - 1
            at, U = self.rounds.x[i][:, None], None if self.rounds.U is None else self.rounds.U[i]
        self.here.data = {"x": at[0], "y": at[1]}
        edge = np.empty((2, 0)) if U is None else ellipse(U, at[:, 0], size)
        self.shape.data = {"x": edge[0], "y": edge[1]}


def columns(rounds: Rounds) -> dict[str, Floats]:
    """The rounds by column; where there are no weights, the diagonal of U is in their place."""
    T, pair = len(rounds.x), rounds.weights
    none = np.full(T, math.nan)
    if pair is None and rounds.U is not None:
        pair = np.diagonal(rounds.U, axis1=1, axis2=2)
    return {
        "round": np.arange(1.0, T + 1),
        "x": rounds.x[:, 0],
        "y": rounds.x[:, 1],
        "regret": none if rounds.regret is None else rounds.regret,
        "measured": rounds.measured,
        "first": none if pair is None else pair[:, 0],
        "second": none if pair is None or pair.shape[1] < 2 else pair[:, 1],
    }


def heights(f: Landscape) -> tuple[ContourData, Floats]:
    """The contours of a landscape, closer together near its bottom, and their levels."""
    x, y, z = f.grid()
    levels = z.min() + (z.max() - z.min()) * np.linspace(0.0, 1.0, LEVELS + 1) ** 1.7
    levels[-1] *= 1 + 1e-9
    return contour_data(x, y, z, levels), levels


def chart(title: str, sizing: str, **options: Any) -> Any:
    """An empty figure in the style of the page."""
    made = figure(title=title, sizing_mode=sizing, toolbar_location=None, tools="", **options)
    made.xgrid.visible = False
    for axis in made.axis:  # other sizes than those of Bokeh, which a theme would replace
        axis.update(axis_label_text_font_size="12px", major_label_text_font_size="10px")
    made.title.text_font_size = "12px"
    return made


class Map:
    """A landscape and the run of one method on it."""

    def __init__(self, name: str, run: Run, f: Landscape, is_dark: bool) -> None:
        colour = COLOURS[name]
        self.figure = chart(
            f"Method {name}", "scale_width", x_range=Range1d(-1, 1), y_range=Range1d(-1, 1), aspect_ratio=1.0,
            min_border_left=66, min_border_right=14, min_border_top=28, min_border_bottom=52, name=f"map {name}",
        )  # fmt: skip # the borders of both axes add up to the same, so that a disk is drawn as a disk
        palette = NIGHT if is_dark else Blues256[::-1][:150]
        data, levels = heights(f)
        fill = interp_palette(palette[::-1], LEVELS)
        self.contours = self.figure.contour(
            *f.grid(), levels, fill_color=fill, line_color="#7c8ba1", line_width=0.6, line_alpha=0.7
        )
        self.figure.line("x", "y", source=run.path, color=colour, line_width=1.5, line_alpha=0.8)
        self.figure.scatter("x", "y", source=run.path, color=colour, size=3)
        self.figure.patch("x", "y", source=run.shape, color=colour, fill_alpha=0.18, line_width=2)
        self.figure.scatter("x", "y", source=run.here, color=colour, size=10, line_color="white", line_width=1.5)
        self.set(f, (data, levels))

    def set(self, f: Landscape, drawn: tuple[ContourData, Floats]) -> None:
        """Draw another landscape."""
        self.contours.levels = list(map(float, drawn[1]))
        self.contours.set_data(drawn[0])
        ranges = (self.figure.x_range, self.figure.y_range)
        for span, low, high in zip(ranges, f.window[::2], f.window[1::2], strict=True):
            span.update(start=low, end=high)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = f.axes


class Charts:
    """Weights, regret and the measured average of both methods, over the rounds."""

    def __init__(self, runs: dict[str, Run]) -> None:
        rounds = Range1d(1, 2)
        wide, options = "stretch_width", {"height": 230, "x_range": rounds, "x_axis_label": "round"}
        self.rounds, self.runs = rounds, runs
        self.weights = chart("Weights of I (solid) and P (dashed), or diagonal of U", wide, **options)
        self.weights.y_range = Range1d(-0.05, 1.05)
        self.regret = chart("Regret against the identity", wide, **options)
        self.measured = chart("Measured average (solid), certificate (dashed)", wide, y_axis_type="log", **options)
        self.bounds = {}
        for name, run in runs.items():
            style = {"source": run.path, "color": COLOURS[name], "line_width": 2, "legend_label": name}
            self.weights.line("round", "first", **style)
            self.weights.line("round", "second", line_dash="dashed", **style)
            self.regret.line("round", "regret", **style)
            self.measured.line("round", "measured", **style)
            self.bounds[name] = Span(dimension="width", line_color=COLOURS[name], line_dash="dashed", line_width=2)
            self.measured.add_layout(self.bounds[name])
        for each in self.figures:
            each.legend.update(location="top_right", orientation="horizontal", background_fill_alpha=0.5, padding=3)
        for each in (self.regret, self.measured):
            each.y_range = Range1d(0.1, 1)

    @property
    def figures(self) -> tuple[Any, Any, Any]:
        """The three figures."""
        return self.weights, self.regret, self.measured

    def set(self, T: int) -> None:
        """Fit the axes to the whole runs, and draw the certificates."""
        self.rounds.update(start=1, end=max(T, 2))
        regrets, averages, factors = [0.0], [], [0.0, 1.0]
        for name, run in self.runs.items():
            certificate = run.rounds and run.rounds.result.certificate
            bound = certificate.bound if certificate and certificate.bound > 0 else math.nan
            self.bounds[name].update(location=0.0 if math.isnan(bound) else bound, visible=not math.isnan(bound))
            regrets += _finite(run.all["regret"])
            averages += [value for value in _finite([*run.all["measured"], bound]) if value > 0]
            factors += _finite([*run.all["first"], *run.all["second"]])
        _fit(self.weights.y_range, min(factors), max(factors))
        _fit(self.regret.y_range, min(regrets), max(regrets))
        if averages:
            self.measured.y_range.update(start=min(averages) / 1.5, end=max(averages) * 2.5)


def _finite(values: Any) -> list[float]:
    return [float(value) for value in values if math.isfinite(value)]


def _fit(span: Range1d, low: float, high: float) -> None:
    room = 0.08 * (high - low) or 1.0
    span.update(start=low - room, end=high + room)
