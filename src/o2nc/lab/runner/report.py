"""The report: one self-contained page with sentences, charts and every table; its frame is ``report.html``."""

import html
import json
import string
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .charts import Chart, plotly
from .tables import Table, html_table


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
    settings, versions = (", ".join(f"{k} {v}" for k, v in found[part].items()) for part in ("settings", "versions"))
    drawn = json.dumps({f"chart-{name}": plotly(chart) for name, chart in charts.items()}, allow_nan=False)
    texts = {"title": title, "short": title.split(",")[0], "settings": settings, "versions": versions}
    return string.Template(_text(__package__, "report.html")).substitute(
        {key: html.escape(text) for key, text in texts.items()},
        above=above,
        heading=heading,
        sentence=sentence,
        links="".join(f'<a href="#{table.name}">{html.escape(table.title)}</a>' for table in tables),
        findings="".join(f"<li>{html.escape(one)}</li>" for one in findings),
        boxes="".join(f'<div class="chart" id="chart-{name}"></div>' for name in charts),
        tables="".join(map(html_table, tables)),
        plotly=_text("plotly", "package_data/plotly.min.js"),
        charts=drawn.replace("</", "<\\/"),
    )


def _text(package: str, name: str) -> str:
    return (files(package) / name).read_text(encoding="utf-8")
