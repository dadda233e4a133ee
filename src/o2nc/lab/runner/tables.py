"""Tables of text: how numbers are printed, and the table in plain text, Markdown, LaTeX and HTML."""

import html
import math
import re
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

LONG = 40  # rows from which a LaTeX table is split over pages


class Table(NamedTuple):
    """A table of text.

    >>> Table("a", "Title", "What it says.", ["x"], [["1"]]).rows
    [['1']]
    """

    name: str
    title: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Layout:
    """The words of the tables of an experiment, from the ``tables.toml`` of its package.

    A table has a header and cells, of one line each; a cell is a format for the entries of a row, as "{bound:.4f}",
    and ":n" and ":i" print numbers and intervals as `number` and `interval` do. Titles, captions and headers are
    formats for the numbers of the experiment.

    >>> layout = Layout("o2nc.lab.compare")
    >>> layout.table("run", [{"t": 1, "means": "0.5 | 2"}], {"columns": "gap sgd | gap hedge"}).rows
    [['1', '0.5', '2']]
    """

    def __init__(self, package: str | None) -> None:
        self.texts = tomllib.loads((files(package or "") / "tables.toml").read_text(encoding="utf-8"))

    def table(self, name: str, rows: Iterable[Mapping[str, Any]], values: Mapping[str, Any]) -> Table:
        """The table called ``name`` with these rows; ``values`` are for its words."""
        text = self.texts[name]
        title, caption, header = (text.get(key, "").format_map(values) for key in ("title", "caption", "header"))
        made = [_CELL.vformat(text["cells"], (), row).split(" | ") for row in rows]
        return Table(name, title, caption, header.split(" | "), made)


class _Cell(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec[:1] == "~":
            return span(value, format_spec[1:])
        if format_spec[:1] in ("n", "i"):
            return (number if format_spec[0] == "n" else interval)(value, int(format_spec[1:] or 4))
        return str(super().format_field(value, format_spec))


_CELL = _Cell()


def sentences(package: str | None, values: Mapping[str, Any]) -> list[str]:
    """The sentences of the ``findings.toml`` of a package with these values, where ":~" prints a `span`.

    Reference: none.
    """
    texts = tomllib.loads((files(package or "") / "findings.toml").read_text(encoding="utf-8"))
    return [_CELL.vformat(text, (), values) for text in texts.values()]


def number(value: float | None, digits: int = 4) -> str:
    """A number as the tables print it.

    >>> number(1.663e-4), number(0.102682, 6), number(None)
    ('1.6630e-4', '0.102682', '')
    """
    if value is None:
        return ""
    if value == 0 or 0.1 <= abs(value) < 1e5:
        return f"{value:.{digits}f}".rstrip("0").rstrip(".") if value else "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def interval(ends: Sequence[float] | None, digits: int = 4) -> str:
    """An interval as the tables print it.

    >>> interval([0.25, 1.0])
    '[0.25, 1]'
    """
    return "" if ends is None else f"[{', '.join(number(end, digits) for end in ends)}]"


def span(values: Sequence[float], form: str = ".3g") -> str:
    """The smallest and the largest of some numbers.

    >>> span([3.0, 1.0, 2.0])
    '1 to 3'
    """
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def holds(certificate: dict[str, Any]) -> str:
    """Whether a certificate holds: it is between expectations, so estimates may miss by their errors.

    >>> holds({"measured": 1.0, "bound": 0.9, "holds": True})
    'within the errors'
    """
    return ("within the errors" if exceeded(certificate) else "yes") if certificate["holds"] else "NO"


def exceeded(certificate: dict[str, Any]) -> bool:
    """Whether the measured value is above the bound, by an error or more.

    >>> exceeded({"measured": 1.0, "bound": 0.9})
    True
    """
    measured, bound = (math.inf if (x := certificate[key]) is None else x for key in ("measured", "bound"))
    return bool(measured > bound)


def terms(certificate: dict[str, Any]) -> str:
    """What a bound is made of.

    >>> terms({"terms": {"noise": 0.5, "drift": 2.0}})
    'noise 0.5, drift 2'
    """
    return ", ".join(f"{term} {number(value, 3)}" for term, value in certificate["terms"].items())


def text(table: Table) -> str:
    """A table for a terminal: the first column to the left, the others to the right.

    >>> print(text(Table("a", "", "", ["t", "gap"], [["1", "0.5"], ["100", "1e-3"]])))
    t     gap
    1     0.5
    100  1e-3
    """
    rows = [table.header, *table.rows]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join("  ".join([row[0].ljust(first), *map(str.rjust, row[1:], others)]).rstrip() for row in rows)


def markdown(tables: Sequence[Table], title: str) -> str:
    """All tables as one Markdown page.

    >>> print(markdown([Table("a", "Title", "What it says.", ["x", "y"], [["1", "a|b"]])], "Page"))
    # Page
    <BLANKLINE>
    ## Title
    <BLANKLINE>
    What it says.
    <BLANKLINE>
    | x | y |
    |---|---|
    | 1 | a\\|b |
    <BLANKLINE>
    """
    parts = [f"# {title}", ""]
    for table in tables:
        parts += [f"## {table.title}", "", table.caption, ""]
        for row in (table.header, ["---"] * len(table.header), *table.rows):
            cells = [cell.replace("|", "\\|") for cell in row]
            parts.append("|" + "|".join(cells) + "|" if row[0] == "---" else "| " + " | ".join(cells) + " |")
        parts.append("")
    return "\n".join(parts)


def latex(tables: Sequence[Table], title: str) -> str:
    r"""All tables as a LaTeX document that needs longtable and geometry only.

    >>> r"$1.5\times10^{-4}$" in latex([Table("a", "T", "C.", ["x"], [["1.5e-4"]])], "Page")
    True
    """
    parts = [
        r"\documentclass[a4paper]{article}",
        r"\usepackage[margin=15mm,landscape]{geometry}",
        r"\usepackage{longtable}",
        r"\setlength{\tabcolsep}{4pt}",
        r"\begin{document}",
        rf"\section*{{{_tex(title)}}}",
    ]
    for table in tables:
        columns = "".join(_column(table, i) for i in range(len(table.header)))
        lines = [" & ".join(map(_tex, row)) + r" \\" for row in (table.header, *table.rows)]
        body = [lines[0], r"\hline", *lines[1:], r"\hline"]
        caption = rf"\caption{{{_tex(table.caption)}}}"
        if len(table.rows) >= LONG:
            parts += [r"\clearpage{\scriptsize", rf"\begin{{longtable}}{{{columns}}}", caption + r"\\", r"\hline"]
            parts += [lines[0], r"\hline\endhead", *body[2:], r"\end{longtable}}"]
        else:
            parts += [r"\begin{table}[htbp]\centering\scriptsize", rf"\begin{{tabular}}{{{columns}}}", r"\hline", *body]
            parts += [r"\end{tabular}", caption, rf"\label{{tab:{table.name}}}", r"\end{table}"]
    return "\n".join([*parts, r"\end{document}", ""])


def _column(table: Table, i: int) -> str:
    widest = max((len(row[i]) for row in table.rows), default=0)
    return "p{8cm}" if widest > 60 else "l"


def _tex(text: str) -> str:
    escaped = re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", ""))
    escaped = escaped.replace("^", r"\textasciicircum{}").replace("~", r"\textasciitilde{}")
    escaped = escaped.replace("|grad|\\textasciicircum{}2", r"$\|\nabla f\|^2$").replace("<", "$<$").replace(">", "$>$")
    escaped = escaped.replace("|", r"$|$") if "$" not in escaped else escaped
    return re.sub(r"(-?\d+(?:\.\d+)?)e([+-]?\d+)\b", _power, escaped)


def _power(match: re.Match[str]) -> str:
    return rf"${match[1]}\times10^{{{int(match[2])}}}$"


def html_table(table: Table) -> str:
    """One table as HTML, with a heading.

    >>> html_table(Table("a", "T", "C.", ["x"], [["<1"]]))[-52:]
    '<tbody><tr><td>&lt;1</td></tr></tbody></table></div>'
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    return (
        f'<h2 id="{table.name}">{html.escape(table.title)}</h2><p>{html.escape(table.caption)}</p>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _cell(text: str) -> str:
    kind = {"yes": ' class="yes"', "NO": ' class="no"'}.get(text, "")
    return f"<td{kind}>{html.escape(text)}</td>"
