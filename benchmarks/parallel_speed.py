"""Tokens a second of the small GPT under DDP and FSDP2 on two processes: `Hedged` against AdamW and Muon.

Run: python benchmarks/parallel_speed.py [--rounds 6] [--block 5] [--docs DIR] [--quick]

Both processes hold a model for every method. They take turns: a few steps with each, again and again, so that what else
the machine does meets all alike. A number is the median over the turns of the slower process, and a ratio that of such
medians. CPU time is the sum over both. No expert sleeps yet in so few steps. --docs docs writes the table there.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import examples  # noqa: F401
import torch
import torch.distributed as dist
import torch.multiprocessing
from language.corpus import VOCABULARY, batch, corpus
from language.model import GPT
from language.optimizers import OPTIMIZERS, Optimizers
from language.options import Options
from language.parallel import Place, spread
from language.train import update
from pages import replace as put
from pages import table
from torch import nn

from o2nc.torch import Hedged, groups

RANKS = 2
WARM_UP = 3  # steps: state is made, and SOAP's first bases
SMALL = Options()
QUICK = replace(SMALL, width=16, layers=1, context=32)
Make = Callable[[nn.Module, float, float], Optimizers]


def hedged(*experts: str) -> Make:
    return lambda model, lr, decay: [Hedged(groups(model, weight_decay=decay), lr=lr, experts=experts)]


METHODS: dict[str, Make] = {
    "AdamW": OPTIMIZERS["adamw"],
    "Muon, float32": OPTIMIZERS["muon"],
    "`Hedged`": hedged("muon", "soap"),
    "`Hedged`, muon + adam": hedged("muon", "adam"),
    "`Hedged`, momentum + adam": hedged("momentum", "adam"),
}
WHOLE = {"Muon, float32"}  # the example's Muon needs whole matrices


def work(rank: int, kind: str, options: Options, rounds: int, block: int, folder: str) -> None:
    """All methods in turn on one of the processes; the seconds of each turn go to a file."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/{kind}", RANKS)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=RANKS)
    text, place, runs = corpus()[0], Place(rank, RANKS), {}
    for name, make in METHODS.items():
        if kind == "fsdp" and name in WHOLE:
            continue
        torch.manual_seed(options.seed)
        bare = GPT(VOCABULARY, options.width, options.layers, options.heads, options.context)
        runs[name] = spread(bare, kind), make(bare, options.lr, options.weight_decay)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for turn in range(rounds + 1):
        for name, (model, optimizers) in runs.items():
            steps = block if turn else WARM_UP
            batches = [batch(text, turn, step, options.batch, options.context) for step in range(steps)]
            dist.monitored_barrier()
            begun = time.perf_counter(), time.process_time()
            for each in batches:
                update(model, optimizers, 1e-4, each, place)
            if turn:
                found[name].append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
        if rank == 0:
            print(f"{kind}: {turn} of {rounds} turns", flush=True)
    Path(folder, f"{kind}-{rank}.json").write_text(json.dumps(found))
    dist.monitored_barrier()
    dist.destroy_process_group()


def measured(kind: str, options: Options, rounds: int, block: int) -> dict[str, tuple[float, float]]:
    """For each method the medians over turns of the seconds and the CPU seconds of a step."""
    with tempfile.TemporaryDirectory() as folder:
        arguments: Any = (kind, options, rounds, block, folder)
        torch.multiprocessing.spawn(work, args=arguments, nprocs=RANKS)
        ranks = [json.loads(Path(folder, f"{kind}-{rank}.json").read_text()) for rank in range(RANKS)]
    return {name: medians([each[name] for each in ranks], block) for name in ranks[0]}


def medians(ranks: list[list[tuple[float, float]]], block: int) -> tuple[float, float]:
    """Of the turns of all ranks: the slowest one's seconds, and everybody's CPU seconds, a step.

    >>> medians([[(1.0, 0.5), (4.0, 0.5)], [(2.0, 1.0), (4.0, 1.0)]], 2)
    (1.5, 0.75)
    """
    turns = list(zip(*ranks, strict=True))
    wall = statistics.median(max(seconds for seconds, _ in turn) for turn in turns)
    return wall / block, statistics.median(sum(cpu for _, cpu in turn) for turn in turns) / block


def markdown(found: dict[str, dict[str, tuple[float, float]]], options: Options) -> str:
    """A row a method; ratios are to AdamW under the same kind of parallelism."""
    rows = []
    for name in METHODS:
        row = [name]
        for each in found.values():
            if name not in each:
                row += ["", "", ""]
                continue
            (wall, cpu), (least, least_cpu) = each[name], each["AdamW"]
            row += [f"{options.tokens / wall:,.0f}", f"{least / wall:.2f}", f"{cpu / least_cpu:.2f}"]
        rows.append(row)
    columns = ("tokens a second", "to AdamW's", "CPU time, to AdamW's")
    return table(["method", *(f"{kind.upper()}: {column}" for kind in found for column in columns)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6, help="turns of each method")
    parser.add_argument("--block", type=int, default=5, help="steps of a turn")
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--quick", action="store_true", help="a tiny model, two turns of two steps")
    given = parser.parse_args()
    if min(given.rounds, given.block) < 1:
        parser.error(f"--rounds and --block must be at least 1; got {given.rounds} and {given.block}.")
    options, rounds, block = (QUICK, 2, 2) if given.quick else (SMALL, given.rounds, given.block)
    text = markdown({kind: measured(kind, options, rounds, block) for kind in ("ddp", "fsdp")}, options)
    print("\n" + text)
    if given.docs:
        put(given.docs / "distributed.md", "parallel speed", text)


if __name__ == "__main__":
    main()
