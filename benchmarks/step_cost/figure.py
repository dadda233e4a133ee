"""The cost of a step over the width of the tensors."""

from collections.abc import Mapping
from pathlib import Path

from o2nc.lab.runner.charts import COLOURS, canvas

from .methods import FOREACH
from .timing import Costs, ratio

RIVALS = ("AdamW", "Muon", "SOAP")  # how the names of those begin that are drawn with dashes


def curves(curve: Mapping[int, Costs], base: str = FOREACH) -> dict[str, dict[int, float]]:
    """For each method the ratios to another by width, where both were timed."""
    names = dict.fromkeys(name for costs in curve.values() for name in costs if name != base)
    both = {name: {width: ratio(costs, name, base) for width, costs in curve.items()} for name in names}
    return {name: {width: each.wall for width, each in found.items() if each} for name, found in both.items()}


def draw(curve: Mapping[int, Costs], path: Path, base: str = FOREACH) -> None:
    """A line a method, log-log: the elementwise ones on the left, those of matrices on the right."""
    figure, panels = canvas(["elementwise", "matrices"], "width of 20 square tensors", (10, 4.2))
    found = curves(curve, base)
    sides: tuple[list[str], ...] = ([], [])
    for name in found:
        sides[any(word in name for word in ("uon", "oap", "SOAP"))].append(name)
    for panel, names in zip(panels, sides, strict=True):
        for name, colour in zip(names, COLOURS[: len(names)], strict=True):
            dash = "--" if name.startswith(RIVALS) else "-"
            line = found[name]
            panel.plot([*line], [*line.values()], dash, color=colour, marker="o", ms=3, lw=1.3, label=name)
        panel.axhline(1, color="tab:gray", lw=0.8)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks([*curve], [str(width) for width in curve])
        panel.minorticks_off()
        panel.margins(x=0.04)
        ticks = [tick for k in range(-2, 4) for tick in (10**k, 2 * 10**k, 5 * 10**k)]
        low, high = panel.get_ylim()
        panel.set_yticks(shown := [tick for tick in ticks if low <= tick <= high], [f"{tick:g}" for tick in shown])
        panel.set_ylabel(f"step / step of {base}", fontsize=9)
        if names:
            panel.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
