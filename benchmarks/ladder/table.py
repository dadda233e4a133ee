"""The race as Markdown, and as numbers for a file."""

import math
from statistics import fmean

from networks.methods import METHODS
from pages import table

from .race import (
    LEVEL,
    PUBLISHED,
    Race,
    Results,
    chosen,
    deviation,
    losses,
    p_values,
    rank_correlation,
    rung,
    steps_to_target,
    target,
)


def row(results: Results, race: Race, method: str) -> dict:
    """What is known of a method; CPU seconds are those of a run as long as it needs."""
    steps = steps_to_target(results, race, method)
    reached = math.isfinite(steps)
    return {
        "method": method,
        "lr": chosen(results, race, method),
        "steps": steps if reached else None,
        "p": p_values(results, race, method)[steps] if reached else None,
        "cpu_seconds": fmean(r["seconds"] for r in rung(results, race, method, steps)) if reached else None,
        "losses": losses(results, race, method),
    }


def summary(results: Results, race: Race) -> dict:
    """All that the table says, for a file of JSON."""
    return {
        "target": target(results, race),
        "reference": race.reference,
        "deviation": deviation(results, race),
        "rank_correlation": rank_correlation(results, race),
        "methods": [row(results, race, method) for method in race.methods],
    }


def words(found: dict, reference: int) -> list[str]:
    """A line of the table."""
    name, rate = METHODS[found["method"]].title, f"{found['lr']:g}" if found["lr"] else ""
    if found["steps"] is None:
        return [name, rate, "not reached" if found["losses"] else "", "", "", ""]
    numbers = [str(found["steps"]), f"{found['steps'] / reference:.2f}"]
    return [name, rate, *numbers, f"{found['p']:.1g}", f"{found['cpu_seconds']:.0f}"]


def markdown(results: Results, race: Race) -> str:
    """The steps of every method to the target, and all losses; bold is below the target by the test."""
    all_of_it = summary(results, race)
    text = (
        f"The target is {all_of_it['target']:.4f}, the validation loss of AdamW after {race.reference} steps. The "
        f"standard deviation over seeds is {all_of_it['deviation']:.4f}.\n\n"
    )
    header = ["", "lr", "steps", "over the reference", "p", "CPU s"]
    text += table(header, [words(found, race.reference) for found in all_of_it["methods"]])
    order = ", ".join(METHODS[method].title for method in PUBLISHED)
    text += f"\nRank correlation with the published order ({order}): {all_of_it['rank_correlation']:.2f}.\n\n"
    body = []
    for method in race.methods:
        p = p_values(results, race, method)
        means = {steps: f"{fmean(values):.4f}" for steps, values in losses(results, race, method).items()}
        entries = [f"**{means[n]}**" if p.get(n, 1) < LEVEL else means.get(n, "") for n in race.ladder]
        body.append([METHODS[method].title, *entries])
    return text + table(["validation loss after", *map(str, race.ladder)], body)
