"""Any methods on any objectives: the same noise and the same number of samples for all, replications paired."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from ..objectives import objective, of_kind
from ..paper.experiment import Reproduction, check_iterations
from ..paper.methods import METHODS
from ..paper.numbers import certify
from ..runner.cells import check_count, check_seed
from ..runner.engine import check, processes
from ..runner.experiment import versions
from ..runner.paired import HORIZON, Method, play
from ..runner.records import Floats, Record
from ..runner.statistics import mean, reduction
from ..runner.tables import Layout, Table
from .baselines import FACTORS, RATES, baselines
from .oracles import spelled

# of every comparison, besides the baselines
COLUMNS = (
    "sgd", "identity", "projector", "hedge", "learned", "blind", "sharp_identity", "sharp", "sharp_blind",
)  # fmt: skip
FIXED = ("identity", "projector")  # the experts of which the better one is the best in hindsight
REFERENCES = ("sgd", "identity")  # what a learner must not be worse than


class Comparison(NamedTuple):
    """The numbers of a comparison as plain data, and by objective and method the mean gap at every iteration.

    >>> Comparison({}, {}).lines
    {}
    """

    found: dict[str, Any]
    lines: dict[str, dict[str, Floats]]


def compare(
    objectives: Sequence[str] = (),
    oracles: Sequence[str] = (),
    settings: Reproduction | None = None,
    jobs: int | None = 1,
) -> Comparison:
    r"""Run all methods on all objectives.

    For each method and objective: the mean gap at the last iteration with its error, its ratio to the better of SGD and
    the tracker with I, the average squared gradient, and for methods with an oracle the regret against I on the loss
    that was revealed and the tight certificate; for baselines the rate with the smallest gap, and the smallest average
    of any rate. ``hindsight`` names the fixed expert with the smaller gap.

    Args:
        objectives: "f1" to "f8", and those of real data; the first eight if none is given.
        oracles: further oracles, as `spelled` reads them.
        settings: seed, replications, iterations, backend and dtype.
        jobs: processes, one objective each at a time.

    Reference: Numerical Experiments, with other objectives and methods.

    >>> found, lines = compare(["f8"], settings=Reproduction(replications=2, iterations=5))
    >>> bool(found["results"]["f8"]["learned"]["gap"] == lines["f8"]["learned"][-1])
    True
    """
    settings = settings or Reproduction()
    names, further = list(dict.fromkeys(objectives)) or list(of_kind("smooth")), list(dict.fromkeys(oracles))
    for f in [objective(name) for name in names]:
        for text in further:
            spelled(text).conversion(f, np.zeros(1))
    check(jobs)
    tasks = [(name, further, settings) for name in names]
    started = processes(_compare_one, tasks, jobs) if jobs != 1 and len(names) > 1 else None
    runs = dict(zip(names, started or (_compare_one(*task) for task in tasks), strict=True))
    results = {name: numbers for name, (numbers, _) in runs.items()}
    found = {
        "settings": settings.to_dict() | {"horizon": HORIZON},
        "versions": versions(),
        "grid": {name: list(grid) for name, grid in baselines().items()},
        "results": results,
        "hindsight": {name: min((row[key]["gap"], key) for key in FIXED)[1] for name, row in results.items()},
    }
    return Comparison(found, {name: lines for name, (_, lines) in runs.items()})


def _compare_one(
    name: str, oracles: Sequence[str], settings: Reproduction
) -> tuple[dict[str, dict[str, Any]], dict[str, Floats]]:
    """One objective: the numbers of each method, and the mean gap at every iteration."""
    grids = baselines()
    methods = [METHODS[key] for key in COLUMNS] + [spelled(text) for text in oracles if text not in COLUMNS]
    candidates = [method for grid in grids.values() for method in grid.values()]
    how = asdict(settings)
    records = play(objective(name), [*methods, *candidates], range(how.pop("replications")), **how)
    T = settings.iterations
    reference = min((records[key].at("gap", T) for key in REFERENCES), key=lambda gaps: float(gaps.mean()))
    shown: dict[str, tuple[Method, dict[str, Any]]] = {"sgd": (METHODS["sgd"], {})}
    for key, grid in grids.items():
        _, rate = min((records[method.name].mean["gap"][-1], entry) for entry, method in grid.items())
        smallest = min(float(records[method.name].mean["average"][-1]) for method in grid.values())
        at_an_end = rate in (min(grid), max(grid))
        shown[key] = grid[rate], {"chosen": rate, "at_an_end_of_the_grid": at_an_end, "best_average": smallest}
    shown |= {method.name: (method, {}) for method in methods}
    numbers = {key: _numbers(name, records[m.name], reference, T, m) | more for key, (m, more) in shown.items()}
    return numbers, {key: records[method.name].mean["gap"] for key, (method, _) in shown.items()}


def _numbers(name: str, record: Record, reference: Floats, T: int, method: Method) -> dict[str, Any]:
    less, numbers = reduction(record.at("gap", T), reference), dict[str, Any]()
    for metric in ("gap", "average", *(["regret"] if method.oracle else [])):
        numbers[metric], numbers[f"{metric}_stderr"] = mean(record.at(metric, T))
    numbers |= {"ratio": 1 - less.value / 100, "ratio_stderr": less.stderr / 100}
    if method.oracle:
        certificates = certify(method, name, record, T)
        place = "uniform" if method.r is None else method.r
        numbers |= {"kappa": method.kappa, "r": place, "certificates": certificates}
    if "weight" in record.mean:
        numbers["weight"] = float(record.mean["weight"][-1])
    return numbers


def run_beside_sgd(name: str, method: Method, replications: int = 16, **how: Any) -> dict[str, Record]:
    """Run ``method`` and SGD on the objective called ``name`` with the same noise; ``how`` are arguments of `play`.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> from o2nc.lab.compare.oracles import combination
    >>> records = run_beside_sgd("f4", combination("ogd"), replications=2, iterations=5)
    >>> sorted(records)
    ['ogd', 'sgd']
    """
    check_count("replications", replications, 1)
    check_iterations(how.get("iterations", 1))
    check_seed(how.get("seed", 0))
    methods = list({"sgd": METHODS["sgd"], method.name: method}.values())
    return play(objective(name), methods, range(replications), **how)


CHARTED = ("sgd", "adam", "hedge", "learned", "blind")  # for a terminal, before the oracles that are named
METRICS = {"gap": ".4e", "average": ".6f", "instant": ".4e"}  # and how they are printed
LAYOUT = Layout(__package__)
SENTENCES = (
    "/ best: the gap over the smaller of those of SGD and the tracker with I, +- its standard error",
    "certificate: the tight one over the average; regret: against I, on the loss that was revealed",
    f"rates of SGD, heavy ball, schedule-free, episodic: {', '.join(f'{v:g}' for v in FACTORS)} times the paper's step",
    "the same factors of a natural 1/rho for doubly-optimistic and of a natural alpha for surrogate",
    f"rates of Adam: {', '.join(f'{v:g}' for v in RATES)}; ! is an end of the grid",
)


def comparison_table(name: str, found: dict[str, Any]) -> Table:
    """The numbers of all methods on one objective.

    Reference: Numerical Experiments, with other objectives and methods.
    """
    rows = ({"key": key, "more": _more(row), **row} for key, row in found["results"][name].items())
    return LAYOUT.table("comparison", rows, found | {"objective": name})


def _more(row: dict[str, Any]) -> tuple[str, str, str]:
    """Regret, certificate and rate, of those that have one."""
    regret = f"{row['regret']:.3g}" if "regret" in row else ""
    bound = f"{row['certificates']['tight']['bound'] / row['average']:.3f}" if "certificates" in row else ""
    rate = f"{row['chosen']:g}{'!' if row['at_an_end_of_the_grid'] else ''}" if "chosen" in row else ""
    return regret, bound, rate


def run_table(records: Mapping[str, Record]) -> Table:
    """The means of all metrics at the checkpoints.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    columns = [(metric, name) for metric in METRICS for name in records]
    rows = (
        {
            "t": t,
            "means": " | ".join(f"{records[name].mean[metric][t - 1]:{METRICS[metric]}}" for metric, name in columns),
        }
        for t in next(iter(records.values())).checkpoints
    )
    return LAYOUT.table("run", rows, {"columns": " | ".join(map(" ".join, columns))})
