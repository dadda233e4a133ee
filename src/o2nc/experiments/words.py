"""What the controls show, in plain words; every number is computed."""

from typing import Any


def findings(found: dict[str, Any]) -> list[str]:
    """Sentences on the agreement, the learner, the parts of the gain and the certificates.

    Reference: Numerical Experiments, and the controls that it lacks.
    """
    return [_agreement(found), _learner(found), _gain(found), _projector(found), _regret(found), _certificates(found)]


def _span(values: list[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


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
        _span([p[step] for p in percents], ".3g") for step in ("total", "prior", "tracker", "learning")
    )
    return (
        f"Black-box + Hedge lowers the final gap of SGD by {total} percent. In steps that add up, the tracker alone "
        f"contributes {tracker}, the prior, that is the fixed operator (I + P)/2, {prior}, and learning {learning} "
        "percentage points. The gain is the prior's: it comes from knowing the projector P that removes the noise."
    )


def _projector(found: dict[str, Any]) -> str:
    ratios = [
        (name, methods["projector"]["gap"] / methods["hedge"]["gap"]) for name, methods in found["results"].items()
    ]
    listed = ", ".join(f"{ratio:.2g} on {name}" for name, ratio in ratios)
    return f"Playing P alone has a final gap of {listed} times that of Hedge; a learner that found P would get there."


def _regret(found: dict[str, Any]) -> str:
    regrets = [row["regret"] for row in found["learner"].values()]
    sign = "positive" if min(regrets) > 0 else "negative" if max(regrets) < 0 else "of both signs"
    return (
        f"The measured regret of Hedge against I is {sign} ({_span(regrets, '.2g')}): on the linear loss the identity "
        "is no worse, since the first-order term does not see the noise that I lets in."
    )


def _certificates(found: dict[str, Any]) -> str:
    tight = [kinds["tight"] for kinds in found["certificates"].values()]
    ratios = [c["bound"] / c["measured"] for c in tight]
    text = f"The tight certificate is {_span(ratios, '.3g')} times the measured average squared gradient"
    printed = [kinds["theorem1"] for kinds in found["certificates"].values() if "theorem1" in kinds]
    if printed:
        text += (
            f"; the printed bound of Theorem 1 is {_span([c['bound'] / c['measured'] for c in printed], '.3g')} times"
        )
    kinds = {name: found["certificates"][name]["tight"] for name in found["certificates"]}
    missed = [
        f"{name} ({c['measured']:.5g}, the interval of the bound ends at {c['interval'][1]:.5g})"
        for name, c in kinds.items()
        if not c["holds"] and c["interval"]
    ]
    if missed:
        text += (
            f". It is between expectations and estimated here; the estimate is below the measured value on "
            f"{', '.join(missed)}"
        )
    return text + "."
