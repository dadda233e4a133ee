"""Tokens of code, without comments and docstrings: how much there is to read. It counts and never fails.

Run: python benchmarks/tokens.py [FOLDER ...]
"""

import ast
import sys
import tokenize
from pathlib import Path

SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def counted(path: Path) -> tuple[int, int]:
    """The tokens of a file, and the lines that hold them."""
    tree = ast.parse(path.read_text())
    bodies = [getattr(node, "body", None) for node in ast.walk(tree)]
    firsts = [body[0] for body in bodies if isinstance(body, list) and body]
    docstrings = {
        (node.value.lineno, node.value.col_offset)
        for node in firsts
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    with path.open("rb") as file:
        found = [t for t in tokenize.tokenize(file.readline) if t.type not in SILENT and t.start not in docstrings]
    return len(found), len({row for t in found for row in range(t.start[0], t.end[0] + 1)})


if __name__ == "__main__":
    for folder in sys.argv[1:] or ["src/o2nc", "tests"]:
        counts = [counted(path) for path in sorted(Path(folder).rglob("*.py"))]
        tokens, lines = (sum(column) for column in zip(*counts, strict=True))
        print(f"{folder}: {len(counts)} files, {tokens} tokens on {lines} lines, {tokens / lines:.1f} a line")
