"""Any methods on any objectives: the same noise and the same number of samples for all, replications paired."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

from ..conversions import SGD, Adam, Conversion, HeavyBall
from .combination import combination
from .engine import processes
from .methods import METHODS, Method
from .objectives import Objective, objective
from .paper import T_RUN
from .protocol import Cell, play
from .record import Floats, Record
from .settings import Settings
from .statistics import mean, reduction
from .tables import certify, versions

# The grids of the learning rates, the same for all objectives: the paper's step size times a factor, and Adam's rates.
FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 256.0)
RATES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)

COLUMNS = ("sgd", "identity", "projector", "hedge", "learned", "blind")  # of every comparison, besides the baselines
FIXED = ("identity", "projector")  # the experts of which the better one is the best in hindsight
REFERENCES = ("sgd", "identity")  # what a learner must not be worse than
SPELLING = "name[:set][:rate=...][:kappa=...][:r=...]"  # of an oracle on the command line
LABELS = {"sgd-best": "SGD, best rate", "heavy-ball": "heavy ball, best rate", "adam": "Adam, best rate"}


def _scaled(make: Callable[[float], Conversion], factor: float, f: Objective) -> Conversion:
    return make(factor * f.constants(T_RUN).eta)


def _adam(rate: float, f: Objective) -> Conversion:
    return Adam(rate)


def baselines() -> dict[str, dict[float, Method]]:
    r"""The baselines whose learning rate is chosen afterwards, by name and by entry of their grid.

    SGD and heavy ball have $\eta$ times each of `FACTORS`, Adam each of `RATES`. The choice is made by the mean gap at
    the last iteration of the very runs that are reported, which favours the baselines.

    Reference: not in the paper; the controls of this library.

    >>> {name: len(grid) for name, grid in baselines().items()}
    {'sgd-best': 8, 'heavy-ball': 8, 'adam': 9}
    """
    made: dict[str, dict[float, Callable[[Objective], Conversion]]] = {
        "sgd-best": {factor: partial(_scaled, SGD, factor) for factor in FACTORS},
        "heavy-ball": {factor: partial(_scaled, HeavyBall, factor) for factor in FACTORS},
        "adam": {rate: partial(_adam, rate) for rate in RATES},
    }
    return {
        name: {entry: Method(f"{name} {entry:g}", LABELS[name], None, baseline=make) for entry, make in grid.items()}
        for name, grid in made.items()
    }


def named(text: str) -> Method:
    """The method of an oracle as the command line names it: ``name[:set][:rate=...][:kappa=...][:r=...]``.

    ``r`` is where on the step the sample is taken: a number from 0 (the start, if not given) to 1, or ``uniform``.

    Reference: Algorithm 1 with any oracle.

    >>> named("adagrad:box:kappa=4").kappa
    4.0
    >>> named("learned:kappa=1:r=uniform").r is None
    True
    >>> named("ogd:box:speed=4")
    Traceback (most recent call last):
        ...
    ValueError: An oracle is `name[:set][:rate=...][:kappa=...][:r=...]`; got 'ogd:box:speed=4'.
    """
    oracle, *parts = text.split(":")
    operators, numbers = None, dict[str, float | None]()
    for part in parts:
        key, given, value = part.partition("=")
        if not given and operators is None:
            operators = part
        elif key in ("rate", "kappa", "r") and key not in numbers and _is_number(value):
            numbers[key] = float(value)
        elif part == "r=uniform" and key not in numbers:
            numbers[key] = None
        else:
            raise ValueError(f"An oracle is `{SPELLING}`; got {text!r}.")
    method = combination(oracle, operators, numbers.get("rate"), numbers.get("kappa"))
    if "r" in numbers and method.oracle is None:
        raise ValueError(f"`r` must not be given for {oracle}, which takes its samples at its iterates; got {text!r}.")
    return replace(method, name=text, label=text, r=numbers.get("r", method.r))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


class Comparison(NamedTuple):
    """The numbers of a comparison as plain data, and by objective and method the mean gap at every iteration.

    >>> Comparison({}, {}).lines
    {}
    """

    found: dict[str, Any]
    lines: dict[str, dict[str, Floats]]


def compare(
    objectives: Sequence[str], oracles: Sequence[str] = (), settings: Settings | None = None, jobs: int | None = 1
) -> Comparison:
    r"""Run all methods on all objectives.

    For each method and objective: the mean gap at the last iteration with its error, its ratio to the better of SGD and
    the tracker with I, the average squared gradient, and for methods with an oracle the regret against I on the loss
    that was revealed and the tight certificate. ``hindsight`` names the fixed expert with the smaller gap.

    Args:
        objectives: "f1" to "f8".
        oracles: further oracles, as `named` reads them.
        settings: seed, replications, iterations, backend and dtype.
        jobs: processes, one objective each at a time.

    Reference: Numerical Experiments, with other objectives and methods.

    >>> found, lines = compare(["f8"], settings=Settings(replications=2, iterations=5))
    >>> bool(found["results"]["f8"]["learned"]["gap"] == lines["f8"]["learned"][-1])
    True
    """
    settings = settings or Settings()
    names, further = list(dict.fromkeys(objectives)), list(dict.fromkeys(oracles))
    for name in names:
        objective(name)
    for text in further:
        named(text).conversion(objective(names[0]), _like())
    if jobs is not None and jobs < 1:
        raise ValueError(f"`jobs` must be at least 1; got {jobs}.")
    if jobs == 1 or len(names) == 1:
        runs = [_compare_one(name, further, settings) for name in names]
    else:
        import joblib

        runs = list(processes([joblib.delayed(_compare_one)(name, further, settings) for name in names], jobs))
    found = {
        "settings": settings.to_dict() | {"horizon": T_RUN},
        "versions": versions(),
        "grid": {"sgd-best": list(FACTORS), "heavy-ball": list(FACTORS), "adam": list(RATES)},
        "results": {name: run[0] for name, run in zip(names, runs, strict=True)},
        "hindsight": {
            name: min(FIXED, key=lambda method, results=run[0]: results[method]["gap"])  # type: ignore[misc]
            for name, run in zip(names, runs, strict=True)
        },
    }
    return Comparison(found, {name: run[1] for name, run in zip(names, runs, strict=True)})


def _like() -> Any:
    import numpy as np

    return np.zeros(1)


def _compare_one(
    name: str, oracles: Sequence[str], settings: Settings
) -> tuple[dict[str, dict[str, Any]], dict[str, Floats]]:
    """One objective: the numbers of each method, and the mean gap at every iteration."""
    grids = baselines()
    methods = [METHODS[key] for key in COLUMNS] + [named(text) for text in oracles if text not in COLUMNS]
    candidates = [method for grid in grids.values() for method in grid.values()]
    how = asdict(settings)
    cell = Cell(name, ("sgd",), 0, how.pop("replications"), **how)
    records = play(objective(name), [*methods, *candidates], cell)
    chosen: dict[str, Record] = {}
    rates: dict[str, float] = {}
    for key, grid in grids.items():
        rates[key] = min(grid, key=lambda entry, grid=grid: records[grid[entry].name].mean["gap"][-1])  # type: ignore[misc]
        chosen[key] = records[grid[rates[key]].name]
    by_name = {method.name: method for method in methods}
    shown = {"sgd": records["sgd"]} | chosen | {method.name: records[method.name] for method in methods}
    T = settings.iterations
    reference = min((records[key].at("gap", T) for key in REFERENCES), key=lambda gaps: float(gaps.mean()))
    numbers = {}
    for key, record in shown.items():
        numbers[key] = _numbers(name, record, reference, T, by_name.get(key))
        if key in rates:
            ends = min(grids[key]), max(grids[key])
            numbers[key] |= {"chosen": rates[key], "at_an_end_of_the_grid": rates[key] in ends}
    return numbers, {key: record.mean["gap"] for key, record in shown.items()}


def _numbers(name: str, record: Record, reference: Floats, T: int, method: Method | None) -> dict[str, Any]:
    gap, average = mean(record.at("gap", T)), mean(record.at("average", T))
    less = reduction(record.at("gap", T), reference)
    numbers: dict[str, Any] = {
        "gap": gap.value,
        "gap_stderr": gap.stderr,
        "ratio": 1 - less.value / 100,
        "ratio_stderr": less.stderr / 100,
        "average": average.value,
        "average_stderr": average.stderr,
    }
    if method and method.oracle:
        regret, (kappa, r) = mean(record.at("regret", T)), (method.kappa, method.r)
        numbers |= {"regret": regret.value, "regret_stderr": regret.stderr}
        numbers |= {
            "kappa": kappa,
            "r": "uniform" if r is None else r,
            "certificates": certify(name, record, T, kappa, r),
        }
    if "weight" in record.mean:
        numbers["weight"] = float(record.mean["weight"][-1])
    return numbers
