"""The tables in Markdown, LaTeX and HTML."""

import html
import re
from collections.abc import Sequence

from .layout import Table

LONG = 40  # rows from which a LaTeX table is split over pages


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
            parts += [
                r"\clearpage{\scriptsize",
                rf"\begin{{longtable}}{{{columns}}}",
                caption + r"\\",
                r"\hline",
                lines[0],
            ]
            parts += [r"\hline\endhead", *body[2:], r"\end{longtable}}"]
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
