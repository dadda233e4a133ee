"""What the documentation shows of the stored results."""

from typing import Any

from pages import table

from . import targets
from .figure import curves
from .methods import FOREACH
from .results import costs, curve

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


def judged(found: dict[str, Any], threads: int) -> list[targets.Target]:
    """The targets of all that is stored for a number of threads."""
    sections = found.get(str(threads), {})
    values = {name: section["values"] for name, section in sections.items()}
    timed = [
        *targets.of_curve(curve(found, threads)),
        *targets.of_models(costs(found, threads, "models")),
        *targets.of_sleep(costs(found, threads, "sleep")),
        *targets.of_memory(values.get("memory", {})),
    ]
    for weights, times in values.get("bookkeeping", {}).items():
        timed += targets.of_bookkeeping(weights, {int(n): each for n, each in times.items()})
    return timed


def aims(found: dict[str, Any]) -> str:
    """What was aimed at and what was found with each number of threads; what was missed is bold."""
    header, rows = ["", "aim"], dict[str, list[str]]()
    for column, threads in enumerate(sorted(map(int, found)), 2):
        header.append(f"{threads} thread{'s' * (threads > 1)}")
        for target in judged(found, threads):
            row = rows.setdefault(target.words, [target.words, f"{target.most:g}"])
            row += [UNTIMED] * (column - len(row))
            row.append(f"{target.found:.2f}" if target.is_met else f"**{target.found:.2f}**")
    return table(header, [row + [UNTIMED] * (len(header) - len(row)) for row in rows.values()])
