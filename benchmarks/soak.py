"""A long run of a small GPT with `Hedged` that is killed again and again, beside one that nobody disturbs.

Run: python benchmarks/soak.py [--steps 20000] [--every 500] [--kills 24] [--optimizer hedged] [--out FOLDER] [--quick]

Both write a checkpoint every 500 steps and the loss of every step into a file. One of them dies by SIGKILL at random
steps, a random part of a step later; every fourth time while a checkpoint is due. Another process goes on from the last
checkpoint. In the end the losses of all steps, parameters and state must be the same bit by bit, and a step that was
made twice must have had the same loss twice. Resident memory is VmRSS of /proc/self/status, after each checkpoint.

The script may be interrupted; with the same --out it goes on.
"""

import argparse
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import examples  # noqa: F401
import numpy as np
import torch
from language.checkpoint import load, newest, save
from language.corpus import VOCABULARY, batch, corpus
from language.model import GPT
from language.optimizers import OPTIMIZERS
from language.options import Options
from language.parallel import processes
from language.train import factor, update
from pages import table
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

RUNS = ("undisturbed", "killed")
TINY = Options(width=16, layers=2, heads=2, context=32, batch=4, steps=20_000, every=500, lr=3e-3)
NUMBER = struct.Struct("<d")
SHOWN = 8  # readings of memory in the table


class Kill(NamedTuple):
    """When a process ends itself: so many seconds after a step has begun."""

    step: int
    delay: float


def planned(kills: int, options: Options, seed: int) -> list[Kill]:
    """When the run is killed; every fourth time in the step before a checkpoint, and up to half a second after it."""
    rng, found = random.Random(seed), dict[int, float]()
    while len(found) < kills:
        if len(found) % 4 == 3:
            found[rng.randrange(options.every, options.steps, options.every) - 1] = rng.uniform(0, 0.5)
        else:
            found[rng.randrange(1, options.steps - 1)] = rng.uniform(0, 0.02)
    return sorted(Kill(*each) for each in found.items())


class Losses:
    """The loss of each step in a file: what was written is there even if the process is killed."""

    def __init__(self, folder: Path):
        self.path = folder / "losses"
        self.path.touch()

    def write(self, step: int, loss: float) -> None:
        """Raise if this step was made before with another loss."""
        number = NUMBER.pack(loss)
        with self.path.open("r+b") as file:
            before = os.pread(file.fileno(), NUMBER.size, step * NUMBER.size)
            if before and before != number:
                raise AssertionError(f"The loss of step {step} was {NUMBER.unpack(before)[0]!r} and is {loss!r} now.")
            os.pwrite(file.fileno(), number, step * NUMBER.size)

    def read(self) -> np.ndarray:
        return np.frombuffer(self.path.read_bytes(), "<f8")


def resident() -> float:
    """MiB of this process in memory now; NaN where /proc is not."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def append(path: Path, **record: Any) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def work(folder: Path, options: Options, kill: Kill | None) -> None:
    """Train from the last checkpoint on, until the end or until this process is killed."""
    torch.set_num_threads(1)
    losses, checkpoints = Losses(folder), str(folder / "checkpoints")
    with processes(options.parallel) as place:
        text, _ = corpus()
        torch.manual_seed(options.seed)
        model = GPT(VOCABULARY, options.width, options.layers, options.heads, options.context)
        optimizers = OPTIMIZERS[options.optimizer](model, options.lr, options.weight_decay)
        first, begun = load(checkpoints, model, optimizers, options.fixed), time.perf_counter()
        again = losses.read().size - first  # steps that will be made a second time
        append(folder / "memory", step=first, mib=resident(), pid=os.getpid(), again=again)
        for step in range(first, options.steps):
            if kill and step == max(kill.step, first):
                append(folder / "kills", step=step, delay=kill.delay)
                threading.Timer(kill.delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
            found = batch(text, options.seed, step, options.batch, options.context)
            loss = update(model, optimizers, options.lr * factor(step, options.steps), found, place)
            losses.write(step, loss.item())
            if (done := step + 1) % options.every and done != options.steps:
                continue
            save(checkpoints, done, model, optimizers, options.fixed)
            append(folder / "memory", step=done, mib=resident(), pid=os.getpid())
            pace = (time.perf_counter() - begun) / (done - first)
            left = (options.steps - done) * pace
            print(f"{folder.name:>11}  step {done:>6}/{options.steps}  loss {loss:.4f}  {1000 * pace:.1f} ms a step  "
                  f"{resident():.0f} MiB  {left:.0f} s left", flush=True)  # fmt: skip
        if kill:
            time.sleep(2 * kill.delay)  # it comes after the last step


def run(folder: Path, options: Options, kills: Sequence[Kill]) -> None:
    """One process after the other, until all kills were done and the run is at its end."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        done = len(records(folder / "kills"))
        kill = kills[done] if done < len(kills) else None
        given = json.dumps([vars(options), kill])
        code = subprocess.run([sys.executable, __file__, "--work", str(folder), given]).returncode
        if code == -signal.SIGKILL and len(records(folder / "kills")) > done:
            print(f"{folder.name:>11}  killed in step {kill.step} ({done + 1} of {len(kills)})", flush=True)
        elif code:
            sys.exit(f"A process ended with code {code}.")
        else:
            return


def differing(a: Any, b: Any, name: str = "") -> list[str]:
    """Where two nested states differ in a bit."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [each for key in a for each in differing(a[key], b[key], f"{name}/{key}")]
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return [] if torch.equal(a, b) and a.dtype == b.dtype else [name]
    return [] if a == b else [name]


def content(folder: Path) -> dict[str, Any]:
    """The last checkpoint of a run."""
    path = newest(str(folder / "checkpoints"))
    dcp_to_torch_save(path, folder / "whole.pt")
    return torch.load(folder / "whole.pt", weights_only=True)


def memory(folder: Path) -> dict[int, float]:
    """MiB by step; a process that has just begun is left out."""
    found, seen = {}, set()
    for each in records(folder / "memory"):
        if each["pid"] in seen:
            found[each["step"]] = each["mib"]
        seen.add(each["pid"])
    return found


def report(out: Path, options: Options) -> bool:
    """Print what was found, and whether all is as it should be."""
    undisturbed, killed = (Losses(out / name).read() for name in RUNS)
    states = [content(out / name) for name in RUNS]
    tensors = sum(isinstance(a, torch.Tensor) for a in leaves(states[0]))
    same = undisturbed.size == killed.size == options.steps and np.array_equal(undisturbed, killed)
    other = differing(*states)
    again = sum(each.get("again", 0) for each in records(out / "killed" / "memory"))
    print(f"\n{options.steps} steps, {len(records(out / 'killed' / 'kills'))} kills, {again} steps made twice.")
    print(f"Losses of all steps the same bit by bit: {'yes' if same else 'NO'} (from {undisturbed[0]:.4f} to "
          f"{undisturbed[-100:].mean():.4f}, the mean of the last 100).")  # fmt: skip
    verdict = f"NO: {', '.join(other)}" if other else "yes"
    print(f"Parameters and state after the last step the same bit by bit: {verdict} ({tensors} tensors).")
    readings = [memory(out / name) for name in RUNS]
    steps = sorted(readings[0])
    shown = [steps[k] for k in np.unique(np.linspace(0, len(steps) - 1, SHOWN).astype(int))]
    rows = [[f"{step:,}", *(f"{each[step]:.1f}" if step in each else "" for each in readings)] for step in shown]
    print("\n" + table(["step", *(f"MiB, {name}" for name in RUNS)], rows))
    late = [step for step in steps if step > steps[0]]
    slope = np.polyfit(late, [readings[0][step] for step in late], 1)[0] if len(late) > 1 else 0.0
    print(f"Undisturbed: {1000 * slope:+.3f} MiB for 1,000 steps, by least squares over {len(late)} readings.")
    return same and not other


def leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree.values() for leaf in leaves(part)] if isinstance(tree, dict) else [tree]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=TINY.steps)
    parser.add_argument("--every", type=int, default=TINY.every, help="steps from one checkpoint to the next")
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0, help="of the kills")
    parser.add_argument("--optimizer", choices=("hedged", "hedged-light"), default=TINY.optimizer)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "o2nc-soak")
    parser.add_argument("--quick", action="store_true", help="40 steps and 3 kills")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        options, kill = json.loads(given.work[1])
        work(Path(given.work[0]), Options(**options), Kill(*kill) if kill else None)
        return
    steps, every, kills = (40, 10, 3) if given.quick else (given.steps, given.every, given.kills)
    if not 0 < every < steps or not 0 <= kills < 4 * (steps // every):
        words = "--every must be below --steps, and --kills below four for each checkpoint"
        parser.error(f"{words}; got {every}, {steps} and {kills}.")
    options = replace(TINY, steps=steps, every=every, optimizer=given.optimizer)
    for name in RUNS:
        run(given.out / name, options, planned(kills, options, given.seed) if name == "killed" else [])
    sys.exit(not report(given.out, options))


if __name__ == "__main__":
    main()
