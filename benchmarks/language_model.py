"""`Hedged` against AdamW and Muon on a small GPT, trained on the source of the standard library.

Run: python benchmarks/language_model.py [--methods hedged ...] [--seeds 0 1 2] [--out FILE] [--docs DIR] [--no-run]

First, with the first seed, runs at several learning rates, until the best of each method has worse neighbours; then a
run for every other seed at that rate. Every run is appended to a file of JSON lines, and what is there already is not
run again; --no-run prints the tables of what is there. --docs docs writes them and the figure into
docs/language-model.md. From nothing, all of it takes about an hour of CPU time.
"""

import argparse
from pathlib import Path

from pages import replace
from pretraining.figure import draw
from pretraining.run import METHODS, load, run, runs, search
from pretraining.table import markdown

OUT = Path(__file__).parent / "results" / "language_model.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(3)))
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--no-run", action="store_true", help="print what is there and run nothing")
    options = parser.parse_args()
    if not options.no_run:
        for method in options.methods:
            search(options.out, method)
        run(options.out, runs(load(options.out), options.methods, options.seeds))
    results = load(options.out)
    text = markdown(results)
    print(text)
    if options.docs:
        replace(options.docs / "language-model.md", "results", text)
        draw(results, options.docs / "assets" / "language-model.png")


if __name__ == "__main__":
    main()
