"""All numbers of the nonsmooth experiment as plain data: what `tables.json` holds."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..objectives.nonsmooth import nonsmooth_objective
from ..record import Record
from ..statistics import mean, paired_interval
from ..tables import versions
from . import theory
from .methods import ALGORITHM2, FACTORS, METHODS
from .settings import NonsmoothSettings

Runs = Mapping[tuple[int, float], Mapping[str, Mapping[str, Record]]]  # by (T, factor), objective and method


def nonsmooth_tables(runs: Runs, settings: NonsmoothSettings) -> dict[str, Any]:
    r"""The numbers of all tables.

    ``results[objective][method]`` has the measure of the run's own witness in expectation over tau, the objective along
    the run and at the output, and for Algorithm 2 the regret against I and the certificates, all as prescribed;
    ``best`` is the factor of the step length with the smallest measure, with its numbers.

    Args:
        runs: the records by horizon and factor, objective and method.
        settings: of the run.

    Reference: Algorithm 2 and Theorem 2.
    """
    main = runs[settings.T, 1.0]
    results = {name: _results(name, runs, settings) for name in main}
    return {
        "settings": settings.to_dict(),
        "versions": versions(),
        "constants": {name: _constants(name, settings) for name in main},
        "noise": {name: _noise(name, main[name]["identity"], settings) for name in main},
        "results": results,
        "winners": {name: _winners(found) for name, found in results.items()},
        "lemmas": {
            name: {key: theory.lemmas(_tuned(name, settings), m[key]) for key in ALGORITHM2} for name, m in main.items()
        },
        "ladder": {name: theory.ladder(_tuned(name, settings), m["identity"]) for name, m in main.items()},
        "tau": {name: theory.law_of_tau(_tuned(name, settings), settings.seed, name) for name in main},
        "rate": {name: _rate(name, runs, settings) for name in main},
        "sandwich": {
            name: theory.sandwiches(nonsmooth_objective(name), m["identity"], settings.lam)
            for name, m in main.items()
            if hasattr(nonsmooth_objective(name), "enclosure")
        },
    }


def _tuned(name: str, settings: NonsmoothSettings, T: int | None = None) -> Any:
    return nonsmooth_objective(name).constants(T or settings.T, settings.lam)


def _constants(name: str, settings: NonsmoothSettings) -> dict[str, float]:
    f, c = nonsmooth_objective(name), _tuned(name, settings)
    return {
        "d": f.d, "L": f.L, "M": f.M, "sigma": f.sigma, "T": c.T, "lam": c.lam, "eps": c.eps, "a": c.a, "eta": c.eta,
    }  # fmt: skip


def _noise(name: str, record: Record, settings: NonsmoothSettings) -> dict[str, float]:
    roots = np.sqrt(record.sums["noise"] / settings.T)
    return {"declared": nonsmooth_objective(name).sigma, "measured": float(roots.mean()), "largest": float(roots.max())}


def _numbers(record: Record) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("measure", "gradient", "spread", "measure_tau", "sharper", "value", "output"):
        if name in record.sums:
            found[name], found[f"{name}_stderr"] = mean(record.sums[name])
    found["end"] = float(record.mean["value"][-1])
    return found


def _results(name: str, runs: Runs, settings: NonsmoothSettings) -> dict[str, dict[str, Any]]:
    T = settings.T
    reference = runs[T, 1.0][name]["identity"].sums["measure"]
    found: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        record = runs[T, 1.0][name][method]
        found[method] = dict(_numbers(record))
        found[method]["less_identity"] = list(paired_interval(record.sums["measure"], reference))
        if method in ALGORITHM2:
            found[method]["regret"], found[method]["regret_stderr"] = mean(record.sums["regret"])
            found[method]["certificate"] = theory.certify(_tuned(name, settings), record)
        tried = {k: runs[T, k][name][method] for k in FACTORS}
        k = min(tried, key=lambda k: float(tried[k].sums["measure"].mean()))
        found[method]["best"] = {"factor": k, "at_an_end": k == max(FACTORS), **_numbers(tried[k])}
    return found


def _winners(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    by = {
        "measure": lambda m: results[m]["measure"],
        "measure, best step": lambda m: results[m]["best"]["measure"],
        "objective at the output": lambda m: results[m]["output"],
        "objective at the output, best step": lambda m: results[m]["best"]["output"],
    }
    return {what: min(results, key=key) for what, key in by.items()}


def _rate(name: str, runs: Runs, settings: NonsmoothSettings) -> dict[str, Any]:
    rows = []
    for T in settings.horizons:
        c, record = _tuned(name, settings, T), runs[T, 1.0][name]["identity"]
        kinds = theory.certify(c, record)
        value, stderr = mean(record.sums["measure"])
        bounds = {kind: kinds[kind]["bound"] for kind in kinds}
        rows.append({"T": T, "measure": value, "stderr": stderr, "eps": c.eps, **bounds})
    x, y = (np.log([row[key] for row in rows]) for key in ("T", "measure"))
    slope = float(np.polyfit(x, y, 1)[0]) if len(rows) > 1 else math.nan
    return {"rows": rows, "slope": None if math.isnan(slope) else slope}
