"""Runs of the language model: at several learning rates with the first seed, and at the best with the others."""

import json
from pathlib import Path
from typing import NamedTuple

import examples  # noqa: F401
import torch
from language.options import Options
from language.train import train
from rates import next_rate

METHODS = {"hedged": "Hedged", "adamw": "AdamW", "muon": "Muon + AdamW"}
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
FIRST = 3e-3
RUN = Options(steps=500, every=25)


class Cell(NamedTuple):
    optimizer: str
    lr: float
    seed: int
    steps: int

    @property
    def options(self) -> Options:
        return Options(**{**vars(RUN), **self._asdict()})


Results = dict[Cell, list[dict]]  # the curve of each cell: a record an evaluation


def load(out: Path) -> Results:
    """The results in a file, by cell."""
    lines = out.read_text().splitlines() if out.exists() else []
    records = [json.loads(line) for line in lines]
    return {Cell(*(record[name] for name in Cell._fields)): record["curve"] for record in records}


def at_rates(results: Results, method: str) -> dict[float, float]:
    """The loss on the files that were held out, by learning rate, of the runs with the first seed."""
    found = {lr: results.get(Cell(method, lr, RUN.seed, RUN.steps)) for lr in RATES}
    return {lr: curve[-1]["held_out"] for lr, curve in found.items() if curve}


def chosen(results: Results, method: str) -> float:
    """The best learning rate."""
    found = at_rates(results, method)
    return min(found, key=found.get)


def search(out: Path, method: str) -> None:
    """Run until the best rate of a method has worse neighbours."""
    while lr := next_rate(at_rates(load(out), method), RATES, FIRST):
        run(out, [Cell(method, lr, RUN.seed, RUN.steps)])


def runs(results: Results, methods: list[str], seeds: list[int]) -> list[Cell]:
    """What is published, the methods by turns."""
    return [Cell(method, chosen(results, method), seed, RUN.steps) for seed in seeds for method in methods]


def run(out: Path, cells: list[Cell]) -> None:
    """Append the cells that are not in ``out``, one after the other."""
    torch.set_num_threads(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        if cell in load(out):
            continue
        curve = []
        for record in train(cell.options):
            curve.append({name: rounded(value) for name, value in record.items()})
            print(f"{cell.optimizer} lr {cell.lr:g} seed {cell.seed}: {curve[-1]}", flush=True)
        with out.open("a") as file:
            file.write(json.dumps({**cell._asdict(), "curve": curve}) + "\n")


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return round(value, 4) if isinstance(value, float) else value
