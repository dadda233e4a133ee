"""report.html: one self-contained page with sentences, charts and every table."""

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .charts import Chart, plotly
from .tables import Table, html_table

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


def page(
    title: str,
    headings: tuple[str, str, str],
    found: dict[str, Any],
    findings: Sequence[str],
    charts: Mapping[str, Chart],
    tables: Sequence[Table],
) -> str:
    """The page as text; nothing is loaded from elsewhere.

    Args:
        title: of the page.
        headings: of the findings and of the charts, and a sentence on these.
        found: the numbers, of which settings and versions are printed.
        findings: what they show, in sentences.
        charts: by name.
        tables: the tables of text.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    above, heading, sentence = map(html.escape, headings)
    listed = "".join(f"<li>{html.escape(one)}</li>" for one in findings)
    links = "".join(f'<a href="#{table.name}">{html.escape(table.title)}</a>' for table in tables)
    settings, versions = (
        html.escape(", ".join(f"{key} {value}" for key, value in found[part].items()))
        for part in ("settings", "versions")
    )
    boxes = "".join(f'<div class="chart" id="chart-{name}"></div>' for name in charts)
    drawn = _json({f"chart-{name}": plotly(chart) for name, chart in charts.items()})
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
            f"<title>{html.escape(title.split(',')[0])}</title><style>{STYLE}</style></head><body>",
            f"<h1>{html.escape(title)}</h1><p>{settings}.<br>{versions}.</p><nav>{links}</nav>",
            f"<h2>{above}</h2><ul>{listed}</ul><h2>{heading}</h2>",
            f"<p>{sentence} Click on a name to hide a line, drag to zoom, double-click to return.</p>{boxes}",
            *map(html_table, tables),
            f"<script>{_library()}</script><script>const charts = {drawn};",
            "const drawn = Object.entries(charts).map(([id, c]) => Plotly.newPlot(id, c.data, c.layout, "
            "{responsive: true, displaylogo: false}));",
            "Promise.all(drawn).then(() => { document.body.dataset.drawn = drawn.length; });",
            "</script></body></html>\n",
        ]
    )


def _library() -> str:
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False).replace("</", "<\\/")
