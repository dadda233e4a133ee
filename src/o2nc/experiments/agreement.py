"""Every published cell beside what was measured here, with a verdict."""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from .. import _xp
from . import paper
from .methods import hedge_rate
from .objectives import OBJECTIVES, double_well
from .record import Record
from .statistics import Estimate, favourable, interval_ends, mean, reduction

Records = Mapping[str, Mapping[str, Record]]  # by objective and method
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


def _exact_cells() -> Iterator[Entry]:
    measured: dict[str, dict[str, dict[str, float]]] = {"definitions": {}, "initialisation": {}, "constants": {}}
    measured["definitions"]["f2"] = {
        "g_star": double_well.G_STAR,
        "l": double_well.LENGTH,
        "s_c": double_well.SCALE,
    }
    for name, f in OBJECTIVES.items():
        x = f.start(np.zeros(1))
        gap, gradient = f.gap_and_gradient(x)
        start = [_xp.number(v) for v in x]
        points = {
            "f1": {"z": start[0]},
            "f2": dict(zip("cuv", start, strict=False)),
            "f3": {"amplitude": max(start)},
            "f4": {"amplitude": start[0]},
        }
        norm = math.sqrt(sum(_xp.number(v) ** 2 for v in gradient))
        measured["initialisation"][name] = points[name] | {"gap": _xp.number(gap), "gradient_norm": norm}
        c = f.constants(paper.T_RUN)
        measured["constants"][name] = {
            "d": f.d, "M": f.M, "beta": f.beta, "sigma": f.sigma, "a": c.a, "eta": c.eta, "gamma": hedge_rate(f),
        }  # fmt: skip
    published = {
        "definitions": paper.DEFINITIONS,
        "initialisation": paper.INITIALISATION,
        "constants": paper.CONSTANTS,
    }
    for table, rows in published.items():
        for name, row in rows.items():
            for key, printed in row.items():
                value = measured[table][name][key]
                yield _entry(table, f"{name} {key}", printed, Estimate(value, 0.0), paper.agrees(printed, value))


def _random_cells(records: Records) -> Iterator[Entry]:
    for table, cell, printed, estimate, R in _measurements(records):
        if estimate is None:
            yield _entry(table, cell, printed, None, None)
            continue
        x, half_unit = paper.digits(printed)
        width = WIDTH * estimate.stderr * math.sqrt(1 + R / paper.REPLICATIONS)
        yield _entry(table, cell, printed, estimate, abs(estimate.value - x) <= width + half_unit)


def _measurements(records: Records) -> Iterator[tuple[str, str, str, Estimate | None, int]]:
    """(table, cell, printed, estimate or None, R) for each random cell."""
    t = paper.ITERATIONS
    for name, row in paper.RESULTS.items():
        known = records.get(name, {})
        reached = {m: record for m, record in known.items() if t in record.checkpoints}
        R = next(iter(reached.values())).R if reached else 0
        for metric in paper.METRICS:
            for method, cells in row.items():
                estimate = mean(reached[method].at(metric, t)) if reached else None
                yield "results", f"{name} {method} {metric}", cells[metric], estimate, R
        for metric in paper.METRICS:
            pair = (reached["hedge"].at(metric, t), reached["sgd"].at(metric, t)) if reached else None
            ends = interval_ends(*pair) if pair else (None, None)
            for end, printed, estimate in zip(("low", "high"), paper.PAIRED[name][metric], ends, strict=True):
                yield "paired", f"{name} {metric} {end}", printed, estimate, R
            estimate = reduction(*pair) if pair else None
            yield "reductions", f"{name} {metric}", paper.REDUCTIONS[name][metric], estimate, R
            estimate = favourable(*pair) if pair else None
            yield "favourable", f"{name} {metric}", paper.FAVOURABLE[name][metric], estimate, R


def _entry(table: str, cell: str, printed: str, estimate: Estimate | None, agrees: bool | None) -> Entry:
    return {
        "table": table,
        "cell": cell,
        "published": paper.digits(printed).value,
        "printed": printed,
        "measured": None if estimate is None else float(estimate.value),
        "stderr": None if estimate is None else float(estimate.stderr),
        "agrees": None if agrees is None else bool(agrees),
    }
