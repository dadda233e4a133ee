"""Who wins where, in plain words; every number is computed."""

from typing import Any

from ..runner.tables import holds, span
from .methods import ALGORITHM2, METHODS


def findings(found: dict[str, Any]) -> list[str]:
    """Sentences on the winners, the oracles, the certificates, the rate and the noise.

    Reference: Algorithm 2 and Theorem 2.
    """
    return [
        _winner(found, "measure", "measure"),
        _winner(found, "measure, best step", "measure with the best of four step lengths"),
        _winner(found, "objective at the output", "objective at the output"),
        _oracles(found),
        _clear(found),
        _certificates(found),
        _rate(found),
        _lemmas(found),
    ]


def failures(found: dict[str, Any]) -> list[str]:
    """The certificates and lemmas that do not hold, within the errors of what was estimated.

    Reference: Theorem 2 and its lemmas.
    """
    certificates = [
        f"{kind} of {method} on {name}"
        for name, methods in found["results"].items()
        for method, row in methods.items()
        for kind, certificate in row.get("certificate", {}).items()
        if holds(certificate) == "NO"
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


def _winner(found: dict[str, Any], what: str, words: str) -> str:
    listed = ", ".join(f"{METHODS[winners[what]].words} on {name}" for name, winners in found["winners"].items())
    return f"Smallest {words}: {listed}."


def _oracles(found: dict[str, Any]) -> str:
    ratios = {
        method: [row[method]["measure"] / row["identity"]["measure"] for row in found["results"].values()]
        for method in ("hedge", "adagrad")
    }
    regrets = [row[method]["regret"] for row in found["results"].values() for method in ("hedge", "adagrad")]
    return (
        f"As prescribed Hedge has {span(ratios['hedge'])} times and AdaGrad {span(ratios['adagrad'])} times the "
        f"measure of the identity. Their regret against I is {span(regrets)}."
    )


def _clear(found: dict[str, Any]) -> str:
    better: list[str] = []
    worse: list[str] = []
    for name, methods in found["results"].items():
        for method, row in methods.items():
            low, high = row["less_identity"]
            if method not in ALGORITHM2 and (low > 0 or high < 0):
                (better if high < 0 else worse).append(f"{METHODS[method].words} on {name}")
    return (
        f"Clearly below Algorithm 2 with I (95% interval of the paired difference): {', '.join(better) or 'none'}. "
        f"Clearly above: {', '.join(worse) or 'none'}."
    )


def _certificates(found: dict[str, Any]) -> str:
    ratio = {
        kind: [
            row["certificate"][kind]["bound"] / row["measure"]
            for methods in found["results"].values()
            for row in methods.values()
            if "certificate" in row
        ]
        for kind in ("theorem2", "theorem2_tuned", "tight", "held_out")
    }
    return (
        f"Theorem 2 is {span(ratio['theorem2'])} times the measured value, its tuned form "
        f"{span(ratio['theorem2_tuned'])} times, the tight certificate {span(ratio['tight'])} times, and "
        f"with two samples held out {span(ratio['held_out'])} times."
    )


def _rate(found: dict[str, Any]) -> str:
    slopes = {name: rate["slope"] for name, rate in found["rate"].items() if rate["slope"] is not None}
    if not slopes:
        return "One horizon only: no slope was fitted."
    T = found["settings"]["horizons"]
    listed = ", ".join(f"{slope:.3f} on {name}" for name, slope in slopes.items())
    return f"From T = {T[0]} to {T[-1]} the measure falls with the slope {listed}; Theorem 2 promises -0.286."


def _lemmas(found: dict[str, Any]) -> str:
    rows = [row for methods in found["lemmas"].values() for kinds in methods.values() for row in kinds.values()]
    bounds, identities = ([row for row in rows if row["identity"] == yes] for yes in (False, True))
    held, exact = sum(map(lemma_holds, bounds)), sum(map(lemma_holds, identities))
    return (
        f"{held} of {len(bounds)} inequalities of the appendix hold on these runs, and {exact} of {len(identities)} "
        "identities are met, within 99.9% intervals of the measured side."
    )
