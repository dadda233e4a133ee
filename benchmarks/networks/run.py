"""Training runs: one cell, and all that a file of results does not have yet."""

import json
import math
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from .development import DEVELOPMENT
from .final import FINAL
from .fine_tuning import FINE_TUNING
from .first_final import FIRST_FINAL
from .gpt import SPEEDRUN
from .methods import METHODS, factor
from .scale_final import SCALE_FINAL

SAID = ("weights", "regret", "error", "rate")  # by `Hedged` of its first group, after the last step
ALL = DEVELOPMENT | FIRST_FINAL | FINAL | SCALE_FINAL | FINE_TUNING | SPEEDRUN


class Cell(NamedTuple):
    task: str
    method: str
    lr: float
    seed: int
    weight_decay: float = 0.0
    steps: int | None = None  # those of the task, if not given


def train(cell: Cell, points: int = 0) -> dict:
    """One run; both losses are infinite if a minibatch's is not finite on the way.

    ``curve`` holds step, CPU seconds and objective ``points`` times on the way; evaluation is not in the seconds.
    """
    torch.set_num_threads(1)
    task, method = ALL[cell.task](cell.seed), METHODS[cell.method]
    task = replace(task, steps=cell.steps or task.steps)
    record = {**cell._asdict(), "initial": task.evaluate(task.train), "curve": []}
    optimizers = method.build(task.model, cell.lr, task.steps, cell.weight_decay)
    scheduled = optimizers if method.scheduled else []
    schedulers = [torch.optim.lr_scheduler.LambdaLR(opt, lambda t: factor(t, task.steps)) for opt in scheduled]
    two_points = [opt for opt in optimizers if hasattr(opt, "eval")]
    marks = {round(task.steps * i / points) for i in range(1, points)}
    seconds, start = 0.0, time.process_time()
    for opt in two_points:
        opt.train()
    for t, (x, y) in enumerate(task.batches(), 1):
        loss = task.loss(task.model, x, y)
        if not loss.isfinite():
            return {**record, "train": math.inf, "validation": math.inf, "seconds": math.nan}
        task.model.zero_grad()
        loss.backward()
        for part in (*optimizers, *schedulers):
            part.step()
        if t in marks:
            seconds += time.process_time() - start
            for opt in two_points:
                opt.eval()
            record["curve"].append((t, round(seconds, 2), task.evaluate(task.train)))
            for opt in two_points:
                opt.train()
            start = time.process_time()
    seconds += time.process_time() - start
    for opt in two_points:
        opt.eval()
    losses = {"train": task.evaluate(task.train), "validation": task.evaluate(task.validation)}
    said = {k: g[k] for opt in optimizers if hasattr(opt, "report") for g in opt.report()["groups"][:1] for k in SAID}
    return {**record, **losses, **said, "seconds": round(seconds, 2)}


def load(out: Path) -> dict[Cell, dict]:
    """The results in a file, by cell."""
    lines = out.read_text().splitlines() if out.exists() else []
    records = (json.loads(line) for line in lines)
    return {Cell(**{name: record[name] for name in Cell._fields if name in record}): record for record in records}


def grid(tasks: list[str], seeds: list[int], methods: list[str]) -> list[Cell]:
    """Every task, method and seed at all rates of the method, without weight decay."""
    pairs = [(method, lr) for method in methods for lr in METHODS[method].rates]
    return [Cell(task, method, lr, seed) for seed in seeds for task in tasks for method, lr in pairs]


def run(out: Path, wanted: list[Cell], workers: int, points: int = 0) -> None:
    """Append the cells that are not in ``out``, as they come."""
    done = load(out)
    todo = [cell for cell in wanted if cell not in done]
    if not todo:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"  # for the workers
    start = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool, out.open("a") as file:
        for n, future in enumerate(as_completed([pool.submit(train, cell, points) for cell in todo]), 1):
            record = future.result()
            file.write(json.dumps(record) + "\n")
            file.flush()
            left = (time.monotonic() - start) / n * (len(todo) - n) / 60
            names = " ".join(str(record[name]) for name in Cell._fields)
            print(f"{n}/{len(todo)}  {names}: {record['train']:.4f}  ({left:.0f} min left)", flush=True)
