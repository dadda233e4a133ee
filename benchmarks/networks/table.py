"""The results as Markdown: all losses, the criterion in every cell, and the best cells."""

import math

from pages import table as rows
from seeds import mean, paired, plus_minus, standard_error

from .methods import EXPERTS, METHODS, RATES
from .run import Cell

Results = dict[Cell, dict]


def of_seeds(results: Results, task: str, method: str, lr: float, key: str = "train") -> dict[int, float]:
    """The losses of a cell of the table by seed."""
    mine = (task, method, lr)
    return {cell.seed: record[key] for cell, record in results.items() if (cell.task, cell.method, cell.lr) == mine}


def losses(results: Results, task: str, key: str) -> str:
    """Mean and standard error of all methods at all learning rates; the smallest mean is bold.

    The number of seeds is given where it is not that of the others.
    """
    rates = [*RATES, *sorted({lr for method in METHODS.values() for lr in method.rates} - set(RATES))]
    found = {(m, lr): of_seeds(results, task, m, lr, key) for m in METHODS for lr in rates}
    least, seeds = min(map(mean, found.values())), max(map(len, found.values()))

    def entry(values: dict[int, float]) -> str:
        if not values:
            return ""
        if not math.isfinite(mean(values)):
            return "diverged"
        number = f"**{mean(values):.4f}**" if mean(values) == least else f"{mean(values):.4f}"
        few = f" ({len(values)} of {seeds} seeds)" if len(values) < seeds else ""
        return number + plus_minus(standard_error([*values.values()])) + few

    body = [[method.title, *(entry(found[name, lr]) for lr in rates)] for name, method in METHODS.items()]
    return rows(["", *(f"lr {lr:g}" for lr in rates)], [row for row in body if any(row[1:])])


def criterion(results: Results, tasks: list[str]) -> tuple[str, int, int]:
    """Whether `Hedged` ends near its best expert, as a table; and how many cells pass, of how many."""
    body = []
    for task in tasks:
        for lr in RATES:
            found = {name: of_seeds(results, task, name, lr) for name in ("hedged", *EXPERTS)}
            seeds = set.intersection(*map(set, found.values()))
            if not seeds:
                continue
            found = {name: {seed: values[seed] for seed in seeds} for name, values in found.items()}
            best = min(EXPERTS, key=lambda name: mean(found[name]))
            gap, error = paired(found["hedged"], found[best])
            allowed = max(0.03 * mean(found[best]), 2 * error, 0.01)
            numbers = [f"{mean(found[best]):.4f}", f"{mean(found['hedged']):.4f}", f"{gap:+.4f}{plus_minus(error)}"]
            verdict = "pass" if gap <= allowed else "**miss**"
            body.append([task, f"{lr:g}", best, *numbers, f"{allowed:.4f}", verdict])
    header = ["task", "lr", "best expert", "its objective", "Hedged", "difference", "allowed", ""]
    return rows(header, body), sum(row[-1] == "pass" for row in body), len(body)


def best_cells(results: Results, tasks: list[str]) -> str:
    """The best learning rate of each method for each task; bold, with the paired difference, what is below `Hedged`."""
    header, body = ["", *tasks], []
    best = {
        (name, task): min(method.rates, key=lambda lr, key=(task, name): mean(of_seeds(results, *key, lr)))
        for name, method in METHODS.items()
        for task in tasks
    }
    for name, method in METHODS.items():
        row = [method.title]
        for task in tasks:
            theirs = of_seeds(results, task, name, best[name, task])
            ours = of_seeds(results, task, "hedged", best["hedged", task])
            entry = f"{mean(theirs):.4f} (lr {best[name, task]:g})" if theirs else ""
            if ours.keys() & theirs.keys():
                gap, error = paired(theirs, ours)
                entry = f"**{entry}**, {gap:+.4f}{plus_minus(error)}" if gap < 0 else entry
            row.append(entry)
        if any(row[1:]):
            body.append(row)
    return rows(header, body)


def markdown(results: Results) -> str:
    tasks = list(dict.fromkeys(cell.task for cell in results))
    text = "### Hedged against its best expert\n\n"
    for title, first in (("All seeds", 0), ("Without seed 0", 1), ("Without seeds 0 and 1", 2)):
        some = {cell: record for cell, record in results.items() if cell.seed >= first}
        table, passed, cells = criterion(some, tasks)
        text += f"{title}: {passed} of {cells} cells pass.\n\n{table}\n"
    text += (
        "### Best cells\n\nIn bold what is below Hedged, and by how much (paired).\n\n"
        + best_cells(results, tasks)
        + "\n"
    )
    for task in tasks:
        text += f"### {task}\n\nTraining objective:\n\n{losses(results, task, 'train')}\n"
        text += f"Validation loss:\n\n{losses(results, task, 'validation')}\n"
    return text
