"""The results as Markdown."""

import math
from itertools import pairwise

from pages import table
from seeds import mean, paired, plus_minus, standard_error

from .run import METHODS, RATES, RUN, Results, pilots


def last(results: Results, method: str, key: str) -> dict[int, float]:
    """Where the runs of a method ended, by seed."""
    return {
        cell.seed: curve[-1][key]
        for cell, curve in results.items()
        if cell.optimizer == method and cell.steps == RUN.steps
    }


def rate(results: Results, method: str) -> str:
    """The learning rate of the runs."""
    return f"{next(c.lr for c in results if c.optimizer == method and c.steps == RUN.steps):g}"


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
        speed = RUN.steps * RUN.tokens / cpu
        body.append(
            [title, rate(results, method), str(len(held_out)), *numbers, f"{cpu:.0f}", f"{wall:.0f}", f"{speed:,.0f}"]
        )
    header = ["", "lr", "seeds", "training loss", "above Hedged", "held-out loss", "above Hedged", "CPU seconds",
              "wall seconds", "tokens per CPU second"]  # fmt: skip
    return table(header, body)


def at_equal_time(results: Results) -> str:
    """The held-out loss at the CPU time at which the fastest method ends, by linear interpolation."""
    runs = {cell: curve for cell, curve in results.items() if cell.steps == RUN.steps}
    if not runs:
        return ""
    seconds = min(curve[-1]["cpu_seconds"] for curve in runs.values())
    found = {
        method: {cell.seed: interpolated(curve, seconds) for cell, curve in runs.items() if cell.optimizer == method}
        for method in METHODS
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


def of_pilots(results: Results) -> str:
    """The held-out loss of the pilots; the best of each method is bold."""
    found = {method: pilots(results, method) for method in METHODS}
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
            "The pilots, held-out loss:\n",
            of_pilots(results),
        ]
    )
