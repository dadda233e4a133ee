"""Charts of tables: a comment before a table of numbers draws it, so that a picture cannot differ from its table.

    <!-- chart: final gap over that of SGD -->

A row of the table is a row of the chart, a column one kind of mark, on a logarithmic axis. Cells without a positive
number are left out, and so are rows without any. A hook of MkDocs; the pictures need no network.
"""

import html
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

CHART = re.compile(r"<!-- chart: (?P<title>.+) -->\n\n(?P<table>(?:\|.*\n)+)")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?|(?<![\w])\.\d+")
AXIS, LINE, LETTER = 420, 22, 7.4  # pixels: of the axis, a row, a letter of a wide font
MARKS = (  # around (0, 0), and a colour that reads on light and on dark
    ('<circle r="4.5"/>', "#1f77b4"),
    ('<rect x="-4" y="-4" width="8" height="8"/>', "#d62728"),
    ('<path d="M0 -5.5 5.5 0 0 5.5 -5.5 0z"/>', "#2ca02c"),
    ('<path d="M0 -5 5 4 -5 4z"/>', "#9467bd"),
    ('<path d="M0 5 5 -4 -5 -4z"/>', "#ff7f0e"),
    ('<path d="M-5 -2H-2V-5H2V-2H5V2H2V5H-2V2H-5z"/>', "#17a2b8"),
    ('<circle r="3" stroke-width="2.5" fill="none" stroke="#8c564b"/>', "#8c564b"),
    ('<rect x="-6" y="-2" width="12" height="4"/>', "#e377c2"),
)


class Row(NamedTuple):
    """A line of a chart."""

    label: str
    values: list[float | None]  # one for each kind of mark


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put a chart before every table that asks for one."""
    return CHART.sub(lambda found: f"{drawn(found['title'], found['table'])}\n\n{found['table']}", markdown)


def drawn(title: str, table: str) -> str:
    """The chart of a table of Markdown, as SVG.

    >>> "circle" in drawn("a title", "| | f1 |\\n|---|---|\\n| SGD | 2.5 |\\n")
    True
    """
    names, rows = read(table)
    values = [v for row in rows for v in row.values if v is not None]
    if len(names) > len(MARKS) or not values:
        raise ValueError(f"The chart {title!r} must have one to {len(MARKS)} columns with numbers; got {len(names)}.")
    low, high = math.floor(math.log10(min(values)) * 2) / 2, math.ceil(math.log10(max(values)) * 2) / 2
    high = max(high, low + 0.5)
    top, bottom = 52, 52 + LINE * len(rows)
    left = 14 + LETTER * max(len(row.label) for row in rows)
    legend = sum(26 + LETTER * len(name) for name in names)
    width = max(left + AXIS + 20, left + legend, 8 * len(title))

    def place(value: float) -> float:
        return left + AXIS * (math.log10(value) - low) / (high - low)

    parts = [f'<text x="0" y="16" font-weight="bold">{html.escape(title)}</text>']
    x = left
    for name, (shape, colour) in zip(names, MARKS, strict=False):
        parts.append(f'<g fill="{colour}" transform="translate({x:.0f} 36)">{shape}</g>')
        parts.append(f'<text x="{x + 9:.0f}" y="40">{html.escape(name)}</text>')
        x += 26 + LETTER * len(name)
    for tick in ticks(low, high):
        parts.append(f'<path d="M{place(tick):.1f} {top - 4}V{bottom}" stroke="currentColor" stroke-opacity=".2"/>')
        parts.append(f'<text x="{place(tick):.1f}" y="{bottom + 15}" text-anchor="middle">{tick:g}</text>')
    for k, row in enumerate(rows):
        y = top + LINE * (k + 0.5)
        parts.append(f'<text x="{left - 12:.0f}" y="{y + 4:.0f}" text-anchor="end">{html.escape(row.label)}</text>')
        for value, (shape, colour) in zip(row.values, MARKS, strict=False):
            if value is not None:
                parts.append(f'<g fill="{colour}" transform="translate({place(value):.1f} {y:.0f})">{shape}</g>')
    return (
        f'<figure><svg viewBox="0 0 {width:.0f} {bottom + 22}" width="{width:.0f}" style="max-width:100%;height:auto" '
        f'role="img" aria-label="{html.escape(title)}" font-family="sans-serif" font-size="12" fill="currentColor">'
        + "".join(parts)
        + "</svg></figure>"
    )


def read(table: str) -> tuple[list[str], list[Row]]:
    """The names of the columns that hold numbers, and the rows, of a table of Markdown.

    >>> read("| x | f1 | f2 |\\n|---|---|---|\\n| **SGD**, tuned | 2.5 at 0.1 | < 1e-3 |\\n| none | | |\\n")
    (['f1', 'f2'], [Row(label='SGD, tuned', values=[2.5, None])])
    """
    head, _, *body = [[plain(cell) for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    rows = [Row(label, [number(cell) for cell in cells]) for label, *cells in body]
    return head[1:], [row for row in rows if any(value is not None for value in row.values)]


def plain(cell: str) -> str:
    """A cell without marks of Markdown."""
    return re.sub(r"\*\*|`|\[([^]]*)\]\([^)]*\)", lambda found: found[1] or "", cell).strip()


def number(cell: str) -> float | None:
    """The number that a cell begins with, if it is positive.

    >>> number("0.216 (0.42)"), number("< 1e-27"), number("")
    (0.216, None, None)
    """
    found = NUMBER.match(cell)
    value = float(found[0]) if found else 0.0
    return value if value > 0 else None


def ticks(low: float, high: float) -> Sequence[float]:
    """Round numbers between two powers of ten: three a decade if there are few decades.

    >>> ticks(-1.0, 0.0)
    [0.1, 0.2, 0.5, 1.0]
    """
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    found = [m * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for m in steps]
    return [tick for tick in found if low - 1e-9 <= math.log10(tick) <= high + 1e-9]
