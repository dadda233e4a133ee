"""The table of results in the README, from what is stored in benchmarks/results.

Run: python benchmarks/headline.py [--check]

It writes the table into README.md; with --check it says whether the README has it already, by its exit code. The files
are made by `o2nc reproduce` (its tables.json), protocol.py and torch_step.py.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from networks.final import FINAL
from networks.fine_tuning import FINE_TUNING
from networks.methods import METHODS
from networks.protocol import best_cell, over_adamw
from networks.run import load as load_runs
from networks.scale_final import SCALE_FINAL
from pages import replace, table
from step_cost import results as step_results
from step_cost.methods import FOREACH, MUON

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
RIVALS = ("adamw", "muon", "soap")
STEPS = {  # of `Hedged` with some experts, and of what does nearly the same work
    "Hedged momentum+adam": (FOREACH, '"momentum", "adam" / AdamW with `foreach`'),
    "Hedged muon+adam": (MUON, '"muon", "adam" / Muon in float32'),
    "Hedged muon+soap": ("SOAP + AdamW", 'the default, "muon", "soap" / SOAP'),
}
THREADS, SHAPES = 2, "GPT"  # 25 million parameters


def numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def certified() -> list[list[str]]:
    """The paper's four objectives, 3000 rounds, 128 replications."""
    found = json.loads((RESULTS / "reproduction.json").read_text())
    proved, measured = found["certificates_by_method"], found["results"]

    def over(method: str, name: str) -> str:
        certificates = (proved[f][method][name] for f in proved)
        return numbers(certificate["bound"] / certificate["measured"] for certificate in certificates)

    gain = numbers(row["sharp"]["average"] / row["sgd_best"]["average"] for row in measured.values())
    blind = numbers(row["sharp_blind"]["average"] / row["sgd_best"]["average"] for row in measured.values())
    theory, learning = "[theorem](docs/theory-sharp.md)", "[learning](docs/learning.md)"
    return [
        ["bound before the run / measured, f1 to f4", over("sharp_identity", "a_priori"), theory],
        ["bound from one run, 99 % / measured", over("one_run", "one_run"), "[one run](docs/theory-one-run.md)"],
        ["certified method / the best of five SGD steps, average squared gradient", gain, learning],
        ["the same without knowing P", blind, learning],
    ]


def trained() -> list[list[str]]:
    """The final tasks, which chose nothing, and fine-tuning."""
    runs, scale = (load_runs(RESULTS / f"{name}.jsonl") for name in ("final", "scale_final"))
    page = "[training](docs/training.md)"

    def over(method: str, rival: str) -> str:
        return numbers(best_cell(runs, task, method)[0] / best_cell(runs, task, rival)[0] for task in FINAL)

    def free(method: str) -> str:
        return numbers(best_cell(scale, task, method)[0] / best_cell(scale, task, "adamw")[0] for task in SCALE_FINAL)

    tuned = [
        [f"`Hedged` / {METHODS[rival].title}, best rates, {len(FINAL)} final tasks", over("hedged", rival), page]
        for rival in RIVALS
    ]
    learned = [
        f"`Hedged` without a learning rate / AdamW at its best rate, {len(SCALE_FINAL)} more tasks",
        free("learned"),
        page,
    ]
    constant = ["the same without a schedule", free("learned constant"), page]
    later = over_adamw(load_runs(RESULTS / "fine_tuning.jsonl"), list(FINE_TUNING), "learned")
    tuning = [
        "`Hedged` without a learning rate / AdamW at 0.001, which was not tuned, fine-tuning, two tasks",
        numbers(later.values()),
        page,
    ]
    return [*tuned, learned, constant, tuning]


def timed() -> list[list[str]]:
    """A step on a model in the shapes of GPT-2."""
    costs = step_results.costs(step_results.load(RESULTS / "torch_step.json"), THREADS, "models")[SHAPES]
    page = "[cost](docs/torch-cost.md)"
    return [
        [f"time of a step, {words}", numbers([costs[name].wall / costs[rival].wall]), page]
        for name, (rival, words) in STEPS.items()
    ]


def headline() -> str:
    return table(["ratio, the smaller the better", "found", "page"], [*certified(), *trained(), *timed()])


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(given)
    text, readme = headline(), ROOT / "README.md"
    print(text)
    if options.check:
        found = re.search(r"<!-- headline -->\n\n(.*)\n<!-- end of headline -->", readme.read_text(), re.DOTALL)
        sys.exit(found is None or found[1] != text)
    replace(readme, "headline", text)


if __name__ == "__main__":
    main()
