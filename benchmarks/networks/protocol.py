"""The protocol of docs/training-protocol.md: which cells are run, and how they are counted."""

import math
from collections.abc import Iterable
from functools import cache
from statistics import fmean, geometric_mean
from typing import NamedTuple

from scipy.stats import spearmanr

from .fine_tuning import RATE
from .methods import EXPERTS, METHODS
from .run import ALL, Cell, grid

FLOOR = 1e-3  # objectives below this part of the initial one count as equal
NEAR = 1.10  # a cell is near the best expert up to this ratio

Results = dict[Cell, dict]


def objective(record: dict) -> float:
    """The final training objective, between ``FLOOR`` times the initial one and the initial one.

    A run that diverged counts as one that stayed where it began.
    """
    final = record["train"] if math.isfinite(record["train"]) else math.inf
    return min(max(final, FLOOR * record["initial"]), record["initial"])


@cache
def decays(task: str) -> tuple[float, ...]:
    """The weight decays that may be chosen in a task."""
    return ALL[task](0).decays


@cache
def steps(task: str) -> int:
    """How long a run is."""
    return ALL[task](0).steps


def trial(results: Results, task: str, method: str) -> list[Cell]:
    """The cells that choose the weight decay, as far as they are known.

    All rates with seed 0 and the first weight decay of the task, then the others at the best of these rates.
    """
    first, *others = decays(task)
    rates = [cell._replace(weight_decay=first) for cell in grid([task], [0], [method])]
    if not all(cell in results for cell in rates):
        return rates
    best = min(rates, key=lambda cell: objective(results[cell]))
    return [*rates, *(best._replace(weight_decay=decay) for decay in others)]


def weight_decay(results: Results, task: str, method: str) -> float | None:
    """The weight decay of the best cell of the trial; None if the trial is not over."""
    cells = trial(results, task, method)
    if not all(cell in results for cell in cells):
        return None
    return min(cells, key=lambda cell: objective(results[cell])).weight_decay


def wanted(results: Results, tasks: Iterable[str], methods: Iterable[str], seeds: list[int]) -> list[Cell]:
    """What is to be run next: the trial of every method in every task, and then all rates and seeds."""
    cells = []
    for task in tasks:
        for method in methods:
            decay = weight_decay(results, task, method)
            if decay is None:
                cells += trial(results, task, method)
            else:
                cells += [cell._replace(weight_decay=decay) for cell in grid([task], seeds, [method])]
    return [cell for cell in cells if cell not in results]


def records(results: Results, task: str, method: str) -> Results:
    """The runs of a method in a task with the weight decay that it has chosen."""
    mine = (task, method, weight_decay(results, task, method))
    return {cell: found for cell, found in results.items() if (cell.task, cell.method, cell.weight_decay) == mine}


def of_cell(results: Results, task: str, method: str, lr: float) -> dict[int, float]:
    """The objectives of a cell by seed."""
    found = records(results, task, method).items()
    return {cell.seed: objective(record) for cell, record in found if cell.lr == lr}


def diverged(results: Results, tasks: Iterable[str], method: str) -> int:
    """How many runs of a method end above where they began, or nowhere."""
    found = [record for task in tasks for record in records(results, task, method).values()]
    return sum(not record["train"] <= record["initial"] for record in found)


def best_cell(results: Results, task: str, method: str) -> tuple[float, float]:
    """The smallest mean over the seeds and its rate; infinite if there is none."""
    found = {lr: of_cell(results, task, method, lr) for lr in METHODS[method].rates}
    return min(((fmean(values.values()), lr) for lr, values in found.items() if values), default=(math.inf, math.nan))


def until(results: Results, task: str, method: str, goal: float) -> tuple[float, float]:
    """Steps and CPU seconds until the mean objective over the seeds, in the best cell of a method, is at most ``goal``.

    It is known at the end and at some points on the way; both are infinite if it is never reached.
    """
    _, lr = best_cell(results, task, method)
    found = [record for cell, record in records(results, task, method).items() if cell.lr == lr]
    if not found or not all(math.isfinite(record["train"]) for record in found):
        return math.inf, math.inf
    curves = [[*record["curve"], (steps(task), record["seconds"], objective(record))] for record in found]
    for points in zip(*curves, strict=True):
        t, seconds, objectives = zip(*points, strict=True)
        if fmean(objectives) <= goal:
            return t[0], fmean(seconds)
    return math.inf, math.inf


def ratios(
    results: Results, tasks: Iterable[str], method: str, experts: Iterable[str]
) -> dict[tuple[str, float], float]:
    """For every task and rate, the objective of ``method`` over that of the best expert, means over the same seeds.

    Cells in which somebody is missing are left out.
    """
    found = {}
    for task in tasks:
        for lr in METHODS[method].rates:
            mine = of_cell(results, task, method, lr)
            theirs = [of_cell(results, task, expert, lr) for expert in experts]
            if seeds := set(mine).intersection(*theirs):
                means = [fmean(values[seed] for seed in seeds) for values in (mine, *theirs)]
                found[task, lr] = means[0] / min(means[1:])
    return found


def over_adamw(results: Results, tasks: Iterable[str], method: str) -> dict[tuple[str, float], float]:
    """For every task and rate, the objective of ``method`` over that of AdamW at its default rate, over the same seeds.

    This judges fine-tuning.
    """
    found = {}
    for task in tasks:
        theirs = of_cell(results, task, "adamw", RATE)
        for lr in METHODS[method].rates:
            mine = of_cell(results, task, method, lr)
            if seeds := mine.keys() & theirs.keys():
                found[task, lr] = fmean(mine[seed] for seed in seeds) / fmean(theirs[seed] for seed in seeds)
    return found


def foresight(results: Results, tasks: Iterable[str]) -> tuple[int, float, float]:
    """Does a run of `Hedged` know which expert would have won, alone?

    Over all of its runs: their number, the rank correlation of what its regrets say for SOAP against Muon, in standard
    errors, with the logarithm of the objective of Muon alone over that of SOAP alone, and how often the signs agree.
    """
    said, found = [], []
    for task in tasks:
        for cell, record in records(results, task, "hedged").items():
            alone = [of_cell(results, task, name, cell.lr).get(cell.seed) for name in EXPERTS]
            if "regret" in record and None not in alone and alone[0] != alone[1]:
                lead = record["regret"]["soap"] - record["regret"]["muon"]
                said.append(lead / math.hypot(*record["error"].values()))
                found.append(math.log(alone[0] / alone[1]))
    if len(said) < 3:
        return len(said), math.nan, math.nan
    agree = fmean((a > 0) == (b > 0) for a, b in zip(said, found, strict=True))
    return len(said), float(spearmanr(said, found).statistic), agree


class Summary(NamedTuple):
    cells: int
    mean: float  # geometric
    near: float  # share of the cells
    worst: float


def summary(found: Iterable[float]) -> Summary:
    """The numbers of the table of the protocol, from the ratios of the cells."""
    values = [*found]
    near = fmean(value <= NEAR for value in values)
    return Summary(len(values), geometric_mean(values), near, max(values))
