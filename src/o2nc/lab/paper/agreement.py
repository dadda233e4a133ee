"""Every published cell beside what was measured here, with a verdict."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..objectives import double_well, objective
from ..runner.paired import HORIZON
from ..runner.records import Records
from ..runner.statistics import Estimate, favourable, interval_ends, mean, reduction
from . import published
from .methods import hedge_rate

Entry = dict[str, str | float | bool | None]

WIDTH = 4.0  # standard errors of the difference within which two experiments agree


def agreement(records: Records) -> list[Entry]:
    r"""All cells of the paper's tables: published, measured, standard error and whether they agree.

    What is not random must round to the printed digits. A random cell agrees if
    $|measured-published|\le4\,s\sqrt{1/R+1/128}$ and half a unit of the last printed digit: four standard errors of the
    difference of two independent experiments, of which ours has R replications and the paper's 128. A cell of an
    iteration that the run did not reach has neither measurement nor verdict.

    Reference: Numerical Experiments, all tables.

    >>> entries = agreement({})
    >>> sum(entry["agrees"] is True for entry in entries), sum(entry["agrees"] is None for entry in entries)
    (45, 72)
    """
    return [*_exact_cells(), *_random_cells(records)]


def constants(name: str) -> dict[str, float]:
    """The constants of an objective and of its run.

    >>> round(constants("f3")["a"], 6)
    0.861684
    """
    f = objective(name)
    c = f.constants(HORIZON)
    return {
        "d": f.d, "M": f.M, "beta": f.beta, "sigma": f.sigma, "S": f.S, "T": HORIZON,
        "G": c.G, "G0": c.G0, "a": c.a, "eta": c.eta, "gamma": hedge_rate(f),
    }  # fmt: skip


def _initialisation(name: str) -> dict[str, float]:
    x = objective(name).start(np.zeros(1))
    gap, gradient = objective(name).gap_and_gradient(x)
    points = {"f1": {"z": x[0]}, "f2": dict(zip("cuv", x, strict=False)), "f3": {"amplitude": max(x)}}
    found = points.get(name, {"amplitude": x[0]}) | {"gap": gap[0], "gradient_norm": math.sqrt(gradient @ gradient)}
    return {key: float(value) for key, value in found.items()}


def _exact_cells() -> Iterator[Entry]:
    defined = {"g_star": double_well.G_STAR, "l": double_well.LENGTH, "s_c": double_well.SCALE}
    tables: dict[str, tuple[dict[str, dict[str, str]], Callable[[str], dict[str, float]]]] = {
        "definitions": (published.DEFINITIONS, lambda name: defined),
        "initialisation": (published.INITIALISATION, _initialisation),
        "constants": (published.CONSTANTS, constants),
    }
    for table, (rows, measure) in tables.items():
        for name, row in rows.items():
            measured = measure(name)
            for key, printed in row.items():
                agrees = published.agrees(printed, measured[key])
                yield _entry(table, f"{name} {key}", printed, Estimate(measured[key], 0.0), agrees)


def _random_cells(records: Records) -> Iterator[Entry]:
    for table, cell, printed, estimate, R in _measurements(records):
        (x, half_unit), agrees = published.digits(printed), None
        if estimate is not None:
            width = WIDTH * estimate.stderr * math.sqrt(1 + R / published.REPLICATIONS)
            agrees = abs(estimate.value - x) <= width + half_unit
        yield _entry(table, cell, printed, estimate, agrees)


def _measurements(records: Records) -> Iterator[tuple[str, str, str, Estimate | None, int]]:
    """(table, cell, printed, estimate or None, R) for each random cell."""
    t = published.ITERATIONS
    for name, row in published.RESULTS.items():
        known = records.get(name, {})
        reached = {m: record for m, record in known.items() if t in record.checkpoints}
        R = next(iter(reached.values())).R if reached else 0
        for metric in published.METRICS:
            for method, cells in row.items():
                estimate = mean(reached[method].at(metric, t)) if reached else None
                yield "results", f"{name} {method} {metric}", cells[metric], estimate, R
        for metric in published.METRICS:
            pair = (reached["hedge"].at(metric, t), reached["sgd"].at(metric, t)) if reached else None
            ends = interval_ends(*pair, n=published.REPLICATIONS) if pair else (None, None)
            for end, printed, estimate in zip(("low", "high"), published.PAIRED[name][metric], ends, strict=True):
                yield "paired", f"{name} {metric} {end}", printed, estimate, R
            estimate = reduction(*pair) if pair else None
            yield "reductions", f"{name} {metric}", published.REDUCTIONS[name][metric], estimate, R
            estimate = favourable(*pair, n=published.REPLICATIONS) if pair else None
            yield "favourable", f"{name} {metric}", published.FAVOURABLE[name][metric], estimate, R


def _entry(table: str, cell: str, printed: str, estimate: Estimate | None, agrees: bool | None) -> Entry:
    return {
        "table": table,
        "cell": cell,
        "published": published.digits(printed).value,
        "printed": printed,
        "measured": None if estimate is None else float(estimate.value),
        "stderr": None if estimate is None else float(estimate.stderr),
        "agrees": None if agrees is None else bool(agrees),
    }
