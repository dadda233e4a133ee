"""Training runs: one cell, and all that a file of results does not have yet."""

import json
import math
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import torch

from .methods import METHODS, WARM_UP
from .tasks import TASKS


class Cell(NamedTuple):
    task: str
    method: str
    lr: float
    seed: int


def factor(t: int, steps: int) -> float:
    """What multiplies the learning rate of step t = 0, 1, ...: a linear warm-up, then a linear decay to 0."""
    warm_up = round(WARM_UP * steps)
    return min((t + 1) / warm_up, (steps - t) / (steps - warm_up))


def train(cell: Cell) -> dict:
    """One run; both losses are infinite if a minibatch's is not finite on the way."""
    torch.set_num_threads(1)
    task, method = TASKS[cell.task](cell.seed), METHODS[cell.method]
    optimizers = method.build(task.model, cell.lr, task.steps)
    scheduled = optimizers if method.scheduled else []
    schedulers = [torch.optim.lr_scheduler.LambdaLR(opt, lambda t: factor(t, task.steps)) for opt in scheduled]
    two_points = [opt for opt in optimizers if hasattr(opt, "eval")]
    start = time.process_time()
    for opt in two_points:
        opt.train()
    for x, y in task.batches():
        loss = task.loss(task.model, x, y)
        if not loss.isfinite():
            return {**cell._asdict(), "train": math.inf, "validation": math.inf, "seconds": math.nan}
        task.model.zero_grad()
        loss.backward()
        for part in (*optimizers, *schedulers):
            part.step()
    seconds = time.process_time() - start
    for opt in two_points:
        opt.eval()
    losses = {"train": task.evaluate(task.train), "validation": task.evaluate(task.validation)}
    return {**cell._asdict(), **losses, "seconds": round(seconds, 2)}


def load(out: Path) -> dict[Cell, dict]:
    """The results in a file, by cell."""
    lines = out.read_text().splitlines() if out.exists() else []
    records = (json.loads(line) for line in lines)
    return {Cell(*(record[name] for name in Cell._fields)): record for record in records}


def run(out: Path, tasks: list[str], seeds: list[int], methods: list[str], workers: int) -> None:
    """Append the cells that are not in ``out``, as they come."""
    wanted = [
        Cell(task, method, lr, seed)
        for seed in seeds
        for task in tasks
        for method in methods
        for lr in METHODS[method].rates
    ]
    done = load(out)
    todo = [cell for cell in wanted if cell not in done]
    if not todo:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"  # for the workers
    start = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool, out.open("a") as file:
        for n, future in enumerate(as_completed([pool.submit(train, cell) for cell in todo]), 1):
            record = future.result()
            file.write(json.dumps(record) + "\n")
            file.flush()
            left = (time.monotonic() - start) / n * (len(todo) - n) / 60
            names = " ".join(str(record[name]) for name in Cell._fields)
            print(f"{n}/{len(todo)}  {names}: {record['train']:.4f}  ({left:.0f} min left)", flush=True)
