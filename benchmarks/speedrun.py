"""How many steps a method needs to the validation loss of tuned AdamW, with a small GPT: docs/speedrun.md.

Run: python benchmarks/speedrun.py [--workers 2] [--methods adamw ...] [--out FILE] [--docs DIR]

Without --workers it prints what is there and runs nothing. Every run is a line of the file, and what is there is not
run again. What was found is written beside it as JSON. --docs docs writes the tables and the figure into the page.
From nothing, all of it takes less than two hours of CPU time.
"""

import argparse
import json
from dataclasses import replace as changed
from pathlib import Path

from ladder.figure import draw
from ladder.race import Race, wanted
from ladder.table import markdown, summary
from networks.methods import METHODS
from networks.run import load, run
from pages import replace

OUT = Path(__file__).parent / "results" / "speedrun.jsonl"


def main(given: list[str] | None = None, race: Race | None = None) -> None:
    race = race or Race()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(race.methods))
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args(given)
    race = changed(race, methods=tuple(options.methods))
    while options.workers and (cells := wanted(load(options.out), race)):
        run(options.out, cells, options.workers)
    if not (results := load(options.out)):
        return
    text = markdown(results, race)
    print(text)
    options.out.with_suffix(".json").write_text(json.dumps(summary(results, race), indent=1) + "\n")
    if options.docs:
        replace(options.docs / "speedrun.md", "speedrun", text)
        draw(results, race, options.docs / "assets" / "speedrun.png")


if __name__ == "__main__":
    main()
