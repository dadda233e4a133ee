"""The tables of `o2nc compare` and `o2nc run`, and what explains them."""

from collections.abc import Mapping
from typing import Any

from ..runner.records import Record
from ..runner.tables import Table
from .comparison import FACTORS, RATES

CHARTED = ("sgd", "adam", "hedge", "learned", "blind")  # for a terminal, before the oracles that are named
METRICS = ("gap", "average", "instant")
SENTENCES = (
    "/ best: the gap over the smaller of those of SGD and the tracker with I, +- its standard error",
    "certificate: the tight one over the average; regret: against I, on the loss that was revealed",
    f"rates of SGD and heavy ball: {', '.join(f'{v:g}' for v in FACTORS)} times the paper's step",
    f"rates of Adam: {', '.join(f'{v:g}' for v in RATES)}; ! is an end of the grid",
)


def comparison_table(name: str, found: dict[str, Any]) -> Table:
    """The numbers of all methods on one objective.

    Reference: Numerical Experiments, with other objectives and methods.
    """
    header = [
        f"{name}, t = {found['settings']['iterations']}",
        "gap",
        "/ best",
        "average",
        "regret",
        "certificate",
        "rate",
    ]
    return Table(name, "", "", header, [[key, *_cells(row)] for key, row in found["results"][name].items()])


def _cells(row: dict[str, Any]) -> list[str]:
    regret = f"{row['regret']:.3g}" if "regret" in row else ""
    bound = f"{row['certificates']['tight']['bound'] / row['average']:.3f}" if "certificates" in row else ""
    rate = f"{row['chosen']:g}{'!' if row['at_an_end_of_the_grid'] else ''}" if "chosen" in row else ""
    ratio = f"{row['ratio']:.3f}+-{row['ratio_stderr']:.3f}"
    return [f"{row['gap']:.3e}", ratio, f"{row['average']:.5f}", regret, bound, rate]


def run_table(records: Mapping[str, Record]) -> Table:
    """The means of all metrics at the checkpoints.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    rows = [
        [f"{t}", *(f"{r.mean[k][t - 1]:.6f}" if k == "average" else f"{r.mean[k][t - 1]:.4e}" for k, r in columns)]
        for columns in [[(metric, record) for metric in METRICS for record in records.values()]]
        for t in next(iter(records.values())).checkpoints
    ]
    return Table("run", "", "", ["t", *(f"{metric} {name}" for metric in METRICS for name in records)], rows)
