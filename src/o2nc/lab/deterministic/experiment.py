"""All methods on all objectives, and the numbers as plain data."""

import math
from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from ...registry import Entry
from ..objectives import objective, of_kind
from ..objectives.classifier import Classifier
from ..runner.cells import check_count
from ..runner.experiment import Progress, versions
from .calls import Calls
from .methods import METHODS


def deterministic(
    objectives: Sequence[str] = (), tol: float = 1e-4, most: int = 10_000, progress: Progress | None = None
) -> dict[str, Any]:
    r"""Run every method with each rate of its grid on every objective until the norm of a gradient is at most ``tol``.

    For each method: ``calls``, the number of gradients that it took, None if ``most`` were not enough; ``norm``, the
    smallest norm that it saw; ``rate``, the best of its grid for this objective, chosen afterwards; ``tried``, the
    calls of each rate. ``one_rate`` is the rate that is best for all objectives together. Nothing is random.

    Args:
        objectives: their names; all convex ones if none is given.
        tol: the norm to reach.
        most: calls of each run.
        progress: whom to tell of each run.

    Reference: not in the paper; the setting of Gao, Chu, Ye and Udell (2025).

    >>> found = deterministic(["wine-logistic"], tol=1e-1, most=50)["results"]["wine-logistic"]
    >>> found["certified"]["calls"], found["gd"]["calls"], found["l-bfgs"]["calls"]
    (None, 9, 4)
    """
    if not (math.isfinite(tol) and tol > 0):
        raise ValueError(f"`tol` must be finite and positive; got {tol}.")
    check_count("calls", most, 1)
    told = progress or Progress()
    fs = {name: objective(name, "convex") for name in objectives or of_kind("convex")}
    grids = {key: [list(rate) for rate in method.facts["rates"]] for key, method in METHODS.items()}
    told.start(len(fs) * sum(map(len, grids.values())), 0)
    results = {}
    for name, f in fs.items():
        told.stage(name)
        results[name] = {key: _best(f, method, tol, most, told) for key, method in METHODS.items()}
    grids = {key: grid for key, grid in grids.items() if len(grid) > 1}
    return {
        "settings": {"tol": tol, "calls": most},
        "versions": versions("scipy", "scikit-learn"),
        "grid": grids,
        "constants": {
            name: {"n": len(f.b), **{key: getattr(f, key) for key in ("d", "beta", "lam", "M", "f_star")}}
            for name, f in fs.items()
        },
        "results": results,
        "one_rate": {key: _one_rate(key, results, most) for key in grids},
    }


def _best(f: Classifier, method: Entry, tol: float, most: int, told: Progress) -> dict[str, Any]:
    """The run with the fewest calls, or with the smallest norm if none got there."""
    rates = method.facts["rates"]
    rows: list[dict[str, Any]] = []
    for rate in rates:
        calls = Calls(f, tol, most)
        more = method.make(calls, *rate) or {}
        rows.append({"calls": calls.needed, "norm": calls.smallest, "rate": list(rate), **more})
        told.advance(rate)
    best = min(rows, key=lambda row: (row["calls"] or math.inf, row["norm"]))
    if len(rows) > 1:
        ends = [{min(entries), max(entries)} for entries in zip(*rates, strict=True)]
        best["at_an_end_of_the_grid"] = any(x in end for x, end in zip(best["rate"], ends, strict=True))
    return best | {"tried": [{key: row[key] for key in ("rate", "calls", "norm")} for row in rows]}


def _one_rate(key: str, results: dict[str, Any], most: int) -> dict[str, Any]:
    """The rate with the least geometric mean of the calls on all objectives, ``most`` where it did not get there."""
    rows = list(zip(*(row[key]["tried"] for row in results.values()), strict=True))
    means = [geometric_mean([one["calls"] or most for one in row]) for row in rows]
    best = rows[means.index(min(means))]
    return {"rate": best[0]["rate"], "mean": min(means), "on": dict(zip(results, best, strict=True))}
