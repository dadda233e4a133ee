"""The tables of `o2nc deterministic`, and what explains them."""

import math
from typing import Any

from ..runner.tables import Table
from .methods import METHODS

Found = dict[str, Any]  # what `deterministic` returns


def tables(found: Found) -> list[Table]:
    """Calls, rates, one rate for all objectives, and the certificates with their constants."""
    results, constants = found["results"], found["constants"]
    names = list(results)
    one = found["one_rate"].items()
    certified = [
        [f"root of {key}", *(_root(row["certified"].get(key)) for row in results.values())]
        for key in ("average", "tight", "a_priori")
    ]
    known = [[key, *(f"{constants[name][key]:.6g}" for name in names)] for key in ("n", "d", "beta", "M", "f_star")]
    calls = [[key, *(_calls(row[key]) for row in results.values())] for key in METHODS]
    rates = [[key, *(_rate(row[key]) for row in results.values())] for key in found["grid"]]
    shared = [[f"{key} {_rate(row)}", *map(_calls, row["on"].values()), f"{row['mean']:.0f}"] for key, row in one]
    return [
        Table("calls", "", "", [f"calls to {found['settings']['tol']:g}", *names], calls),
        Table("rate", "", "", ["rate", *names], rates),
        Table("one", "", "", ["one rate for all", *names, "mean"], shared),
        Table("certified", "", "", ["certified", *names], [*certified, *known]),
    ]


def sentences(found: Found) -> list[str]:
    """What the methods are, how to read the tables, and the versions."""
    most = found["settings"]["calls"]
    return [
        *(f"{key}: {method.words}" for key, method in METHODS.items()),
        f"(...): the smallest norm, where {most} calls were not enough; every value comes with its gradient",
        "rates: the best of the grid for each objective, afterwards, over beta; ! is an end of the grid",
        "certified: roots of the average squared gradient and of its bounds, from the run and before it",
        ", ".join(f"{name} {version}" for name, version in found["versions"].items()) + "; nothing is random",
    ]


def _calls(row: dict[str, Any]) -> str:
    return f"({row['norm']:.1e})" if row["calls"] is None else f"{row['calls']}"


def _rate(row: dict[str, Any]) -> str:
    return ", ".join(f"{rate:g}" for rate in row["rate"]) + ("!" if row.get("at_an_end_of_the_grid") else "")


def _root(square: float | None) -> str:
    return "" if square is None else f"{math.sqrt(square):.4g}"
