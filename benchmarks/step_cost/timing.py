"""Times of interleaved steps: what disturbs one method then disturbs all."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch._dynamo

from .methods import Method
from .shapes import Shape

WARM = 3  # steps before: state, layouts and compiled code
PATIENCE = 2.0  # seconds: while there is time, steps are repeated more often ...
MOST = 10  # ... up to so many times as was asked for


class Cost(NamedTuple):
    """Milliseconds of a step: on the clock, and of all threads together."""

    wall: float
    cpu: float


Costs = dict[str, Cost]


def parameters(shapes: Sequence[Shape]) -> list[torch.Tensor]:
    """Random parameters with random gradients."""
    params = [torch.randn(shape).requires_grad_() for shape in shapes]
    for p in params:
        p.grad = torch.randn(p.shape)
    return params


def timed(step: Callable[[], Any]) -> Cost:
    """A step."""
    wall, cpu = time.perf_counter(), time.process_time()
    step()
    return Cost(1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu))


def interleaved(steps: Mapping[str, Callable[[], Any]], rounds: Mapping[str, int]) -> dict[str, list[Cost]]:
    """One step of each after the other, each as often as ``rounds`` says."""
    found: dict[str, list[Cost]] = {name: [] for name in steps}
    for k in range(max(rounds.values())):
        for name, step in steps.items():
            if k < rounds[name]:
                found[name].append(timed(step))
    return found


def summary(costs: Sequence[Cost], period: int = 1) -> Cost:
    """The median; or the mean, if steps differ within a period: a median would not see those that are slow.

    >>> summary([Cost(1.0, 2.0), Cost(9.0, 9.0), Cost(2.0, 3.0)])
    Cost(wall=2.0, cpu=3.0)
    >>> summary([Cost(1.0, 2.0), Cost(9.0, 10.0)], period=2)
    Cost(wall=5.0, cpu=6.0)
    """
    whole = costs[: len(costs) // period * period]
    middle = statistics.median if period == 1 else statistics.fmean
    return Cost(*(middle(each) for each in zip(*whole, strict=True)))


def warm(steps: Mapping[str, Callable[[], Any]]) -> None:
    """Make the first steps; torch stops to compile after some recompilations, and if it does, say so."""
    torch._dynamo.reset()  # every model has its own count
    try:
        with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
            repeat(steps)
    except torch._dynamo.exc.FailOnRecompileLimitHit:
        print("  torch recompiles too often here, and stops to compile: what is called compiled is so in part only")
        torch._dynamo.reset()
        repeat(steps)


def repeat(steps: Mapping[str, Callable[[], Any]], times: int = WARM) -> None:
    for step in steps.values():
        for _ in range(times):
            step()


def often(repeats: int, seconds: float, patience: float = PATIENCE) -> int:
    """How often steps are repeated of which one round takes some seconds.

    >>> often(7, 0.001), often(7, 0.1), often(7, 5.0)
    (70, 20, 7)
    """
    return min(max(repeats, int(patience / seconds)), MOST * repeats)


def measured(methods: Mapping[str, Method], shapes: Sequence[Shape], repeats: int, patience: float = PATIENCE) -> Costs:
    """The cost of a step of each method on parameters of its own; those with a period go through whole ones."""
    steps = {name: method.make(parameters(shapes)).step for name, method in methods.items()}
    warm(steps)
    seconds = timed(lambda: repeat(steps, 1)).wall / 1e3
    count = often(repeats, seconds, patience)
    rounds = {name: -(-count // method.period) * method.period for name, method in methods.items()}
    found = interleaved(steps, rounds)
    return {name: summary(costs, methods[name].period) for name, costs in found.items()}


def ratio(found: Mapping[str, Cost], name: str, base: str) -> Cost | None:
    """How much a method takes of another; None if one of them was not timed.

    >>> ratio({"a": Cost(3.0, 1.0), "b": Cost(2.0, 2.0)}, "a", "b")
    Cost(wall=1.5, cpu=0.5)
    """
    if name not in found or base not in found:
        return None
    return Cost(*(mine / other for mine, other in zip(found[name], found[base], strict=True)))


def lines(found: Mapping[str, Cost], *bases: str) -> list[str]:
    """A line a method: milliseconds, and the ratios to the bases, in brackets those of CPU time."""
    bases = tuple(base for base in bases if base in found)
    text = [" " * 52 + "".join(f"{'/ ' + base:>24s}" for base in bases)]
    for name, cost in found.items():
        ratios = [ratio(found, name, base) for base in bases]
        shown = "".join(f"{f'{each.wall:.2f} ({each.cpu:.2f})':>24s}" for each in ratios if each)
        text.append(f"  {name:38s}{cost.wall:9.2f} ms{shown}")
    return text
