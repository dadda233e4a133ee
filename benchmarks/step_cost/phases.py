"""Where the time of a step goes: the functions of a step, each with a stopwatch.

A profiler of Python would charge every call of a small function, and find small models slower than they are.
"""

import functools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch.profiler import profile

import o2nc.torch.hedged
import o2nc.torch.kernels
import o2nc.torch.step
from o2nc.torch import Hedged
from o2nc.torch.stacks import Bucket, Part
from o2nc.torch.state import Table
from o2nc.torch.step import Step
from o2nc.torch.stored import Stored

from .timing import parameters, repeat

BOOKKEEPING = {"numbers": (Step, "_numbers"), "coefficients": (Step, "_coefficients"), "learn": (Table, "learn")}
PHASES = {
    "options": (o2nc.torch.hedged, "check_options"),
    "table": (Table, "is_current"),
    "gradients": (o2nc.torch.hedged, "check_gradient"),
    "layout": (Step, "__init__"),
    "check": (Step, "check"),
    "prepare": (Step, "prepare"),
    "directions": (Stored, "_of"),
    "objection": (Stored, "objection"),
    "judge": (o2nc.torch.kernels, "judge"),
    "track": (o2nc.torch.kernels, "track"),
    "products": (o2nc.torch.kernels, "products"),
    "move": (o2nc.torch.kernels, "move"),
    "samples": (Step, "_sample"),
    "take": (Bucket, "take"),
    "put": (Bucket, "put"),
    "columns": (Part, "numbers"),
    "sums": (Part, "table"),
    "views": (Step, "_view"),
    "memory": (Step, "_room"),
    **BOOKKEEPING,
}
STEPS = 20


class Stopwatch:
    """Seconds in functions, each without those of others that it calls.

    >>> watch = Stopwatch()
    >>> watch.around("f", lambda: 3)()
    3
    >>> list(watch.seconds)
    ['f']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner = [0.0]  # seconds in functions that were called by those that run now

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                whole = time.perf_counter() - start
                self.seconds[name] += whole - self._inner.pop()
                self._inner[-1] += whole

        return watched


@contextmanager
def watching(places: Mapping[str, tuple[Any, str]]) -> Iterator[Stopwatch]:
    """Within it, functions that are attributes of classes and modules have a stopwatch."""
    watch, before = Stopwatch(), [(owner, name, vars(owner).get(name)) for owner, name in places.values()]
    for label, (owner, name) in places.items():
        setattr(owner, name, watch.around(label, getattr(owner, name)))
    try:
        yield watch
    finally:
        for owner, name, function in before:
            if function is None:  # it is inherited
                delattr(owner, name)
            else:
                setattr(owner, name, function)


def phases(opt: Hedged, steps: int = STEPS, places: Mapping[str, tuple[Any, str]] = PHASES) -> dict[str, float]:
    """Median milliseconds of a step in each phase, in what torch does around it (hooks), and in the rest."""
    repeat({"": opt.step})
    found: dict[str, list[float]] = defaultdict(list)
    with watching({**places, "rest": (type(opt), "_step"), "hooks": (type(opt), "step")}) as watch:
        for _ in range(steps):
            watch.seconds.clear()
            opt.step()
            for name, seconds in watch.seconds.items():
                found[name].append(1e3 * seconds)
    return {name: statistics.median(times) for name, times in found.items()}


def operators(opt: Hedged, most: int = 8) -> list[tuple[str, int, float]]:
    """The operators of torch that take most of a step: their names, calls and milliseconds."""
    opt.step()
    with profile() as found:
        opt.step()
    rows = sorted(found.key_averages(), key=lambda row: -row.self_cpu_time_total)
    return [(row.key, row.count, row.self_cpu_time_total / 1e3) for row in rows[:most]]


def report(shapes: Sequence[tuple[int, ...]], experts: Sequence[str], steps: int = STEPS) -> str:
    """A table of the phases, and of the operators."""
    opt = Hedged(parameters(shapes), experts=tuple(experts), c=0.0)
    found = phases(opt, steps)
    whole = sum(found.values())
    text = [f"{'+'.join(experts)} on {len(shapes)} tensors: {whole:.3f} ms a step"]
    text += [f"  {name:14s}{ms:9.3f} ms{ms / whole:7.1%}" for name, ms in sorted(found.items(), key=lambda e: -e[1])]
    text.append("operators of torch, with their calls in a step")
    text += [f"  {name:36s}{calls:6d}{ms:9.3f} ms" for name, calls, ms in operators(opt)]
    return "\n".join(text)
