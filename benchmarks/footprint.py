"""What `Hedged` keeps and sends under FSDP2, on paper: from 10 million to 100 billion parameters, on 1 to 1024 ranks.

Run: python benchmarks/footprint.py [--docs DIR]

It prints two tables in Markdown. tests/benchmarks/test_footprint.py compares the formulas with what an optimizer keeps
and sends.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

from pages import replace, table

from o2nc.torch.shards import cost, shared_out

Shape = tuple[int, ...]
NUMBER = 8  # bytes of a float64
RANKS = (1, 8, 64, 1024)


class Experts(NamedTuple):
    """A set of experts: how many, whether polar is one, and whether parameters are narrower than float32."""

    title: str
    K: int
    polar: bool = False
    narrow: bool = False

    def bytes_per_entry(self, is_matrix: bool) -> int:
        """Float32 m and the root of Adam; the last direction of polar, for matrices; the point of narrow parameters."""
        return 8 + 4 * (self.polar and is_matrix) + 4 * self.narrow


SETS = (
    Experts("momentum, adam", 2),
    Experts("momentum, adam, polar", 3, polar=True),
    Experts("momentum, adam, polar, sign", 4, polar=True),
    Experts("momentum, adam, polar; bfloat16 parameters", 3, polar=True, narrow=True),
)


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
    """Bytes that the first rank keeps: its parts, and of every tensor the float64 t, q, f, played, V, C and regret."""
    of_matrices, of_others = (sum(part(shape, ranks) for shape in shapes) for shapes in (matrices, others))
    entries = of_matrices * experts.bytes_per_entry(True) + of_others * experts.bytes_per_entry(False)
    return entries + NUMBER * (len(matrices) + len(others)) * (5 + 2 * experts.K)


def reduced(matrices: list[Shape], others: list[Shape], experts: Experts) -> int:
    """Bytes of the all-reduce of a step."""
    return NUMBER * (len(matrices) + len(others)) * (3 + 2 * experts.K)


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


def memory() -> str:
    body = []
    for model in MODELS:
        shapes = model.matrices, model.others
        entries = sum(math.prod(shape) for each in shapes for shape in each)
        for experts in SETS:
            kept = [state(*shapes, experts, ranks) for ranks in RANKS]
            body.append([model.title, experts.title, f"{kept[0] / entries:.2f}", *map(human, kept)])
    return table(["parameters", "experts", "bytes a parameter", *(f"on {n} rank{'s' * (n > 1)}" for n in RANKS)], body)


def communication() -> str:
    body = []
    for model in MODELS:
        shapes = model.matrices, model.others
        entries, tensors = sum(math.prod(shape) for each in shapes for shape in each), sum(map(len, shapes))
        sums = " / ".join(human(reduced(*shapes, experts)) for experts in SETS[:3])
        for ranks in RANKS[1:]:
            there, back = exchanged(model.matrices, ranks)
            own = 3 * 4 * entries * (ranks - 1) / ranks  # two all-gathers and one reduce-scatter
            sent = [human(there), human(max(back)), str(back.count(0)), human(own)]
            body.append([model.title, str(tensors), str(ranks), sums, *sent])
    header = ["parameters", "tensors", "ranks", "all-reduce, K = 2 / 3 / 4", "polar: to owners", "polar: back, at most"]
    return table([*header, "ranks that own none", "FSDP2 itself"], body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    for name, text in (("memory", memory()), ("communication", communication())):
        print(text)
        if options.docs:
            replace(options.docs / "language-model.md", name, text)


if __name__ == "__main__":
    main()
