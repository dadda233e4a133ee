"""The numbers of the nonsmooth experiment as rows of tables, whose words and cells are in ``tables.toml``."""

from collections.abc import Iterable, Iterator
from typing import Any

from ..runner.tables import Layout, Table, holds, number, terms
from .findings import lemma_holds
from .methods import METHODS

LAYOUT = Layout(__package__)
KINDS = {"theorem2": "Theorem 2", "theorem2_tuned": "Theorem 2, tuned", "tight": "tight", "held_out": "held out"}


def tables(found: dict[str, Any]) -> list[Table]:
    """All tables in their order.

    Reference: Algorithm 2 and Theorem 2.
    """
    rate, ladder = found["rate"], found["ladder"]
    rungs = next(iter(ladder.values()))
    rows: dict[str, Iterable[dict[str, Any]]] = {
        "results": _results(found),
        "best": _results(found),
        "certificates": _certificates(found),
        "ladder": (
            {"rung": rung, "bounds": " | ".join(number(one[rung]) for one in ladder.values())} for rung in rungs
        ),
        "lemmas": _lemmas(found),
        "rate": ({"name": name, **row} for name, one in rate.items() for row in one["rows"]),
        "sandwich": _sandwich(found),
        "tau": ({"name": name, **test} for name, test in found["tau"].items()),
        "constants": ({"name": name, **c, **found["noise"][name]} for name, c in found["constants"].items()),
    }
    slopes = ", ".join(f"{name} {one['slope']:.3f}" for name, one in rate.items() if one["slope"])
    values = found | {"slopes": slopes, "names": " | ".join(ladder)}
    return [LAYOUT.table(name, own, values) for name, own in rows.items() if name != "sandwich" or found["sandwich"]]


def summary(found: dict[str, Any]) -> list[Table]:
    """The results of each objective, for a terminal.

    Reference: Algorithm 2 and Theorem 2.
    """
    rows = list(_results(found))
    return [
        LAYOUT.table("summary", [row for row in rows if row["name"] == name], found | {"objective": name})
        for name in found["results"]
    ]


def _results(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, methods in found["results"].items():
        for method, row in methods.items():
            tight = f"{row['certificate']['tight']['bound'] / row['measure']:.3f}" if "certificate" in row else ""
            more = {"regret_text": f"{row['regret']:.2f}" if "regret" in row else "", "tight": tight}
            more["end"] = ", the largest" if row["best"]["at_an_end"] else ""
            yield row | more | {"name": name, "method": method, "label": METHODS[method].words}


def _certificates(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in _results(found):
        for kind, c in row.get("certificate", {}).items():
            ratio = c["bound"] / c["measured"]
            yield row | {"c": c, "kind": KINDS[kind], "ratio": ratio, "verdict": holds(c), "made_of": terms(c)}


def _lemmas(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, methods in found["lemmas"].items():
        for method, kinds in methods.items():
            for lemma, row in kinds.items():
                verdict = "yes" if lemma_holds(row) else "NO"
                yield row | {"name": name, "label": METHODS[method].words, "lemma": lemma, "verdict": verdict}


def _sandwich(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, both in found["sandwich"].items():
        for i, bounds in enumerate(zip(*both.values(), strict=True)):
            yield {"name": name, "i": i, **dict(zip(both, bounds, strict=True))}
