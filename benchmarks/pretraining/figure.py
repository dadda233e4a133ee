"""The losses against tokens and against CPU time."""

from pathlib import Path
from statistics import fmean

import matplotlib.pyplot as plt

from .run import METHODS, Results
from .table import published

COLORS = {"hedged": "black", "adamw": "tab:blue", "muon": "tab:red"}
LOSSES = {"train": "training loss, nats a byte", "held_out": "held-out loss, nats a byte"}
SCALES = {"tokens": ("million tokens", 1e6), "cpu_seconds": ("CPU minutes", 60)}


def draw(results: Results, path: Path) -> None:
    """A thin line a seed, a thick one for their mean."""
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 7), sharey=True, layout="constrained")
    for row, (key, label) in zip(axes, LOSSES.items(), strict=True):
        for ax, (scale, (title, unit)) in zip(row, SCALES.items(), strict=True):
            for method, name in METHODS.items():
                curves = published(results, method).values()
                points = [[(record[scale] / unit, record[key]) for record in curve] for curve in curves]
                for each in points:
                    ax.plot(*zip(*each, strict=True), color=COLORS[method], lw=0.6, alpha=0.5)
                if points:
                    mean = [tuple(map(fmean, zip(*at, strict=True))) for at in zip(*points, strict=True)]
                    ax.plot(*zip(*mean, strict=True), color=COLORS[method], lw=2, label=name)
            ax.set(xlabel=title)
            ax.grid(alpha=0.3)
        row[0].set_ylabel(label)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=85)
    plt.close(fig)
