"""The validation loss against the length of a run."""

import math
from pathlib import Path
from statistics import fmean

import matplotlib.pyplot as plt
from networks.looks import LOOKS
from networks.methods import METHODS

from .race import Race, Results, deviation, losses, target


def draw(results: Results, race: Race, path: Path) -> None:
    """A line a method, with the standard error of a mean, and the target."""
    fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    error = deviation(results, race) / math.sqrt(len(race.seeds))
    for method in race.methods:
        means = {steps: fmean(values) for steps, values in losses(results, race, method).items()}
        if means:
            look = {"lw": 1.5, "marker": "o", "ms": 3, "label": METHODS[method].title, **LOOKS[method]}
            ax.errorbar(list(means), list(means.values()), error, **look)
    ax.axhline(target(results, race), color="tab:gray", lw=0.8)
    ax.set(xlabel="steps of a run, each with a full schedule", ylabel="validation loss, nats a character")
    ax.set_xticks(race.ladder)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=85)
    plt.close(fig)
