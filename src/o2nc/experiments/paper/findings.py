"""What the controls show, in plain words; every number is computed."""

from typing import Any

from ..runner.tables import span
from .methods import FIRST_KAPPA, METHODS
from .numbers import TIGHT, tight_ratios


def findings(found: dict[str, Any]) -> list[str]:
    """Sentences on the agreement, the learner, the parts of the gain and the certificates.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    parts = (_agreement, _learner, _gain, _projector, _regret, _learned, _blind, _certificates)
    return [part(found) for part in parts]


def _agreement(found: dict[str, Any]) -> str:
    s, settings = found["summary"], found["settings"]
    text = (
        f"Of {sum(s.values())} published cells {s['agree']} agree with this run (seed {settings['seed']}, "
        f"{settings['replications']} replications, {settings['iterations']} iterations) and {s['disagree']} do not."
    )
    if s["not_reached"]:
        text += f" {s['not_reached']} cells are about iteration 3000, which this run did not reach."
    further = found["further_seeds"]
    if further["seeds"]:
        text += f" In {further['agree']} of {further['seeds']} further seeds every cell agrees."
    return text


def _learner(found: dict[str, Any]) -> str:
    rows = found["learner"].values()
    move = max(row["largest_move"] for row in rows)
    ratio = max(abs(row["gap_relative_to_frozen"]) for row in rows)
    verdict = "does not learn" if move < 1e-3 else "moves"
    return (
        f"The learner {verdict}: with the prescribed rate the weight of P is within {move:.1e} of its start 1/2 at "
        f"every checkpoint, and freezing the weights at 1/2 changes the mean final gap by {ratio:.1e} of it at most."
    )


def _gain(found: dict[str, Any]) -> str:
    percents = [parts["percent"] for parts in found["decomposition"].values()]
    total, prior, tracker, learning = (
        span([p[step] for p in percents], ".3g") for step in ("total", "prior", "tracker", "learning")
    )
    text = (
        f"Black-box + Hedge lowers the final gap of SGD by {total} percent. In steps that add up, the tracker alone "
        f"contributes {tracker}, the prior, that is the fixed operator (I + P)/2, {prior}, and learning {learning} "
        "percentage points."
    )
    if all(p["prior"] > 4 * max(abs(p["tracker"]), abs(p["learning"])) for p in percents):
        text += " The gain is the prior's: it comes from knowing the projector P that removes the noise."
    return text


def _projector(found: dict[str, Any]) -> str:
    ratios = [
        (name, methods["projector"]["gap"] / methods["hedge"]["gap"]) for name, methods in found["results"].items()
    ]
    listed = ", ".join(f"{ratio:.2g} on {name}" for name, ratio in ratios)
    return f"Playing P alone has a final gap of {listed} times that of Hedge; a learner that found P would get there."


def _regret(found: dict[str, Any]) -> str:
    regrets = [row["regret"] for row in found["learner"].values()]
    text = f"The measured regret of Hedge against I is {_sign(regrets)} ({span(regrets, '.2g')})"
    if min(regrets) > 0:
        text += ": on the linear loss the identity is no worse, since the first-order term does not see the noise"
    return text + "."


def _sign(values: list[float]) -> str:
    return "positive" if min(values) > 0 else "negative" if max(values) < 0 else "of both signs"


def _ratios(found: dict[str, Any], method: str, other: str) -> dict[str, float]:
    return {name: methods[method]["gap"] / methods[other]["gap"] for name, methods in found["results"].items()}


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.2g} on {name}" for name, value in values.items())


def _learned(found: dict[str, Any]) -> str:
    parts = found["decomposition_learned"]
    above = [name for name, p in parts.items() if p["intervals"]["learning"][0] > 0]
    share = span([p["percent"]["learning"] for p in parts.values()], ".3g")
    rows = found["learner_learned"].values()
    regrets = [row["regret"] for row in rows]
    ratios = _listed(_ratios(found, "learned", "hedge"))
    return (
        f"{METHODS['learned'].label} (kappa = {METHODS['learned'].kappa:g} on every objective), from the same equal "
        f"weights and not told which expert is better, has a final gap of {ratios} times that of Hedge. Learning alone "
        f"contributes {share} percentage points of SGD's gap; its 95% interval is above zero on {_names(above)}. The "
        f"weight of P ends at {span([row['weight'] for row in rows], '.3f')}, and the regret against I on the loss "
        f"that it sees is {_sign(regrets)} ({span(regrets, '.2g')})."
    )


def _names(names: list[str]) -> str:
    return ", ".join(names) or "none of them"


def _blind(found: dict[str, Any]) -> str:
    sgd, hedge = _ratios(found, "blind", "sgd"), _ratios(found, "blind", "hedge")
    below = [[name for name, ratio in ratios.items() if ratio < 1] for ratios in (sgd, hedge)]
    return (
        f"{METHODS['blind'].label} (kappa = {METHODS['blind'].kappa:g} on every objective, chosen after "
        f"{FIRST_KAPPA:g} had missed its aim on one objective outside this run), has a final gap of {_listed(sgd)} "
        f"times that of SGD, and {_listed(hedge)} times that of Hedge, which knows P: lower than SGD on "
        f"{_names(below[0])}, lower than Hedge on {_names(below[1])}."
    )


def _certificates(found: dict[str, Any]) -> str:
    ratios = [ratio for methods in tight_ratios(found).values() for ratio in methods.values()]
    within = "all" if max(ratios) <= TIGHT else "not all"
    text = (
        f"Over the {found['settings']['iterations']} rounds of the run the tight certificate is "
        f"{span(ratios, '.4g')} times the measured average squared gradient, over all objectives and all methods; "
        f"{within} are within {TIGHT}"
    )
    printed = [kinds["theorem1"] for kinds in found["certificates"].values() if "theorem1" in kinds]
    if printed:
        times = span([c["bound"] / c["measured"] for c in printed], ".3g")
        text += f". The printed bound of Theorem 1 is, for Hedge, {times} times"
    missed = [
        f"{name} {method} ({c['measured']:.5g}, the interval of the bound ends at {c['interval'][1]:.5g})"
        for name, methods in found["certificates_by_method"].items()
        for method, c in ((method, kinds["tight"]) for method, kinds in methods.items())
        if not c["holds"] and c["interval"]
    ]
    if missed:
        text += (
            ". The tight certificate is between expectations and estimated here; the estimate is below the measured "
            f"value on {', '.join(missed)}"
        )
    return text + "."


def verdicts(found: dict[str, Any]) -> list[str]:
    """Sentences that end the output on a terminal: how to read it, which cells disagree, and what the run shows.

    Reference: Numerical Experiments, all tables.
    """
    missed = [
        f"disagrees: {entry['table']}, {entry['cell']}: published {entry['printed']}, "
        f"measured {entry['measured']:.6g} +- {entry['stderr']:.2g}"
        for entry in found["agreement"]
        if entry["agrees"] is False
    ]
    gain = "gain %: of SGD's gap, in steps that add up: SGD -> I -> (I + P)/2 -> learner; +- is half a 95% interval"
    return [gain, *missed, _certificates(found), _agreement(found)]
