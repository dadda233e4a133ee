"""Docstrings for the site, from docstrings for people: fences around doctests, comments of fields as attributes."""

import re
from typing import Any

import griffe

FORMULA_OR_CODE = r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`"


class Docstrings(griffe.Extension):
    """Rewrite docstrings when they are loaded; the source stays as it is."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """What Markdown would misread: doctests are quotations to it, <s, m> is a tag."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(escaped(separated(obj.docstring.value)))

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Add the comments behind the fields of a class as a list of its attributes."""
        comments = {name: comment(field) for name, field in cls.attributes.items() if not field.inherited}
        rows = [f"    {name}: {text[0].upper()}{text[1:]}." for name, text in comments.items() if text]
        if rows and cls.docstring is not None and "Args:" not in cls.docstring.value:
            cls.docstring.value += "\n\nAttributes:\n" + "\n".join(rows)


def separated(text: str) -> str:
    """``text`` with an empty line between two formulas on their own lines."""
    return text.replace("$$\n$$", "$$\n\n$$")


def escaped(text: str) -> str:
    """``text`` with < as an entity, except in formulas, code and doctests."""
    before, prompt, doctest = text.partition(">>>")
    return re.sub(f"({FORMULA_OR_CODE})|<", lambda m: m[1] or "&lt;", before, flags=re.DOTALL) + prompt + doctest


def fenced(text: str) -> str:
    """``text`` with a fence around every run of lines that begins with ``>>>`` and ends before an empty line."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines).rstrip()


def comment(field: griffe.Attribute) -> str:
    """What stands behind the # of a field, or nothing."""
    words = field.source.partition("  # ")[2]
    return "" if words.startswith("type:") else escaped(words)
