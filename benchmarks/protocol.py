"""The development tasks by the protocol of docs/training-protocol.md; and, once, the final ones and fine-tuning.

Run: python benchmarks/protocol.py [--workers 2] [--tasks lstm ...] [--seeds 0 1 2] [--methods adamw ...] [--out FILE]
[--docs DIR]

Without --workers it prints what is there and runs nothing. Every run is a line of the file, and what is there is not
run again. --final takes the four tasks that choose nothing in the place of the others, and --fine-tuning the two that
go on from a good point: run them when the rule is done. --first-final prints how the rule before was judged, and
--scale-final is what judges the step of the learned scale. --docs docs writes what is printed into the pages.
"""

import argparse
import math
from pathlib import Path

from networks.development import DEVELOPMENT
from networks.final import FINAL
from networks.fine_tuning import FINE_TUNING, RATE
from networks.first_final import FIRST_FINAL
from networks.methods import EXPERTS, METHODS
from networks.protocol import Results, best_cell, diverged, foresight, over_adamw, ratios, summary, until, wanted
from networks.run import load, run
from networks.scale_final import SCALE_FINAL
from pages import replace, table

FOLDER = Path(__file__).parent / "results"
KINDS = {
    "development": DEVELOPMENT,
    "first_final": FIRST_FINAL,
    "final": FINAL,
    "scale_final": SCALE_FINAL,
    "fine_tuning": FINE_TUNING,
}
PAGES = {kind: "training.md" for kind in KINDS} | dict.fromkeys(
    ["development", "first_final"], "training-development.md"
)
DRAWN = ("hedged", "learned", "equal", "muon", "soap", "schedule-free", "prodigy")  # over AdamW


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument("--final", dest="kind", action="store_const", const="final", default="development")
    judged.add_argument("--first-final", dest="kind", action="store_const", const="first_final")
    judged.add_argument("--scale-final", dest="kind", action="store_const", const="scale_final")
    judged.add_argument("--fine-tuning", dest="kind", action="store_const", const="fine_tuning")
    parser.add_argument("--tasks", nargs="+", choices=DEVELOPMENT)
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args(given)
    if options.kind != "development" and options.tasks:
        parser.error("`--tasks` chooses development tasks; the final ones are run all together.")
    options.tasks = options.tasks or list(KINDS[options.kind])
    options.seeds = options.seeds or list(range(3 if options.kind in ("development", "first_final") else 5))
    if 0 not in options.seeds:
        parser.error("`--seeds` must have 0, which chooses the weight decay.")
    options.out = options.out or FOLDER / f"{options.kind}.jsonl"
    return options


def markdown(results: Results, tasks: list[str], methods: list[str]) -> str:
    """The best cells of all, and how far `Hedged` and the rivals at the same rates are from the best expert."""
    best = {(task, name): best_cell(results, task, name) for task in tasks for name in methods}
    body = [
        [METHODS[name].title, *("{:.4g} (lr {:g})".format(*best[task, name]) for task in tasks)] for name in methods
    ]
    text, body = "### Best cells\n\n" + table(["", *tasks], body), []
    for name in methods:
        if found := ratios(results, tasks, name, EXPERTS):
            cells, mean, near, worst = summary(found.values())
            counts = [str(cells), str(diverged(results, tasks, name))]
            body.append([METHODS[name].title, *counts, f"{mean:.3f}", f"{near:.0%}", f"{worst:.3f}"])
    if body:
        text += "\n### Over the best expert of the same cell\n\n"
        text += table(["", "cells", "runs diverged", "geometric mean", "within 1.10", "worst"], body)
    if "adamw" in methods:
        text += "\n### Steps, and CPU seconds, to the final objective of AdamW\n\n"
        text += table(["", *tasks], times(results, tasks, methods))
    runs, correlation, agree = foresight(results, tasks)
    if runs:
        text += (
            f"\nWhich expert would have won: {runs} runs, rank correlation {correlation:.2f}, right in {agree:.0%}.\n"
        )
    return text


def times(results: Results, tasks: list[str], methods: list[str]) -> list[list[str]]:
    """When methods at their best rates are where AdamW ends at its best; the rows of a table."""
    goals = {task: best_cell(results, task, "adamw")[0] for task in tasks}
    body = []
    for name in methods:
        found = [until(results, task, name, goals[task]) for task in tasks]
        body.append([METHODS[name].title, *(f"{t}, {s:.1f}" if math.isfinite(t) else "–" for t, s in found)])
    return body


def chart(results: Results, tasks: list[str]) -> str:
    """The best cell of some methods over that of AdamW, as a table that the pages draw."""
    body = []
    for task in tasks:
        adamw, *others = (best_cell(results, task, name)[0] for name in ("adamw", *DRAWN))
        body.append([task, *(f"{value / adamw:.3f}" for value in others)])
    title = "the final objective over that of AdamW, each at its best rate"
    return f"<!-- chart: {title} -->\n\n" + table(["", *(METHODS[name].title for name in DRAWN)], body)


def fine_tuning(results: Results, tasks: list[str], methods: list[str]) -> str:
    """The objectives over that of AdamW at its default rate: at all rates, and how many runs diverged."""
    body = []
    for name in methods:
        found, count = over_adamw(results, tasks, name), diverged(results, tasks, name)
        for lr in METHODS[name].rates:
            if all((task, lr) in found for task in tasks):
                entries = [f"{found[task, lr]:.3f}" for task in tasks]
                body.append([METHODS[name].title, f"{lr:g}", *entries, str(count)])
    return f"### Over AdamW at lr {RATE:g}\n\n" + table(["", "lr", *tasks, "runs diverged, all lr"], body)


def main(given: list[str] | None = None) -> None:
    options = arguments(given)
    while options.workers and (cells := wanted(load(options.out), options.tasks, options.methods, options.seeds)):
        run(options.out, cells, options.workers, points=10)
    results = {cell: row for cell, row in load(options.out).items() if cell.seed in options.seeds}
    if results:
        text = (fine_tuning if options.kind == "fine_tuning" else markdown)(results, options.tasks, options.methods)
        print(text)
        if options.docs:
            page, mark = options.docs / PAGES[options.kind], options.kind.replace("_", " ")
            replace(page, mark, text)
            replace(page, f"{mark} chart", chart(results, options.tasks))


if __name__ == "__main__":
    main()
