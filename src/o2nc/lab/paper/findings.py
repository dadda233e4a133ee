"""What the controls show, in plain words, which are in ``findings.toml``; every number is computed."""

from collections.abc import Iterator
from typing import Any

from ..runner.tables import exceeded, interval, sentences, span
from .methods import LABELS
from .numbers import TIGHT, tight_ratios


def findings(found: dict[str, Any]) -> list[str]:
    """Sentences on the agreement, the learner, the parts of the gain and the certificates.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    values = found | _agreement(found) | _gain(found) | _learners(found) | _sharp(found) | _certificates(found)
    return sentences(__package__, values)


def verdicts(found: dict[str, Any]) -> list[str]:
    """Sentences that end the output on a terminal: how to read it, what disagrees or fails, and what the run shows.

    Reference: Numerical Experiments, all tables.
    """
    missed = [
        f"disagrees: {entry['table']}, {entry['cell']}: published {entry['printed']}, "
        f"measured {entry['measured']:.6g} +- {entry['stderr']:.2g}"
        for entry in found["agreement"]
        if entry["agrees"] is False
    ]
    gain = "gain %: of SGD's gap, in steps that add up: SGD -> I -> (I + P)/2 -> learner; +- is half a 95% interval,"
    gain += " that of the certificate half a 99.9% one"
    missed += [f"does not hold: {one}" for one in failures(found)]
    first, *_, last = findings(found)
    return [gain, *missed, last, first]


def failures(found: dict[str, Any]) -> list[str]:
    """The certificates that do not hold, within the errors of what was estimated.

    Reference: Theorem 1.
    """
    return [f"{kind} of {method} on {name}" for name, method, kind, c in compared(found) if c["holds"] is False]


def compared(found: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Every certificate between expectations, with objective, method and kind; that of one run may fail by chance.

    Reference: Theorem 1.
    """
    for name, methods in found["certificates_by_method"].items():
        for method, kinds in methods.items():
            for kind, c in kinds.items():
                if isinstance(c, dict) and "holds" in c and c["label"] != "high-probability":
                    yield name, method, kind, c


def _agreement(found: dict[str, Any]) -> dict[str, Any]:
    s, further = found["summary"], found["further_seeds"]
    unreached = f" {s['not_reached']} cells are about iteration 3000, which this run did not reach."
    counted = f" In {further['agree']} of {further['seeds']} further seeds every cell agrees."
    return {
        "total": sum(s.values()),
        "unreached": unreached if s["not_reached"] else "",
        "further": counted if further["seeds"] else "",
    }


def _gain(found: dict[str, Any]) -> dict[str, Any]:
    percents = [parts["percent"] for parts in found["decomposition"].values()]
    steps = {step: [p[step] for p in percents] for step in ("tracker", "prior", "learning")}
    only = all(p["prior"] > 4 * max(abs(p["tracker"]), abs(p["learning"])) for p in percents)
    words = " The gain is the prior's: it comes from knowing the projector P that removes the noise."
    return steps | {"total_gain": [p["total"] for p in percents], "prior_gain": words if only else ""}


def _learners(found: dict[str, Any]) -> dict[str, Any]:
    rows, learned = found["learner"].values(), found["learner_learned"].values()
    parts = found["decomposition_learned"]
    move, regret = max(row["largest_move"] for row in rows), [row["regret"] for row in rows]
    no_worse = ": on the linear loss the identity is no worse, since the first-order term does not see the noise"
    values = {
        "move": move,
        "learns": "does not learn" if move < 1e-3 else "moves",
        "frozen": max(abs(row["gap_relative_to_frozen"]) for row in rows),
        "regret": regret,
        "regret_sign": _sign(regret),
        "no_worse": no_worse if min(regret) > 0 else "",
        "learned": LABELS["learned"],
        "learned_weight": [row["weight"] for row in learned],
        "learned_share": [p["percent"]["learning"] for p in parts.values()],
        "learned_above": _names(name for name, p in parts.items() if p["intervals"]["learning"][0] > 0),
        "learned_regret": [row["regret"] for row in learned],
        "learned_sign": _sign([row["regret"] for row in learned]),
        "blind": LABELS["blind"],
    }
    for method, other in (("projector", "hedge"), ("learned", "hedge"), ("blind", "sgd"), ("blind", "hedge")):
        ratios = {name: gaps[method]["gap"] / gaps[other]["gap"] for name, gaps in found["results"].items()}
        values[f"{method}_{other}"] = ", ".join(f"{ratio:.2g} on {name}" for name, ratio in ratios.items())
        values[f"below_{other}"] = _names(name for name, ratio in ratios.items() if ratio < 1)
    return values


def _sharp(found: dict[str, Any]) -> dict[str, Any]:
    rows = {
        method: {name: kinds[method] for name, kinds in found["certificates_by_method"].items()}
        for method in ("sharp_identity", "sharp", "sharp_blind", "sharp_stated")
    }
    values: dict[str, Any] = {}
    for method in ("sharp", "sharp_blind"):
        for other in ("hedge", "sgd_best"):
            ratios = {name: row[method]["average"] / row[other]["average"] for name, row in found["results"].items()}
            values[f"{method}_{other}"] = ", ".join(f"{ratio:.2g} on {name}" for name, ratio in ratios.items())
    for method, kind in (("sharp_identity", "a_priori"), ("sharp_stated", "a_priori"), ("sharp", "theorem")):
        values[f"{method}_bound"] = [row[kind]["bound"] / row[kind]["measured"] for row in rows[method].values()]
    single = [kinds["one_run"]["one_run"] for kinds in found["certificates_by_method"].values()]
    values["one_run_ratio"] = [row["mean_ratio"] for row in single]
    values["one_run_failed"] = sum(row["failed"] for row in single)
    return values


def _sign(values: list[float]) -> str:
    return "positive" if min(values) > 0 else "negative" if max(values) < 0 else "of both signs"


def _names(names: Any) -> str:
    return ", ".join(names) or "none of them"


def _certificates(found: dict[str, Any]) -> dict[str, Any]:
    ratios = [ratio for methods in tight_ratios(found).values() for ratio in methods.values()]
    printed = [kinds["theorem1"] for kinds in found["certificates"].values() if "theorem1" in kinds]
    times = span([c["bound"] / c["measured"] for c in printed]) if printed else ""
    every = {f"{name} {method}": c for name, method, kind, c in compared(found) if kind == "tight"}
    missed = [
        f"{words} ({c['measured']:.5g} of {interval(c['measured_interval'])}, the bound {c['bound']:.5g} of "
        f"{interval(c['interval'])})"
        for words, c in every.items()
        if exceeded(c) and c["holds"]
    ]
    below = ". It is between expectations and estimated here; the estimate is below the measured value, within the "
    return {
        "tight": ratios,
        "within": "all" if max(ratios) <= TIGHT else "not all",
        "printed": f". The printed bound of Theorem 1 is, for Hedge, {times} times" if printed else "",
        "missed": f"{below}99.9% intervals of both, on {', '.join(missed)}" if missed else "",
    }
