"""All methods on all objectives, and the numbers as plain data."""

import math
from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from ..objectives.convex import convex_objective
from ..reproduce import Progress
from ..tables import versions
from .calls import Calls
from .methods import METHODS, DeterministicMethod


def deterministic(
    objectives: Sequence[str], tol: float = 1e-4, most: int = 10_000, progress: Progress | None = None
) -> dict[str, Any]:
    r"""Run every method with each rate of its grid on every objective until the norm of a gradient is at most ``tol``.

    For each method: ``calls``, the number of gradients that it took, None if ``most`` were not enough; ``norm``, the
    smallest norm that it saw; ``rate``, the best of its grid for this objective, chosen afterwards; ``tried``, the
    calls of each rate. ``one_rate`` is the rate that is best for all objectives together. Nothing is random.

    Args:
        objectives: names of `CONVEX`.
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
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ValueError(f"`calls` must be a whole number, at least 1; got {most!r}.")
    names, told = list(dict.fromkeys(objectives)), progress or Progress()
    for name in names:
        convex_objective(name)
    told.start(len(names) * sum(len(method.rates) for method in METHODS.values()), 0)
    results = {}
    for name in names:
        told.stage(name)
        results[name] = {key: _best(name, method, tol, most, told) for key, method in METHODS.items()}
    return {
        "settings": {"tol": tol, "calls": most},
        "versions": versions() | _libraries(),
        "grid": {
            key: [list(rate) for rate in method.rates] for key, method in METHODS.items() if len(method.rates) > 1
        },
        "constants": {name: _constants(name) for name in names},
        "results": results,
        "one_rate": {key: _one_rate(key, results, most) for key, method in METHODS.items() if len(method.rates) > 1},
    }


def _best(name: str, method: DeterministicMethod, tol: float, most: int, told: Progress) -> dict[str, Any]:
    """The run with the fewest calls, or with the smallest norm if none got there."""
    rows: list[dict[str, Any]] = []
    for rate in method.rates:
        calls = Calls(convex_objective(name), tol, most)
        more = method.run(calls, *rate) or {}
        rows.append({"calls": calls.needed, "norm": calls.smallest, "rate": list(rate), **more})
        told.advance(f"{name} {method.name} {rate}")
    best = min(rows, key=lambda row: (row["calls"] or math.inf, row["norm"]))
    if len(rows) > 1:
        ends = [{min(entries), max(entries)} for entries in zip(*method.rates, strict=True)]
        best["at_an_end_of_the_grid"] = any(x in end for x, end in zip(best["rate"], ends, strict=True))
    return best | {"tried": [{key: row[key] for key in ("rate", "calls", "norm")} for row in rows]}


def _one_rate(key: str, results: dict[str, Any], most: int) -> dict[str, Any]:
    """The rate with the least geometric mean of the calls on all objectives, ``most`` where it did not get there."""
    rows = list(zip(*(row[key]["tried"] for row in results.values()), strict=True))
    means = [geometric_mean([one["calls"] or most for one in row]) for row in rows]
    best = rows[means.index(min(means))]
    return {"rate": best[0]["rate"], "mean": min(means), "on": dict(zip(results, best, strict=True))}


def _constants(name: str) -> dict[str, float]:
    f = convex_objective(name)
    return {"n": len(f.b), "d": f.d, "beta": f.beta, "lam": f.lam, "M": f.M, "f_star": f.f_star}


def _libraries() -> dict[str, str]:
    import scipy
    import sklearn

    return {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
