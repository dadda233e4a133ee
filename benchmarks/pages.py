"""Pages of the documentation into which benchmarks write."""

import re
from pathlib import Path


def table(header: list[str], body: list[list[str]]) -> str:
    """Rows as Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *body)) + "\n"


def replace(page: Path, name: str, text: str) -> None:
    """Put text between the marks "<!-- name -->" and "<!-- end of name -->" of a page."""
    between = re.compile(rf"(?<=<!-- {name} -->\n\n).*(?=<!-- end of {name} -->)", re.DOTALL)
    page.write_text(between.sub(lambda _: text.rstrip("\n") + "\n\n", page.read_text()))
