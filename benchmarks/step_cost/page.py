"""What the documentation shows of the stored results."""

from typing import Any

from pages import table

from .figure import curves
from .methods import FOREACH
from .results import costs

FIGURE = "![The cost of a step over the width of tensors, against AdamW with foreach](assets/torch-step.png)"
UNTIMED = "–"


def markdown(found: dict[str, Any]) -> str:
    """Ratios to AdamW with ``foreach`` on models, with each number of threads."""
    header, columns = ["a step / that of AdamW with `foreach`"], list[dict[str, float]]()
    for threads in sorted(map(int, found)):
        for title, each in costs(found, threads, "models").items():
            header.append(f"{title}, {threads} thread{'s' * (threads > 1)}")
            columns.append({name: ratios[0] for name, ratios in curves({0: each}).items()})
    names = dict.fromkeys(name for column in columns for name in column if name != FOREACH)
    body = [[name, *(f"{c[name]:.2f}" if name in c else UNTIMED for c in columns)] for name in names]
    return table(header, body)
