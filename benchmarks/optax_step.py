"""A step of `o2nc.optax.hedge` against `optax.adamw` and `optax.contrib.muon`: over sizes, on models, and asleep.

Run: python benchmarks/optax_step.py [--widths 16 64] [--models GPT tiny] [--widest 256] [--repeats 7] [--quick]
[--out FILE] [--docs DIR], or, for a profile: python benchmarks/optax_step.py --profile 512 "hedge momentum+adam"

Steps are jitted, float32, and donate parameters and state, as in a training loop. Printed are milliseconds and ratios
of interleaved steps in one run, in brackets those of CPU time; then the target. Weights are held equal, so that no
expert sleeps, except in the last section: there one expert has the weight, and is beside that one alone. Directions of
matrices are timed up to --widest, and not at all if that is 0. --docs docs writes what the file has into
docs/optax-cost.md, and draws the curve.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
from pages import replace, table
from step_cost import on_jax, results, timing
from step_cost.on_jax import ADAMW, TRANSFORMATIONS, Training, hedged
from step_cost.shapes import models, squares
from step_cost.targets import Goal

from o2nc.conversions.practical import RATE
from o2nc.lab.runner.charts import COLOURS, canvas

OUT = Path(__file__).parent / "results" / "optax_step.json"
WIDTHS, WIDEST = (16, 32, 64, 128, 256, 512, 1024), 256
GOAL = Goal("hedge momentum+adam", ADAMW, 1.5)
EXPERTS = ("muon", "soap")
LARGE = 1e30  # what the other has lost
ASLEEP = 64  # the width on which experts sleep
THREADS = 2
FIGURE = "![The CPU time of a step over the width of leaves, against AdamW of Optax](assets/optax-step.png)"


def show(title: str, lines: list[str]) -> None:
    print("\n".join([title, *lines]), flush=True)


def timed_on(title: str, shapes: list[Any], is_of_matrices: bool, options: argparse.Namespace) -> timing.Costs:
    """The costs of all transformations, or of the elementwise ones."""
    mine = {name: each for name, each in TRANSFORMATIONS.items() if is_of_matrices or not each.is_of_matrices}
    found = on_jax.measured(mine, shapes, options.repeats, options.patience)
    entries = sum(map(math.prod, shapes)) / 1e6
    show(f"{title}: {entries:.3g} million parameters in {len(shapes)} leaves", timing.lines(found, ADAMW))
    show("target", [str(target) for target in GOAL.judge(title, found)])
    return found


def settled(winner: str, shapes: list[Any]) -> Training:
    """The default, of which the other expert has lost much."""
    training = Training(hedged(*EXPERTS, c=RATE)(), shapes)
    training.step()
    before = training.state.conversion.learner
    learner = before._replace(
        C=jnp.asarray([0.0 if name == winner else LARGE for name in EXPERTS]), R=jnp.full_like(before.R, LARGE / 100)
    )
    training.state = training.state._replace(conversion=training.state.conversion._replace(learner=learner))
    return training


def asleep(options: argparse.Namespace) -> timing.Costs:
    """The default while one expert has the weight, beside that expert alone: means over whole periods."""
    shapes = squares(8, 4) if options.quick else squares(ASLEEP)
    steps = {f"hedge {winner}": Training(hedged(winner)(), shapes).step for winner in EXPERTS}
    steps["hedge muon+soap, both awake"] = Training(hedged(*EXPERTS)(), shapes).step
    steps |= {f"hedge muon+soap, {winner} has the weight": settled(winner, shapes).step for winner in EXPERTS}
    timing.repeat(steps)
    found = timing.interleaved(steps, dict.fromkeys(steps, 3 * on_jax.PERIOD))
    costs = {name: timing.summary(each, on_jax.PERIOD) for name, each in found.items()}
    show(f"asleep, {len(shapes)} leaves of {shapes[0]}", timing.lines(costs, *(f"hedge {each}" for each in EXPERTS)))
    return costs


def curve(found: dict[str, Any]) -> dict[int, timing.Costs]:
    """The curve over widths, in their order."""
    return dict(sorted(results.curve(found, THREADS).items()))


def page(found: dict[str, Any]) -> str:
    """Ratios to AdamW in CPU time, of widths and of models."""
    widths = {str(width): costs for width, costs in curve(found).items()}
    columns = widths | results.costs(found, THREADS, "models")
    names = dict.fromkeys(name for costs in columns.values() for name in costs if name != ADAMW)
    header = ["a step / that of `optax.adamw`, CPU time", *(f"width {t}" if t.isdigit() else t for t in columns)]
    ratios = {name: [timing.ratio(costs, name, ADAMW) for costs in columns.values()] for name in names}
    body = [[name, *("–" if each is None else f"{each.cpu:.2f}" for each in row)] for name, row in ratios.items()]
    return f"{table(header, body)}\n{FIGURE}"


def picture(found: dict[int, timing.Costs], path: Path) -> None:
    """Ratios to AdamW in CPU time over widths: a line a transformation."""
    figure, (panel,) = canvas([f"{THREADS} threads"], "width of 20 square leaves", (7, 4))
    names = dict.fromkeys(name for costs in found.values() for name in costs if name != ADAMW)
    for name, colour in zip(names, COLOURS[: len(names)], strict=True):
        line = {width: timing.ratio(costs, name, ADAMW) for width, costs in found.items()}
        line = {width: each.cpu for width, each in line.items() if each}
        panel.plot([*line], [*line.values()], color=colour, marker="o", ms=3, lw=1.3, label=name)
    panel.axhline(GOAL.most, color="tab:gray", lw=0.8, ls="--", label=f"the aim of {GOAL.name}")
    panel.set_xscale("log", base=2)
    panel.set_xticks([*found], [str(width) for width in found])
    panel.margins(x=0.04)
    panel.set_ylim(bottom=0)
    panel.set_ylabel(f"CPU time of a step / {ADAMW}", fontsize=9)
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=int, nargs="*", default=list(WIDTHS))
    parser.add_argument("--models", nargs="*", choices=[*models()], default=[*models()])
    parser.add_argument("--widest", type=int, default=WIDEST)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="tiny models")
    parser.add_argument("--profile", nargs=2, metavar=("WIDTH", "NAME"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args(given)
    if options.repeats < 1 or min(options.widths, default=1) < 1:
        parser.error(f"--repeats and --widths must be at least 1; got {options.repeats} and {options.widths}.")
    if options.profile:
        width, name = options.profile
        if not width.isdigit() or width == "0" or name not in TRANSFORMATIONS:
            parser.error(f"--profile must be a width and one of {', '.join(map(repr, TRANSFORMATIONS))}.")
        show("profile", on_jax.profile(name, squares(int(width))))
        return
    options.patience = 0.0 if options.quick else timing.PATIENCE
    out = options.out or (None if options.quick else OUT)
    before = results.load(out) if out else {}

    def keep(section: str, title: str, costs: timing.Costs) -> None:
        """Beside what the file has of other sizes and models."""
        if out:
            whole = results.costs(before, THREADS, section) | {title: costs}
            about = {"repeats": options.repeats, "jax": jax.__version__, "optax": optax.__version__}
            results.store(out, THREADS, section, whole, **about)
            before.update(results.load(out))

    for width in options.widths:
        keep("curve", str(width), timed_on(f"width {width}", squares(width), width <= options.widest, options))
    for title in options.models:
        keep(
            "models",
            title,
            timed_on(title, models(options.quick)[title], title == "convolutions" and options.widest > 0, options),
        )
    if options.widest:
        keep("sleep", "asleep", asleep(options))
    if options.docs and out:
        found = results.load(out)
        replace(options.docs / "optax-cost.md", "steps", page(found))
        picture(curve(found), options.docs / "assets" / "optax-step.png")


if __name__ == "__main__":
    main()
