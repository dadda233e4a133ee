"""report.html: one self-contained page with charts, every table, the certificates and plain words."""

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from .figures import STYLES
from .layout import Table
from .markup import html_table
from .methods import METHODS, PRIOR
from .record import Floats, Record
from .words import findings

POINTS = 600  # of a line of a chart

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2em auto; padding: 0 1em; color: #1a1a1a }
h1, h2 { line-height: 1.2 } h2 { margin-top: 2em }
.wide { overflow-x: auto } .chart { width: 100%; height: 380px; margin: 1em 0 }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th { text-align: left; border-bottom: 1.5px solid #444; padding: 4px 10px 4px 0; vertical-align: bottom }
td { border-bottom: 1px solid #ddd; padding: 3px 10px 3px 0; vertical-align: top }
.yes { color: #006644 } .no { color: #b00020; font-weight: bold }
nav a { margin-right: 1em }
"""


def report(records: Mapping[str, Mapping[str, Record]], found: dict[str, Any], tables: Sequence[Table]) -> str:
    """The page as text; nothing is loaded from elsewhere.

    Args:
        records: by objective and method.
        found: the tables as data.
        tables: the tables as text.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    charts = {f"chart-{name}": _objective_chart(name, methods) for name, methods in records.items()}
    charts |= {"chart-learner": _learner_chart(records), "chart-learned": _learner_chart(records, "learned")}
    return page(
        "Reproduction of the numerical section, with controls",
        found,
        {"What the controls show": findings(found)},
        ("Gap and squared gradient at every iteration", "Means over the replications."),
        charts,
        tables,
    )


def page(
    title: str,
    found: dict[str, Any],
    words: Mapping[str, Sequence[str]],
    above: tuple[str, str],
    charts: Mapping[str, Any],
    tables: Sequence[Table],
) -> str:
    """A self-contained page: settings and versions, sentences, charts, tables.

    Args:
        title: of the page.
        found: the tables as data, of which settings and versions are printed.
        words: sentences by heading.
        above: heading of the charts and a sentence on them.
        charts: for Plotly, by the id of their place.
        tables: the tables as text.
    """
    lists = "".join(
        f"<h2>{html.escape(heading)}</h2><ul>{''.join(f'<li>{html.escape(one)}</li>' for one in sentences)}</ul>"
        for heading, sentences in words.items()
    )
    links = "".join(f'<a href="#{table.name}">{html.escape(table.title)}</a>' for table in tables)
    settings = ", ".join(f"{key} {value}" for key, value in found["settings"].items())
    versions = ", ".join(f"{key} {value}" for key, value in found["versions"].items())
    boxes = "".join(f'<div class="chart" id="{key}"></div>' for key in charts)
    heading, sentence = map(html.escape, above)
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
            f"<title>{html.escape(title.split(',')[0])}</title><style>{STYLE}</style></head><body>",
            f"<h1>{html.escape(title)}</h1>",
            f"<p>{html.escape(settings)}.<br>{html.escape(versions)}.</p><nav>{links}</nav>{lists}",
            f"<h2>{heading}</h2><p>{sentence} Click on a name to hide a line, drag to zoom, double-click to return."
            f"</p>{boxes}",
            *map(html_table, tables),
            f"<script>{_plotly()}</script><script>const charts = {_json(charts)};",
            "const drawn = Object.entries(charts).map(([id, c]) => Plotly.newPlot(id, c.data, c.layout, "
            "{responsive: true, displaylogo: false}));",
            "Promise.all(drawn).then(() => { document.body.dataset.drawn = drawn.length; });",
            "</script></body></html>\n",
        ]
    )


def _plotly() -> str:
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False).replace("</", "<\\/")


def _thin(line: Floats) -> tuple[list[int], list[float]]:
    """At most about POINTS points of a line: the first fifty, then evenly."""
    t = np.unique(np.concatenate([np.arange(min(50, len(line))), np.linspace(0, len(line) - 1, POINTS).astype(int)]))
    return (t + 1).tolist(), [float(f"{value:.5g}") for value in line[t]]


def _objective_chart(name: str, methods: Mapping[str, Record]) -> dict[str, Any]:
    data = []
    for method, record in methods.items():
        for metric, axis in (("gap", ""), ("instant", "2")):
            t, values = _thin(record.mean[metric])
            line = {"color": STYLES[method]["color"], "dash": "dash" if method == "frozen" else "solid", "width": 1.6}
            data.append(
                {"x": t, "y": values, "name": METHODS[method].label, "legendgroup": method, "line": line,
                 "showlegend": not axis, "xaxis": f"x{axis}", "yaxis": f"y{axis}", "mode": "lines"}
            )  # fmt: skip
    others = [record.mean for method, record in methods.items() if method != "projector"]  # P alone may reach 0
    gap, instant = (min(float(mean[metric].min()) for mean in others) / 5 for metric in ("gap", "instant"))
    return two_panels(data, (f"{name}: gap", f"{name}: squared gradient"), (gap, instant))


def _learner_chart(records: Mapping[str, Mapping[str, Record]], method: str = "hedge") -> dict[str, Any]:
    data, label, still = [], METHODS[method].label, method == "hedge"
    for i, (name, methods) in enumerate(records.items()):
        record = methods[method]
        weight = 1e6 * (record.mean["weight"] - PRIOR) if still else record.mean["weight"]
        colour = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")[i % 4]
        for values, axis in ((weight, ""), (record.mean["regret"], "2")):
            t, y = _thin(values)
            data.append(
                {"x": t, "y": y, "name": name, "legendgroup": name, "showlegend": not axis, "line": {"color": colour},
                 "xaxis": f"x{axis}", "yaxis": f"y{axis}", "mode": "lines"}
            )  # fmt: skip
    words = "weight of P less 1/2, in millionths" if still else "weight of P"
    return two_panels(data, (f"{label}: {words}", f"{label}: regret against I"))


def two_panels(
    data: list[Any], titles: tuple[str, str], floors: tuple[float, float] | None = None, words: str = "iteration t"
) -> dict[str, Any]:
    """A chart for Plotly: lines on the axes x, y and x2, y2; logarithmic above ``floors``, if they are given."""
    layout: dict[str, Any] = {
        "margin": {"t": 40, "r": 10, "l": 60, "b": 80},
        "legend": {"orientation": "h", "y": -0.2},
        "annotations": [
            {"text": title, "x": x, "y": 1.1, "xref": "paper", "yref": "paper", "showarrow": False, "xanchor": "left"}
            for title, x in zip(titles, (0.0, 0.56), strict=True)
        ],
        "xaxis": {"domain": [0, 0.46], "title": {"text": words}},
        "xaxis2": {"domain": [0.56, 1], "title": {"text": words}, "anchor": "y2"},
        "yaxis": {},
        "yaxis2": {"anchor": "x2"},
    }
    if floors is not None:
        for key, axis, floor in zip(("yaxis", "yaxis2"), ("y", "y2"), floors, strict=True):
            top = max(max(line["y"]) for line in data if line["yaxis"] == axis)
            decades = {"type": "log", "dtick": 1, "exponentformat": "power"}
            layout[key] |= decades | {"range": [np.log10(floor), np.log10(2 * top)]}
    return {"data": data, "layout": layout}
