"""Runs of the language model: pilots, which choose a learning rate, and the runs that are published."""

import json
from pathlib import Path
from typing import NamedTuple

import examples  # noqa: F401
import torch
from language.options import Options
from language.train import train

METHODS = {"hedged": "Hedged", "adamw": "AdamW", "muon": "Muon + AdamW"}
RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
MIDDLE = (3e-3, 1e-2)
PILOT = Options(steps=100, every=25, seed=99)  # which is not among the seeds of the runs
RUN = Options(steps=500, every=25)


class Cell(NamedTuple):
    optimizer: str
    lr: float
    seed: int
    steps: int

    @property
    def options(self) -> Options:
        base = PILOT if self.steps == PILOT.steps else RUN
        return Options(**{**vars(base), **self._asdict()})


Results = dict[Cell, list[dict]]  # the curve of each cell: a record an evaluation


def load(out: Path) -> Results:
    """The results in a file, by cell."""
    lines = out.read_text().splitlines() if out.exists() else []
    records = [json.loads(line) for line in lines]
    return {Cell(*(record[name] for name in Cell._fields)): record["curve"] for record in records}


def pilots(results: Results, method: str) -> dict[float, float]:
    """The loss on the files that were held out, by learning rate."""
    found = {lr: results.get(Cell(method, lr, PILOT.seed, PILOT.steps)) for lr in RATES}
    return {lr: curve[-1]["held_out"] for lr, curve in found.items() if curve}


def best_rate(results: Results, method: str) -> float:
    found = pilots(results, method)
    return min(found, key=found.get)


def next_pilot(results: Results, method: str) -> Cell | None:
    """The two rates in the middle first, then on from the better one, until a rate has worse neighbours."""
    found = pilots(results, method)
    wanted = [lr for lr in MIDDLE if lr not in found]
    if not wanted:
        k = RATES.index(best_rate(results, method))
        wanted = [lr for lr in RATES[max(k - 1, 0) : k + 2] if lr not in found]
    return Cell(method, wanted[0], PILOT.seed, PILOT.steps) if wanted else None


def runs(results: Results, methods: list[str], seeds: list[int]) -> list[Cell]:
    """What is published, the methods by turns."""
    return [Cell(method, best_rate(results, method), seed, RUN.steps) for seed in seeds for method in methods]


def neighbours(results: Results, methods: list[str]) -> list[Cell]:
    """Full runs of the first seed at the rates next to the best: did the pilots, being short, choose well?"""
    ks = [(method, RATES.index(best_rate(results, method))) for method in methods]
    return [Cell(m, lr, 0, RUN.steps) for m, k in ks for lr in (*RATES[k + 1 : k + 2], *RATES[max(k - 1, 0) : k])]


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
