"""How many steps does a method need to the loss of tuned AdamW? Which runs that takes, and how they are counted.

Reference: modded-nanogpt, Jordan et al. (2024), records/track_3_optimization: fixed model, data and batch.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

from networks.methods import METHODS
from networks.run import Cell
from rates import next_rate
from scipy.stats import spearmanr

Results = dict[Cell, dict]

PUBLISHED = ("soap", "muon", "adamw")  # from few steps to many: results 27, 36 and 2 of that track
LEVEL = 0.05  # of the test


@dataclass(frozen=True)
class Race:
    """What is fixed before a run.

    ``ladder`` are the run lengths, each with a full schedule; ``reference`` is the one at which rates are chosen, with
    seed 0, and AdamW sets the target. Seed 0 is in no result.
    """

    task: str = "gpt"
    methods: tuple[str, ...] = ("adamw", "muon", "soap", "hedged", "learned")
    ladder: tuple[int, ...] = (112, 140, 168, 196, 224, 252, 280, 308, 350)
    reference: int = 280
    rates: tuple[float, ...] = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2)
    first: float = 4e-3
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    weight_decay: float = 0.1

    def cell(self, method: str, lr: float, seed: int, steps: int) -> Cell:
        return Cell(self.task, method, lr, seed, self.weight_decay, steps)


def loss(record: dict) -> float:
    """The validation loss; infinite if the run diverged."""
    return record["validation"] if math.isfinite(record["validation"]) else math.inf


def tried(results: Results, race: Race, method: str) -> dict[float, float]:
    """The losses of the search by rate."""
    cells = {lr: race.cell(method, lr, 0, race.reference) for lr in race.rates}
    return {lr: loss(results[cell]) for lr, cell in cells.items() if cell in results}


def to_try(results: Results, race: Race, method: str) -> float | None:
    """The next rate of the search; None if it is over or if the method has no rate to choose."""
    if len(METHODS[method].rates) == 1:
        return None
    return next_rate(tried(results, race, method), race.rates, race.first)


def chosen(results: Results, race: Race, method: str) -> float | None:
    """The rate of a method: its own, or the best of the search; None before the search."""
    if len(METHODS[method].rates) == 1:
        return METHODS[method].rates[0]
    found = tried(results, race, method)
    return min(found, key=found.get) if found else None


def wanted(results: Results, race: Race) -> list[Cell]:
    """What is to be run next: the search of every method, then all lengths and seeds."""
    cells = []
    for method in race.methods:
        if (lr := to_try(results, race, method)) is not None:
            cells.append(race.cell(method, lr, 0, race.reference))
        else:
            lr = chosen(results, race, method)
            cells += [race.cell(method, lr, seed, steps) for seed in race.seeds for steps in race.ladder]
    return [cell for cell in cells if cell not in results]


def rung(results: Results, race: Race, method: str, steps: int) -> list[dict]:
    """The runs of a method with one length; none unless all seeds are there."""
    lr = chosen(results, race, method)
    cells = [race.cell(method, lr, seed, steps) for seed in race.seeds]
    return [results[cell] for cell in cells] if all(cell in results for cell in cells) else []


def losses(results: Results, race: Race, method: str) -> dict[int, list[float]]:
    """The losses of all seeds by length."""
    found = {steps: rung(results, race, method, steps) for steps in race.ladder}
    return {steps: [loss(record) for record in records] for steps, records in found.items() if records}


def target(results: Results, race: Race) -> float:
    """The mean loss of tuned AdamW at the reference length; not a number if it is not there."""
    found = losses(results, race, "adamw").get(race.reference)
    return fmean(found) if found else math.nan


def deviation(results: Results, race: Race) -> float:
    """The standard deviation over seeds, pooled over all methods and lengths whose runs ended."""
    found = [values for method in race.methods for values in losses(results, race, method).values()]
    finite = [values for values in found if len(values) > 1 and all(map(math.isfinite, values))]
    return math.sqrt(fmean(map(variance, finite))) if finite else math.nan


def p_value(mean: float, target: float, error: float) -> float:
    """How likely a mean as small as this is if the expected loss is the target; ``error`` is that of the mean."""
    if error == 0:
        return float(mean >= target)
    return NormalDist().cdf((mean - target) / error) if math.isfinite(mean) else 1.0


def p_values(results: Results, race: Race, method: str) -> dict[int, float]:
    """The test of every length."""
    goal, error = target(results, race), deviation(results, race) / math.sqrt(len(race.seeds))
    return {steps: p_value(fmean(values), goal, error) for steps, values in losses(results, race, method).items()}


def steps_to_target(results: Results, race: Race, method: str) -> float:
    """The shortest length whose mean is below the target by the test; infinite if there is none."""
    return min((steps for steps, p in p_values(results, race, method).items() if p < LEVEL), default=math.inf)


def rank_correlation(results: Results, race: Race) -> float:
    """Spearman's, of the steps to the target with the published order; not a number if all are equal."""
    steps = [steps_to_target(results, race, method) for method in PUBLISHED]
    return float(spearmanr(steps, range(len(steps))).statistic) if len(set(steps)) > 1 else math.nan
