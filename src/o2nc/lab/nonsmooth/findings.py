"""Who wins where, in plain words, which are in ``findings.toml``; every number is computed."""

from typing import Any

from ..runner.tables import sentences
from .methods import ALGORITHM2, METHODS


def findings(found: dict[str, Any]) -> list[str]:
    """Sentences on the winners, the oracles, the certificates, the rate and the noise.

    Reference: Algorithm 2 and Theorem 2.
    """
    winners = found["winners"]
    winner = {
        what: ", ".join(f"{METHODS[own[what]].words} on {name}" for name, own in winners.items())
        for what in next(iter(winners.values()))
    }
    return sentences(__package__, {"winner": winner} | _ratios(found) | _clear(found) | _lemmas(found) | _rate(found))


def failures(found: dict[str, Any]) -> list[str]:
    """The certificates and lemmas that do not hold, within the errors of what was estimated.

    Reference: Theorem 2 and its lemmas.
    """
    certificates = [
        f"{kind} of {method} on {name}"
        for name, methods in found["results"].items()
        for method, row in methods.items()
        for kind, certificate in row.get("certificate", {}).items()
        if certificate["holds"] is False
    ]
    lemmas = [
        f"lemma {lemma} for {method} on {name}"
        for name, methods in found["lemmas"].items()
        for method, kinds in methods.items()
        for lemma, row in kinds.items()
        if not lemma_holds(row)
    ]
    return certificates + lemmas


def lemma_holds(row: dict[str, Any]) -> bool:
    """Whether the interval of the measured side reaches down to the bound; for an identity, also up to it.

    >>> lemma_holds({"interval": [0.1, 0.5], "bound": 0.2, "identity": False})
    True
    """
    low, high = row["interval"]
    return bool(low <= row["bound"] and (high >= row["bound"] or not row["identity"]))


def _ratios(found: dict[str, Any]) -> dict[str, Any]:
    results = found["results"].values()
    certified = [row for methods in results for row in methods.values() if "certificate" in row]
    values: dict[str, Any] = {
        kind: [row["certificate"][kind]["bound"] / row["measure"] for row in certified]
        for kind in ("theorem2", "theorem2_tuned", "tight", "held_out")
    }
    for method in ("hedge", "adagrad"):
        values[method] = [row[method]["measure"] / row["identity"]["measure"] for row in results]
    return values | {"regret": [row[method]["regret"] for row in results for method in ("hedge", "adagrad")]}


def _clear(found: dict[str, Any]) -> dict[str, str]:
    better: list[str] = []
    worse: list[str] = []
    for name, methods in found["results"].items():
        for method, row in methods.items():
            low, high = row["less_identity"]
            if method not in ALGORITHM2 and (low > 0 or high < 0):
                (better if high < 0 else worse).append(f"{METHODS[method].words} on {name}")
    return {"better": ", ".join(better) or "none", "worse": ", ".join(worse) or "none"}


def _rate(found: dict[str, Any]) -> dict[str, str]:
    slopes = {name: rate["slope"] for name, rate in found["rate"].items() if rate["slope"] is not None}
    T, listed = found["settings"]["horizons"], ", ".join(f"{slope:.3f} on {name}" for name, slope in slopes.items())
    fitted = f"From T = {T[0]} to {T[-1]} the measure falls with the slope {listed}; Theorem 2 promises -0.286."
    return {"fitted": fitted if slopes else "One horizon only: no slope was fitted."}


def _lemmas(found: dict[str, Any]) -> dict[str, int]:
    rows = [row for methods in found["lemmas"].values() for kinds in methods.values() for row in kinds.values()]
    bounds, identities = ([lemma_holds(row) for row in rows if row["identity"] == yes] for yes in (False, True))
    return {"held": sum(bounds), "bounds": len(bounds), "exact": sum(identities), "identities": len(identities)}
