"""What `Hedged` keeps and sends: measured on single tensors, and under FSDP2 on paper, up to 100 billion parameters.

Run: python benchmarks/footprint.py [--docs DIR]

It prints three tables in Markdown. tests/benchmarks/test_footprint.py compares the formulas with what an optimizer
keeps and sends.
"""

import argparse
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pages import replace, table

from o2nc.directions import Soap
from o2nc.torch import Hedged
from o2nc.torch.shards import cost, shared_out

Shape = tuple[int, ...]
NUMBER = 8  # bytes of a float64
RANKS = (1, 8, 64, 1024)
MEASURED = ((256, 256), (256, 1024), (8192, 64))  # a square matrix, a long one, and a table


class Experts(NamedTuple):
    """A set of experts, each "muon", "soap" or "adam"; narrow parameters are in bfloat16."""

    names: tuple[str, ...]
    scale: str = "learned"
    narrow: bool = False

    @property
    def title(self) -> str:
        return ", ".join(self.names) + "; fixed scale" * (self.scale == "fixed") + "; bfloat16" * self.narrow

    @property
    def K(self) -> int:
        return len(self.names)

    def bytes_per_entry(self, is_matrix: bool) -> int:
        """What is cut as its parameter, in float32: tracker, traces, the root of Adam, the point if it is narrow.

        There is a trace for each direction that differs; none if there is one only, at a fixed scale.
        """
        differing = set(self.names) if is_matrix else {"adam"}
        traces = len(differing) if len(differing) > 1 or self.scale == "learned" else 0
        return 4 * (1 + traces + ("adam" in differing) + self.narrow)

    def whole(self, p: int, q: int) -> int:
        """Bytes that every rank keeps of a matrix: of "soap" v, the products and bases of both sides, and a count."""
        sides = sum(side**2 for side in (p, q) if side <= Soap().limit)
        return 4 * (p * q + 2 * sides + 1) if "soap" in self.names else 0


SETS = (
    Experts(("muon", "soap")),
    Experts(("muon", "soap"), "fixed"),
    Experts(("muon", "soap"), narrow=True),
    Experts(("muon", "adam")),
    Experts(("muon",)),
    Experts(("adam",), "fixed"),
)
NAMED = (
    ("muon", "soap"), ("muon", "adam"), ("soap", "adam"), ("momentum", "adam", "polar"),
    ("muon",), ("soap",), ("adam",), ("momentum",), ("polar",), ("sign",), ("shampoo",),
)  # fmt: skip


class Model(NamedTuple):
    """The GPT of the examples."""

    title: str
    width: int
    layers: int
    vocabulary: int = 32_000

    @property
    def matrices(self) -> list[Shape]:
        w = self.width
        return [(3 * w, w), (w, w), (4 * w, w), (w, 4 * w)] * self.layers

    @property
    def others(self) -> list[Shape]:
        """The table of tokens and the norms."""
        return [(self.vocabulary, self.width)] + [(self.width,)] * (2 * self.layers + 1)


MODELS = (
    Model("10M", 192, 9),
    Model("100M", 640, 16),
    Model("1B", 2048, 18),
    Model("10B", 4096, 48),
    Model("100B", 10240, 80),
)


def part(shape: Shape, ranks: int) -> int:
    """Entries of the part of the first rank, which is the largest: tensors are cut along their first axis."""
    return -(-shape[0] // ranks) * math.prod(shape[1:])


def state(matrices: list[Shape], others: list[Shape], experts: Experts, ranks: int) -> int:
    """Bytes that the first rank keeps: its parts, what is whole on all, and float64 numbers of every tensor.

    These are t, played, size, three of the scale and R, and for each expert C, regret, ahead and error.
    """
    of_matrices, of_others = (sum(part(shape, ranks) for shape in shapes) for shapes in (matrices, others))
    entries = of_matrices * experts.bytes_per_entry(True) + of_others * experts.bytes_per_entry(False)
    whole = sum(experts.whole(p, q) for p, q in matrices)
    return entries + whole + NUMBER * (len(matrices) + len(others)) * (10 + 4 * experts.K)


def reduced(tensors: int, K: int) -> tuple[int, int]:
    """Bytes of the all-reduce that checks the gradients, and of the one that judges and mixes."""
    return NUMBER * tensors * 2, NUMBER * tensors * (1 + K + K * (K + 1) // 2)


def gathered(matrices: list[Shape], ranks: int) -> list[int]:
    """Bytes that every rank brings into the all-gathers of "soap": tracker and gradient of each matrix, padded."""
    return [4 * part(shape, ranks) for shape in matrices for _ in range(2)]


def exchanged(matrices: list[Shape], ranks: int) -> tuple[int, list[int]]:
    """Bytes that the first rank brings into the exchange to the owners, and each rank into the one back."""
    owned = shared_out([cost(shape) for shape in matrices], ranks)
    back = [4 * sum(math.prod(matrices[k]) for k in ks) for ks in owned]
    return 4 * sum(part(shape, ranks) for shape in matrices), back


def human(n: float) -> str:
    """
    >>> human(0), human(1234), human(5e9)
    ('0', '1.2 kB', '5 GB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}" if n >= 100 * size else f"{n / size:.2g} {unit}"
    return f"{n:g}" if n == 0 else f"{n:g} B"


def kept(opt: torch.optim.Optimizer) -> int:
    """Bytes of the tensors in the state of an optimizer, as far as this rank holds them."""
    tensors: list[Any] = [each for entry in opt.state.values() for each in entry.values()]
    held = [each.to_local() if hasattr(each, "to_local") else each for each in tensors]
    return sum(each.numel() * each.element_size() for each in held)


def stepped(shape: Shape, make: Any, dtype: torch.dtype = torch.float32) -> torch.optim.Optimizer:
    """An optimizer of one parameter after a step."""
    p = torch.nn.Parameter(torch.ones(shape, dtype=dtype))
    p.grad = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    opt: torch.optim.Optimizer = make([p])
    opt.step()
    return opt


def measured() -> str:
    """Bytes an entry, from the state of real optimizers."""

    def row(title: str, makes: list[Any], dtype: torch.dtype = torch.float32) -> list[str]:
        sizes = [[kept(stepped(shape, make, dtype)) / math.prod(shape) for make in makes] for shape in MEASURED]
        return [title, *(" / ".join(f"{size:.0f}" for size in each) for each in sizes)]

    def makes(names: tuple[str, ...]) -> list[Any]:
        return [lambda params, s=scale: Hedged(params, experts=names, scale=s) for scale in ("learned", "fixed")]

    body = [row(", ".join(f'"{name}"' for name in names), makes(names)) for names in NAMED]
    body.insert(1, row('"muon", "soap", bfloat16 parameters', makes(NAMED[0]), torch.bfloat16))
    body.append(row("`torch.optim.AdamW`", [torch.optim.AdamW]))
    return table(["experts, scale learned / fixed", *map(str, MEASURED[:2]), f"{MEASURED[2]}, no matrix"], body)


def memory() -> str:
    body = []
    for model in MODELS:
        shapes = model.matrices, model.others
        entries = sum(math.prod(shape) for each in shapes for shape in each)
        for experts in SETS:
            sizes = [state(*shapes, experts, ranks) for ranks in RANKS]
            body.append([model.title, experts.title, f"{sizes[0] / entries:.2f}", *map(human, sizes)])
    return table(["parameters", "experts", "bytes a parameter", *(f"on {n} rank{'s' * (n > 1)}" for n in RANKS)], body)


def communication() -> str:
    body = []
    for model in MODELS:
        shapes = model.matrices, model.others
        entries, tensors = sum(math.prod(shape) for each in shapes for shape in each), sum(map(len, shapes))
        sums = " / ".join(human(sum(reduced(tensors, K))) for K in (1, 2, 3))
        for ranks in RANKS[1:]:
            there, back = exchanged(model.matrices, ranks)
            own = 3 * 4 * entries * (ranks - 1) / ranks  # two all-gathers and one reduce-scatter
            from_others = sum(gathered(model.matrices, ranks)) * (ranks - 1)
            sent = [human(there), human(max(back)), str(back.count(0)), human(from_others), human(own)]
            body.append([model.title, str(tensors), str(ranks), sums, *sent])
    header = ["parameters", "tensors", "ranks", "all-reduces, K = 1 / 2 / 3", "muon: to owners", "muon: back, at most"]
    return table([*header, "ranks that own none", "soap: gathered", "FSDP2 itself"], body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    pages = {"bytes": ("torch-state.md", measured), "memory": ("footprint.md", memory)}
    for name, (page, make) in {**pages, "communication": ("footprint.md", communication)}.items():
        print(text := make())
        if options.docs:
            replace(options.docs / page, name, text)


if __name__ == "__main__":
    main()
