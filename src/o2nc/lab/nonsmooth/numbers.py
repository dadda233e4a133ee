"""All numbers of the nonsmooth experiment as plain data: what `tables.json` holds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...constants import Nonsmooth
from ..objectives import objective
from ..runner.records import Record, Runs
from ..runner.statistics import mean, paired_interval
from . import theory
from .methods import ALGORITHM2, FACTORS, METHODS


def numbers(runs: Runs, T: int, lam: float, horizons: Sequence[int], seed: int) -> dict[str, Any]:
    r"""The numbers of all tables.

    ``results[objective][method]`` has the measure of the run's own witness in expectation over tau, the objective along
    the run and at the output, and for Algorithm 2 the regret against I and the certificates, all as prescribed;
    ``best`` is the factor of the step length with the smallest measure, with its numbers.

    Args:
        runs: the records by horizon and factor, objective and method.
        T: the horizon of the comparison.
        lam: the weight of the spread.
        horizons: of the rate.
        seed: of all that is random.

    Reference: Algorithm 2 and Theorem 2.
    """
    main = runs[T, 1.0]
    fs = {name: objective(name, "nonsmooth") for name in main}
    c = {name: f.constants(T, lam) for name, f in fs.items()}
    results = {name: _results(name, runs, c[name]) for name in main}
    identity = {name: methods["identity"] for name, methods in main.items()}
    return {
        "constants": {name: _constants(f, c[name]) for name, f in fs.items()},
        "noise": {name: _noise(c[name], record) for name, record in identity.items()},
        "results": results,
        "winners": {name: _winners(found) for name, found in results.items()},
        "lemmas": {name: {key: theory.lemmas(c[name], m[key]) for key in ALGORITHM2} for name, m in main.items()},
        "ladder": {name: theory.ladder(c[name], record) for name, record in identity.items()},
        "tau": {name: theory.law_of_tau(c[name], seed, name) for name in main},
        "rate": {
            name: _rate({T: (f.constants(T, lam), runs[T, 1.0][name]["identity"]) for T in horizons})
            for name, f in fs.items()
        },
        "sandwich": {name: theory.sandwiches(f, identity[name], lam) for name, f in fs.items() if f.enclosure},
    }


def _constants(f: Any, c: Nonsmooth) -> dict[str, float]:
    own = {name: getattr(c, name) for name in ("L", "M", "sigma", "T", "lam", "eps", "a", "eta")}
    return {"d": f.d, **own}


def _noise(c: Nonsmooth, record: Record) -> dict[str, float]:
    roots = np.sqrt(record.sums["noise"] / c.T)
    return {"declared": c.sigma, "measured": float(roots.mean()), "largest": float(roots.max())}


def _numbers(record: Record) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("measure", "gradient", "spread", "measure_tau", "sharper", "value", "output"):
        if name in record.sums:
            found[name], found[f"{name}_stderr"] = mean(record.sums[name])
    found["end"] = float(record.mean["value"][-1])
    return found


def _results(name: str, runs: Runs, c: Nonsmooth) -> dict[str, dict[str, Any]]:
    reference = runs[c.T, 1.0][name]["identity"].sums["measure"]
    found: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        tried = {k: runs[c.T, k][name][method] for k in FACTORS}
        record = tried[1.0]
        row: dict[str, Any] = dict(_numbers(record))
        row["less_identity"] = list(paired_interval(record.sums["measure"], reference))
        if "regret" in record.sums:
            row["regret"], row["regret_stderr"] = mean(record.sums["regret"])
            row["certificate"] = theory.certify(c, record)
        k = min(tried, key=lambda k, tried=tried: float(tried[k].sums["measure"].mean()))  # type: ignore[misc]
        found[method] = row | {"best": {"factor": k, "at_an_end": k == max(FACTORS), **_numbers(tried[k])}}
    return found


def _winners(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    by = {
        "measure": lambda m: results[m]["measure"],
        "measure, best step": lambda m: results[m]["best"]["measure"],
        "objective at the output": lambda m: results[m]["output"],
        "objective at the output, best step": lambda m: results[m]["best"]["output"],
    }
    return {what: min(results, key=key) for what, key in by.items()}


def _rate(runs: Mapping[int, tuple[Nonsmooth, Record]]) -> dict[str, Any]:
    rows = []
    for T, (c, record) in runs.items():
        value, stderr = mean(record.sums["measure"])
        bounds = {kind: certificate["bound"] for kind, certificate in theory.certify(c, record).items()}
        rows.append({"T": T, "measure": value, "stderr": stderr, "eps": c.eps, **bounds})
    x, y = (np.log([row[key] for row in rows]) for key in ("T", "measure"))
    return {"rows": rows, "slope": float(np.polyfit(x, y, 1)[0]) if len(rows) > 1 else None}
