"""A step of `Hedged`, against AdamW and Muon: 25 million parameters in the shapes of GPT-2, and 2,000 tiny tensors.

Printed are ratios of the medians of interleaved steps in one run, float32, two threads. Run:
python benchmarks/torch_step.py
"""

import statistics
import time

import examples  # noqa: F401
import torch
from language.muon import Muon

from o2nc.directions import Mask
from o2nc.torch import Hedged

REPEATS = 7


def gpt(width=384, layers=12, vocabulary=8192, context=1024):
    shapes = [(vocabulary, width), (context, width)]
    for _ in range(layers):
        shapes += [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
        shapes += [(3 * width,), (width,), (4 * width,)] + [(width,)] * 5
    return shapes


def tiny():
    return [(8, 8), (16,)] * 1000


class WithAdamW:
    """A Muon for the matrices, and AdamW for what is none."""

    def __init__(self, muon, params):
        self.parts = [
            muon([p for p in params if p.ndim == 2], lr=1e-3),
            torch.optim.AdamW([p for p in params if p.ndim != 2], lr=1e-3, foreach=True),
        ]

    def step(self):
        for part in self.parts:
            part.step()


def half(p):
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask.view(-1)[::2] = True
    return mask


PAIR = ("momentum", "adam")
METHODS = {
    "AdamW foreach": lambda params: torch.optim.AdamW(params, lr=1e-3, foreach=True),
    "AdamW fused": lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True),
    "Hedged adam": lambda params: Hedged(params, experts=("adam",)),
    "Hedged momentum+adam": lambda params: Hedged(params, experts=PAIR),
    "Hedged momentum+adam loop": lambda params: Hedged(params, experts=PAIR, foreach=False),
    "Hedged momentum+adam compiled": lambda params: Hedged(params, experts=PAIR, compile=True),
    "Hedged momentum+mask": lambda params: Hedged(params, experts=("momentum", Mask(half))),
}
MUON = {
    "Muon float32": lambda params: WithAdamW(Muon, params),
    "Hedged momentum+adam+polar": lambda params: Hedged(params),
}


def medians(methods, shapes, repeats=REPEATS):
    """Milliseconds of a step, each method on its own parameters."""
    steps = {}
    for name, make in methods.items():
        params = [torch.randn(shape).requires_grad_() for shape in shapes]
        for p in params:
            p.grad = torch.randn(p.shape)
        steps[name] = make(params).step
    for step in steps.values():
        step(), step(), step()  # state, layouts and compiled code
    times = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(found) for name, found in times.items()}


def show(title, found, *bases):
    print(title)
    for name, value in found.items():
        ratios = ", ".join(f"{value / found[base]:.2f} x {base}" for base in bases)
        print(f"  {name:32s} {value:9.1f} ms   {ratios}")


def main():
    torch.set_num_threads(2)
    torch.manual_seed(0)
    for title, shapes in (("25 million parameters", gpt()), ("2,000 tiny tensors", tiny())):
        show(title, medians(METHODS, shapes), "AdamW foreach", "AdamW fused")
    show("25 million parameters, with polar", medians(MUON, gpt(), repeats=3), "Muon float32")
    small = gpt(width=256, layers=2, vocabulary=1024, context=256)
    methods = {**MUON, "torch.optim.Muon": lambda params: WithAdamW(torch.optim.Muon, params)}
    show("2 million parameters, with polar", medians(methods, small, repeats=3), "Muon float32")


if __name__ == "__main__":
    main()
