"""A small chart of text for a terminal."""

import math
from collections.abc import Mapping

import numpy as np

from .records import Floats

MARKS = "*o+x#@%&"


def chart(lines: Mapping[str, Floats], title: str, width: int = 64, height: int = 12) -> str:
    """The lines against the iteration on a logarithmic vertical axis; a later line covers an earlier one.

    >>> print(chart({"a": np.asarray([1.0, 0.1, 0.01])}, "gap", width=9, height=3))
    gap (log scale): * a
       1.0e+00 |*
       1.0e-01 |    *
       1.0e-02 |        *
                1 ... 3
    """
    positive = np.concatenate([line[line > 0] for line in lines.values()])
    legend = f"{title} (log scale): " + ", ".join(f"{m} {n}" for m, n in zip(MARKS, lines, strict=False))
    if not len(positive):
        return legend + ": all zero"
    top = math.log10(float(positive.max()))
    bottom = min(math.log10(max(float(positive.min()), 10 ** (top - 12))), top - 1e-9)
    grid = [[" "] * width for _ in range(height)]
    T = 1
    for mark, line in zip(MARKS, lines.values(), strict=False):
        T = len(line)
        for column in range(width) if width < T else range(T):
            t = round(column * (T - 1) / (width - 1)) if width < T else column
            place = column if width < T else round(column * (width - 1) / max(T - 1, 1))
            level = math.log10(max(float(line[t]), 10**bottom))
            row = round((top - level) / (top - bottom) * (height - 1))
            grid[min(max(row, 0), height - 1)][place] = mark
    rows = [
        f"{10 ** (top - (top - bottom) * i / max(height - 1, 1)):10.1e} |{''.join(row)}".rstrip()
        for i, row in enumerate(grid)
    ]
    return "\n".join([legend, *rows, " " * 12 + f"1 ... {T}"])
