"""How a step grows with the dimension, the experts, the replications and the blocks, for every oracle and every set.

A step is `SmoothConversion.update` on float64 NumPy arrays, on grids of four sizes. Printed is the table of the page
"How the cost grows": exponents of time (CPU, medians of interleaved repetitions) and of memory, by least squares on
logarithms; the time at the largest d; and the numbers in the state and at the peak of a step, beyond what it was given
(by tracemalloc, which does not see the workspace of LAPACK). Run: python benchmarks/growth.py [an oracle ...]
"""

import math
import os
import statistics
import sys
import time
import tracemalloc
from typing import NamedTuple

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import numpy as np

from o2nc import Blocks, Smooth, SmoothConversion, oracles, sets
from o2nc.operators import Diagonal, Identity
from o2nc.oracles.base import example
from o2nc.states import leaves
from o2nc.vectors import apply

CONSTANTS = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=100)
REPEATS, LEAST = 5, 2e-3  # repetitions, and seconds of one at least


class Size(NamedTuple):
    """What grows; ``blocks`` is (how many, of which size), or nothing for an array."""

    d: int
    K: int = 3
    R: int = 1
    blocks: tuple[int, int] | None = None


def experts(x, K):
    half = apply(lambda a: np.full(a.shape if isinstance(x, Blocks) else a.shape[-1:], 0.5), x)
    return (Identity(), *(Diagonal(half) for _ in range(K - 1)))


SETS = {type(entry.make((Identity(),), np.zeros(4))).__name__: entry for entry in sets.registry.values()}
EXPERTS = tuple(name for name, entry in SETS.items() if entry.facts["over"] == "weights")
MATRICES = tuple(name for name, entry in SETS.items() if entry.facts["over"] == "matrix")
FACTORS = tuple(name for name, entry in SETS.items() if entry.facts["over"] == "factors")
BASIC = ("Hull", "Box", "PositiveContractions")
FACTORED = ("LeftLeastSquares", "RightLeastSquares")  # of the squarest matrix
MORE = {
    "ogd": tuple(SETS),
    "hedge-self-tuned": EXPERTS,
    "over-oracles": ("Box", "Fantope"),
    "augmented-leader": ("PositiveContractions", "Contractions", "LeftFactors"),
}
AXES = ("K", "replications", "block size", "blocks")
HEADER = ("oracle", "set", "d: fit, last", "time at the largest d", "state", "peak", *AXES)


def label(oracle):
    """As users call it, with its mirror map if it has one that is not the default."""
    name = oracle.name if isinstance(oracle, oracles.OverExperts) else type(oracle).__name__
    mirror = type(getattr(oracle, "mirror", oracles.Euclidean())).__name__
    return name if mirror == "Euclidean" else f"{name}, `{mirror}`"


def taken(name, kind):
    """The oracle over such a set, or None if it does not take it; "none" is for oracles that take no set."""
    x = np.zeros(4)
    try:
        oracle = example(name, SETS[kind].make(experts(x, 3), x) if kind in SETS else None, x)
        oracle.init(x)
    except TypeError:
        return None
    return oracle


def rows():
    """For every oracle of the registry its label, with its name and the sets that it is measured on."""
    found = {}
    for name, entry in oracles.registry.items():
        kinds = ("none",) if taken(name, "none") else ("Box",) if entry.facts.get("circuit") else BASIC
        made = {kind: oracle for kind in MORE.get(name, kinds) if (oracle := taken(name, kind))}
        found[label(next(iter(made.values())))] = (name, tuple(made))
    return found


ORACLES = rows()


def grids(name, kind):
    """The grids of a row, by axis: large where a step is linear, small where it forms matrices."""
    full = name in ("FullAdaGrad", "FullLeastSquares")
    factors = kind in FACTORS or name in FACTORED
    small = full or kind in MATRICES or factors
    if factors:
        first = 4096
    elif full and kind not in EXPERTS:
        first = 4 if kind in MATRICES else 128
    else:
        first = 128 if kind in MATRICES else 2**15
    d = doubled(first, 4 if factors else 2)
    axes = {"d": [(n, Size(d=n)) for n in d]}
    each = 4 if full else 1024 if factors else 64
    axes["replications"] = [(n, Size(d=each, R=n)) for n in doubled(64 if full else 8 if small else 256)]
    if kind in EXPERTS:
        axes["K"] = [(n, Size(d=1024, K=n)) for n in doubled(128 if full else 16)]
    if not small:
        axes["block size"] = [(n, Size(d=0, blocks=(4, n))) for n in doubled(2**14)]
        axes["blocks"] = [(n, Size(d=0, blocks=(n, 1024))) for n in doubled(8)]
    return axes


def doubled(first, factor=2):
    return [first * factor**i for i in range(4)]


def prepared(name, kind, size):
    """The update, a sample and a state after two rounds."""
    rng = np.random.default_rng(0)
    if size.blocks is not None:
        s = Blocks(tuple(rng.normal(size=size.blocks[1]) for _ in range(size.blocks[0])))
    else:
        s = rng.normal(size=(size.R, size.d) if size.R > 1 else size.d)
    S = SETS[kind].make(experts(s, size.K), s) if kind in SETS else None
    conversion = SmoothConversion(example(name, S, s), CONSTANTS)
    state = conversion.init(s)
    for _ in range(2):
        _, state = conversion.update(s, state)
    return conversion.update, s, state


def seconds(update, s, state, count):
    start = time.process_time()
    for _ in range(count):
        update(s, state)
    return (time.process_time() - start) / count


def peak(update, s, state):
    tracemalloc.start()
    update(s, state)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


class Grid(NamedTuple):
    """What was measured on the sizes of a grid."""

    sizes: list[int]
    seconds: list[float]
    peak: list[float]  # bytes
    kept: list[float]  # bytes of the state

    def power(self, values):
        """The exponent of the size that fits the values."""
        return float(np.polyfit(np.log2(self.sizes), np.log2(values), 1)[0])

    def last(self, values):
        """The exponent from the last two sizes alone."""
        return math.log(values[-1] / values[-2]) / math.log(self.sizes[-1] / self.sizes[-2])

    def numbers(self, values):
        """Bytes as a multiple of a power of d, from the last of the grid."""
        d, power = self.sizes[-1], round(self.power(values))
        return f"{values[-1] / 8 / d**power:.3g}" + ("" if power == 0 else " d" if power == 1 else f" d^{power}")


def measured(name, kind, grid):
    cases = [prepared(name, kind, size) for _, size in grid]
    counts = [max(1, math.ceil(LEAST / max(seconds(*case, 1), 1e-6))) for case in cases]
    times = [[seconds(*case, count) for case, count in zip(cases, counts, strict=True)] for _ in range(REPEATS)]
    return Grid(
        sizes=[n for n, _ in grid],
        seconds=[statistics.median(t) for t in zip(*times, strict=True)],
        peak=[peak(*case) for case in cases],
        kept=[sum(a.nbytes for _, a in leaves(state)) for _, _, state in cases],
    )


def main(names):
    np.empty(2**21)  # glibc returns the pages of large arrays until it has freed a larger one: 2000 page faults a step
    print(f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|", sep="\n")
    for row in names or ORACLES:
        name, kinds = ORACLES[row]
        for kind in kinds:
            found = {axis: measured(name, kind, grid) for axis, grid in grids(row, kind).items()}
            top = found.pop("d")
            time_of_d = f"{top.power(top.seconds):.1f}, {top.last(top.seconds):.1f}"
            largest = f"{1e3 * top.seconds[-1]:.3g} ms at {top.sizes[-1]}"
            cells = [row, kind, time_of_d, largest, top.numbers(top.kept), top.numbers(top.peak)]
            for axis in AXES:
                g = found.get(axis)
                cells.append(f"{g.power(g.seconds):.1f}, {g.power(g.peak):.1f}" if g else "")
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
