"""The results as Markdown."""

import math
from itertools import pairwise

from pages import table
from seeds import mean, paired, plus_minus, standard_error

from .run import METHODS, RATES, RUN, Results, at_rates, chosen, runs


def published(results: Results, method: str) -> dict[int, list[dict]]:
    """The curves of a method at its best rate, by seed."""
    if not at_rates(results, method):
        return {}
    seeds = sorted({cell.seed for cell in results if cell.steps == RUN.steps})
    cells = {cell.seed: cell for cell in runs(results, [method], seeds) if cell in results}
    return {seed: results[cell] for seed, cell in cells.items()}


def last(results: Results, method: str, key: str) -> dict[int, float]:
    """Where the runs of a method ended, by seed."""
    return {seed: curve[-1][key] for seed, curve in published(results, method).items()}


def entry(values: dict[int, float]) -> str:
    return f"{mean(values):.4f}" + plus_minus(standard_error([*values.values()]))


def against(theirs: dict[int, float], ours: dict[int, float]) -> str:
    """How far another is above `Hedged`, on the same seeds."""
    if theirs is ours or not theirs.keys() & ours.keys():
        return ""
    gap, error = paired(theirs, ours)
    return f"{gap:+.4f}{plus_minus(error)}"


def ends(results: Results) -> str:
    """The losses of the last evaluation, and what they cost."""
    losses = {key: {method: last(results, method, key) for method in METHODS} for key in ("train", "held_out")}
    body = []
    for method, title in METHODS.items():
        if not (held_out := losses["held_out"][method]):
            continue
        cpu, wall = (mean(last(results, method, key)) for key in ("cpu_seconds", "seconds"))
        compared = [(losses[key][method], losses[key]["hedged"]) for key in losses]
        numbers = [text for theirs, ours in compared for text in (entry(theirs), against(theirs, ours))]
        costs = [f"{cpu:.0f}", f"{wall:.0f}", f"{RUN.steps * RUN.tokens / cpu:,.0f}"]
        body.append([title, f"{chosen(results, method):g}", str(len(held_out)), *numbers, *costs])
    header = ["", "lr", "seeds", "training loss", "above Hedged", "held-out loss", "above Hedged", "CPU seconds",
              "wall seconds", "tokens per CPU second"]  # fmt: skip
    return table(header, body)


def at_equal_time(results: Results) -> str:
    """The held-out loss at the CPU time at which the fastest method ends, by linear interpolation."""
    curves = {method: published(results, method) for method in METHODS}
    seconds = min(curve[-1]["cpu_seconds"] for each in curves.values() for curve in each.values())
    found = {
        method: {seed: interpolated(curve, seconds) for seed, curve in each.items()} for method, each in curves.items()
    }
    body = [
        [title, entry(found[method]), against(found[method], found["hedged"])]
        for method, title in METHODS.items()
        if found[method]
    ]
    return table(["", f"held-out loss after {seconds:.0f} CPU seconds", "above Hedged"], body)


def interpolated(curve: list[dict], seconds: float) -> float:
    for one, two in pairwise(curve):
        if one["cpu_seconds"] <= seconds <= two["cpu_seconds"]:
            share = (seconds - one["cpu_seconds"]) / (two["cpu_seconds"] - one["cpu_seconds"])
            return one["held_out"] + share * (two["held_out"] - one["held_out"])
    return math.nan


def by_rate(found: dict[str, dict[float, float]]) -> str:
    """Losses of the methods at several rates; the best of each method is bold."""
    rates = [lr for lr in RATES if any(lr in losses for losses in found.values())]

    def shown(losses: dict[float, float], lr: float) -> str:
        text = f"{losses[lr]:.4f}" if lr in losses else ""
        return f"**{text}**" if lr in losses and losses[lr] == min(losses.values()) else text

    body = [[METHODS[method], *(shown(losses, lr) for lr in rates)] for method, losses in found.items() if losses]
    return table(["", *(f"lr {lr:g}" for lr in rates)], body)


def markdown(results: Results) -> str:
    return "\n".join(
        [
            f"After all {RUN.steps * RUN.tokens:,} tokens:\n",
            ends(results),
            "At equal CPU time:\n",
            at_equal_time(results),
            f"How the rates were chosen, seed {RUN.seed}, held-out loss:\n",
            by_rate({method: at_rates(results, method) for method in METHODS}),
        ]
    )
