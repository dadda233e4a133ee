"""A step of `Hedged` against AdamW, Muon and SOAP: over sizes, on models, and with experts that sleep.

Run: python benchmarks/torch_step.py [--threads 2] [--repeats 7] [--only SECTION ...] [--at TITLE ...] [--elementwise]
[--quick] [--out FILE] [--docs DIR], or: python benchmarks/torch_step.py --profile WIDTH EXPERTS, as --profile 64
momentum+adam

Printed are milliseconds and ratios of interleaved steps in one run, float32, in brackets those of CPU time: medians, or
for those that refresh bases means over tens of steps. After them are the targets. Weights are held equal, so that no
expert sleeps, except in the section "sleep". Sections are written to --out as they are done, by number of threads;
--docs docs writes what the file has into docs/torch-cost.md, and draws the curve. --only figure measures nothing. --at
32 GPT leaves out all other widths and models, and --elementwise the directions of matrices, which are slow. --quick has
tiny sizes, and writes only where it is told to. The widest tensors need some 12 GB of memory.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from pages import replace
from step_cost import bookkeeping, memory, page, phases, results, sleep, targets, timing
from step_cost.figure import draw
from step_cost.methods import FOREACH, FUSED, METHODS, MUON, SOAP, Method
from step_cost.shapes import WIDEST, WIDTHS, models, squares

from o2nc.directions import registry

OUT = Path(__file__).parent / "results" / "torch_step.json"
BASES = (FOREACH, FUSED, MUON, "SOAP + AdamW")
SLEEPERS = (64, 256)  # widths, besides the GPT


def show(title: str, lines: list[str]) -> None:
    print("\n".join([title, *lines]), flush=True)


def methods(is_elementwise: bool) -> dict[str, Method]:
    """All, or those without directions of matrices."""
    return {name: method for name, method in METHODS.items() if not (is_elementwise and method.is_of_matrices)}


def chosen(titles: Iterable[Any], options: argparse.Namespace) -> list[Any]:
    """Widths or models, as far as they were asked for."""
    return [title for title in titles if options.at is None or str(title) in options.at]


def curve(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Square tensors of many widths; directions of matrices up to some."""
    found = {}
    for width in chosen((8, 16) if options.quick else WIDTHS, options):
        mine = methods(width > WIDEST or options.elementwise)
        shapes = squares(width, 4 if options.quick else 20)
        found[width] = timing.measured(mine, shapes, options.repeats, options.patience)
        show(f"{len(shapes)} tensors of {width} x {width}", timing.lines(found[width], *BASES))
    return found, targets.of_curve(found)


def on_models(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """Shapes of models."""
    found = {}
    every = models(options.quick)
    for title in chosen(every, options):
        shapes = every[title]
        found[title] = timing.measured(methods(options.elementwise), shapes, options.repeats, options.patience)
        entries = sum(torch.Size(shape).numel() for shape in shapes)
        words = f"{title}: {entries / 1e6:.3g} million parameters in {len(shapes)} tensors"
        show(words, timing.lines(found[title], *BASES))
    return found, targets.of_models(found)


def asleep(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """The default once one expert has the weight."""
    widths = (8,) if options.quick else SLEEPERS
    all_shapes = {f"width {width}": squares(width, 4 if options.quick else 20) for width in widths}
    found = {}
    for title, shapes in {**all_shapes, "GPT": models(options.quick)["GPT"]}.items():
        found[title] = sleep.sleeping(shapes)
        bases = [sleep.only(winner) for winner in sleep.EXPERTS]
        show(f"{title}, mean over {sleep.STEPS} steps", timing.lines(found[title], *bases))
    return found, targets.of_sleep(found)


def temporaries(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """What a step takes besides what it keeps, on tiny tensors."""
    found = memory.measured(models(options.quick)["tiny"])
    lines = [f"  {name:36s}{value:6.2f} x the parameters" for name, value in found.items()]
    show("tiny: the most temporary memory of a step", lines)
    return found, targets.of_memory(found)


def learner(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """The bookkeeping of many tensors."""
    found, judged = {}, list[Any]()
    for weights in bookkeeping.SHARINGS:
        found[weights] = bookkeeping.bookkeeping(weights, *(((10, 20, 40), 2) if options.quick else ()))
        show(f"tensors of one entry, weights={weights!r}", bookkeeping.lines(found[weights]))
        judged += targets.of_bookkeeping(weights, found[weights])
    return found, judged


SECTIONS = {"curve": curve, "models": on_models, "sleep": asleep, "memory": temporaries, "bookkeeping": learner}


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, choices=(1, 2), default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=(*SECTIONS, "figure"), default=list(SECTIONS))
    parser.add_argument("--at", nargs="+", metavar="TITLE")
    parser.add_argument("--elementwise", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--profile", nargs="+", metavar=("WIDTH", "EXPERTS"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args(given)
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}.")
    options.patience = 0.0 if options.quick else timing.PATIENCE
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if options.profile:
        width, *experts = options.profile
        names = "+".join(experts).split("+")
        if not width.isdigit() or width == "0" or not set(names) <= set(registry):
            known = ", ".join(registry)
            parser.error(f"--profile must be a width and names of experts, as 64 momentum+adam; there are {known}.")
        print(phases.report(squares(int(width)), names))
        return
    if SOAP is None:
        print("pytorch_optimizer is not installed (the extra bench), so its SOAP is left out.")
    out = options.out or (None if options.quick else OUT)
    for name in (name for name in SECTIONS if name in options.only):
        found, judged = SECTIONS[name](options)
        show(f"targets, {name}, {options.threads} thread{'s' * (options.threads > 1)}", list(map(str, judged)))
        if out:
            results.store(out, options.threads, name, found, repeats=options.repeats)
    if options.docs and out:
        found = results.load(out)
        replace(options.docs / "torch-cost.md", "aims", page.aims(found))
        replace(options.docs / "torch-cost.md", "steps", f"{page.markdown(found)}\n{page.FIGURE}")
        draw(results.curve(found, options.threads), options.docs / "assets" / "torch-step.png")


if __name__ == "__main__":
    main()
