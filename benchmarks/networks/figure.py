"""The training objective against the learning rate, a panel a task."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator
from seeds import mean, standard_error

from .methods import METHODS, RATES
from .table import Results, of_seeds

LOOKS = {
    "hedged": {"color": "black", "lw": 2.5, "marker": "o", "zorder": 5},
    "equal": {"color": "black", "ls": "--"},
    "muon alone": {"color": "tab:red", "ls": "--"},
    "soap alone": {"color": "tab:green", "ls": "--"},
    "learned": {"color": "black", "lw": 2, "ls": ":"},
    "learned constant": {"color": "tab:gray", "lw": 2, "ls": ":"},
    "learned start": {"color": "tab:pink", "ls": ":"},
    "adamw": {"color": "tab:blue"},
    "muon": {"color": "tab:red"},
    "soap": {"color": "tab:green"},
    "schedule-free": {"color": "tab:purple"},
    "prodigy": {"color": "tab:brown", "ls": ":"},
    "mechanic": {"color": "tab:orange", "ls": ":"},
    "dog": {"color": "tab:cyan", "ls": ":"},
    "sgd10": {"color": "tab:olive"},
}


def draw(results: Results, path: Path) -> None:
    tasks = list(dict.fromkeys(cell.task for cell in results))
    fig, axes = plt.subplots(1, len(tasks), figsize=(3.4 * len(tasks), 3.8), squeeze=False, layout="constrained")
    for ax, task in zip(axes[0], tasks, strict=True):
        for name, method in METHODS.items():
            found = {lr: of_seeds(results, task, name, lr) for lr in method.rates}
            found = {lr: losses for lr, losses in found.items() if losses}
            means = [mean(losses) for losses in found.values()]
            look = {"lw": 1.2, "label": method.title, **LOOKS[name]}
            if len(method.rates) > 1:
                errors = [standard_error([*losses.values()]) for losses in found.values()]
                ax.errorbar(list(found), means, errors, **look)
            elif found:
                ax.axhline(means[0], **look)
        ax.set(title=task, xscale="log", xlabel="learning rate")
        if ax.dataLim.ymax > 4 * ax.dataLim.ymin:
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter("{x:g}")
        ax.set_xticks(RATES, [f"{lr:g}" for lr in RATES])
        ax.minorticks_off()
    axes[0, 0].set_ylabel("training objective, nats")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=85)
    plt.close(fig)
