"""`Hedged` against each of its experts alone and against other optimizers, on four small training problems.

Run: python benchmarks/train.py [--tasks mlp ...] [--seeds 0 1 ...] [--methods hedged ...] [--out FILE] [--docs DIR]

Every run is appended to a file of JSON lines, and what is there already is not run again; so a run that was stopped
goes on, and with the file of this repository the tables are printed at once. --docs docs writes them and the figure
into docs/training.md. From nothing, all of it takes about an hour of CPU time, in two processes.
"""

import argparse
from pathlib import Path

from networks.figure import draw
from networks.methods import METHODS
from networks.run import grid, load, run
from networks.table import markdown
from networks.tasks import TASKS
from pages import replace

OUT = Path(__file__).parent / "results" / "training.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--workers", type=int, default=2, help="processes; 0 prints what is there and runs nothing")
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    if options.workers:
        run(options.out, grid(options.tasks, options.seeds, options.methods), options.workers)
    chosen = {
        cell: record
        for cell, record in load(options.out).items()
        if cell.task in options.tasks and cell.seed in options.seeds and cell.method in options.methods
    }
    results = dict(sorted(chosen.items(), key=lambda item: list(TASKS).index(item[0].task)))
    text = markdown(results)
    print(text)
    if options.docs:
        replace(options.docs / "training.md", "tables", text)
        draw(results, options.docs / "assets" / "training.png")


if __name__ == "__main__":
    main()
