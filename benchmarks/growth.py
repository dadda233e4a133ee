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
from o2nc.directions import Adam, Momentum, Sign
from o2nc.operators import Diagonal, Identity
from o2nc.states import leaves
from o2nc.vectors import apply

CONSTANTS = Smooth(M=8.0, beta=1.0, sigma=0.5, T=100)
REPEATS, LEAST = 5, 2e-3  # repetitions, and seconds of one at least


class Size(NamedTuple):
    """What grows; ``blocks`` is (how many, of which size), or nothing for an array."""

    d: int
    K: int = 3
    R: int = 1
    blocks: tuple[int, int] | None = None


def hull(x, K):
    half = apply(lambda a: np.full(a.shape if isinstance(x, Blocks) else a.shape[-1:], 0.5), x)
    return sets.Hull((Identity(), *(Diagonal(half) for _ in range(K - 1))))


def varying(x, K):
    fixed = hull(x, K)
    return sets.Varying(lambda t: fixed, holds_identity=True)


def quarters(x):
    """The shapes that cut an array into four equal blocks; `Blocks` need none."""
    return None if isinstance(x, Blocks) else ((x.shape[-1] // 4,),) * 4


def square(x):
    """The shape of x as a square matrix."""
    return (math.isqrt(x.shape[-1]),) * 2


def product(S, x):
    oracle = oracles.OGD(S)
    return oracles.Product([oracle] * (len(x.arrays) if isinstance(x, Blocks) else 4), quarters(x))


# a set from a vector and K
SETS = {
    "Hull": hull,
    "Varying": varying,
    "Box": lambda x, K: sets.Box(),
    "BlockBox": lambda x, K: sets.BlockBox(shapes=quarters(x)),
    "PositiveContractions": lambda x, K: sets.PositiveContractions(),
    "SpectralBall": lambda x, K: sets.SpectralBall(),
    "Fantope": lambda x, K: sets.Fantope(2),
    "LeftFactors": lambda x, K: sets.LeftFactors(square(x)),
    "RightFactors": lambda x, K: sets.RightFactors(square(x)),
    "TwoSided": lambda x, K: sets.TwoSided(square(x)),
}
EXPERTS = ("Hull", "Varying")
MATRICES = ("PositiveContractions", "SpectralBall", "Fantope")
FACTORS = ("LeftFactors", "RightFactors", "TwoSided")
VECTORS = ("Hull", "Box")
BASIC = (*VECTORS, "PositiveContractions")
NONE = ("none",)
AXES = ("K", "replications", "block size", "blocks")
HEADER = ("oracle", "set", "d: fit, last", "time at the largest d", "state", "peak", *AXES)
# an oracle from a set and a vector, and the sets that it is measured on
ORACLES = {
    "Constant": (lambda S, x: oracles.Constant(), NONE),
    "Hedge": (lambda S, x: oracles.Hedge(S), EXPERTS),
    "AdaHedge": (lambda S, x: oracles.AdaHedge(S), ("Hull",)),
    "Squint": (lambda S, x: oracles.Squint(S, scale=2.0), ("Hull",)),
    "OptimisticHedge": (lambda S, x: oracles.OptimisticHedge(S), ("Hull",)),
    "FixedShare": (lambda S, x: oracles.FixedShare(S), ("Hull",)),
    "DiscountedHedge": (lambda S, x: oracles.DiscountedHedge(S), ("Hull",)),
    "ShortMemoryHedge": (lambda S, x: oracles.ShortMemoryHedge(S), ("Hull",)),
    "Adaptive": (lambda S, x: oracles.Adaptive([Momentum(), Adam(), Sign()]), NONE),
    "OGD": (lambda S, x: oracles.OGD(S), SETS),
    "OMD": (lambda S, x: oracles.OMD(S, eta=0.1), BASIC),
    "OMD, `Entropic`": (lambda S, x: oracles.OMD(S, eta=0.1, mirror=oracles.Entropic()), VECTORS),
    "OMD, `BinaryEntropic`": (lambda S, x: oracles.OMD(S, 0.1, oracles.BinaryEntropic()), BASIC[1:]),
    "FTRL": (lambda S, x: oracles.FTRL(S, eta=0.1), BASIC),
    "SoloFTRL": (lambda S, x: oracles.SoloFTRL(S), BASIC),
    "OptimisticOMD": (lambda S, x: oracles.OptimisticOMD(S, eta=0.1), BASIC),
    "CoinBetting": (lambda S, x: oracles.CoinBetting(S), BASIC),
    "FrankWolfe": (lambda S, x: oracles.FrankWolfe(S, eta=0.1), BASIC),
    "AdaGrad": (lambda S, x: oracles.AdaGrad(S), VECTORS),
    "FullAdaGrad": (lambda S, x: oracles.FullAdaGrad(S), BASIC),
    "Product": (product, ("Box",)),
    "OverOracles": (lambda S, x: oracles.OverOracles([oracles.Constant(), oracles.OGD(S)]), ("Box", "Fantope")),
    "Compared": (lambda S, x: oracles.Compared(oracles.OGD(S), [Identity()]), ("Box",)),
}


def grids(name, kind):
    """The grids of a row, by axis: large where a step is linear, small where it forms matrices."""
    full = name == "FullAdaGrad"
    small = full or kind in MATRICES or kind in FACTORS
    if kind in FACTORS:
        first = 4096
    elif full and kind not in EXPERTS:
        first = 4 if kind in MATRICES else 128
    else:
        first = 128 if kind in MATRICES else 2**15
    d = doubled(first, 4 if kind in FACTORS else 2)
    axes = {"d": [(n, Size(d=n)) for n in d]}
    each = 4 if full else 1024 if kind in FACTORS else 64
    axes["replications"] = [(n, Size(d=each, R=n)) for n in doubled(64 if full else 8 if small else 256)]
    if kind in EXPERTS:
        axes["K"] = [(n, Size(d=1024, K=n)) for n in doubled(128 if full else 16)]
    if not small:
        axes["block size"] = [(n, Size(d=0, blocks=(4, n))) for n in doubled(2**14)]
        axes["blocks"] = [(n, Size(d=0, blocks=(n, 1024))) for n in doubled(8)]
    return axes


def doubled(first, factor=2):
    return [first * factor**i for i in range(4)]


def prepared(make, kind, size):
    """The update, a sample and a state after two rounds."""
    rng = np.random.default_rng(0)
    if size.blocks is not None:
        s = Blocks(tuple(rng.normal(size=size.blocks[1]) for _ in range(size.blocks[0])))
    else:
        s = rng.normal(size=(size.R, size.d) if size.R > 1 else size.d)
    conversion = SmoothConversion(make(SETS[kind](s, size.K) if kind in SETS else None, s), CONSTANTS)
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


def measured(make, kind, grid):
    cases = [prepared(make, kind, size) for _, size in grid]
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
    for name in names or ORACLES:
        make, kinds = ORACLES[name]
        for kind in kinds:
            found = {axis: measured(make, kind, grid) for axis, grid in grids(name, kind).items()}
            top = found.pop("d")
            time_of_d = f"{top.power(top.seconds):.1f}, {top.last(top.seconds):.1f}"
            largest = f"{1e3 * top.seconds[-1]:.3g} ms at {top.sizes[-1]}"
            cells = [name, kind, time_of_d, largest, top.numbers(top.kept), top.numbers(top.peak)]
            for axis in AXES:
                g = found.get(axis)
                cells.append(f"{g.power(g.seconds):.1f}, {g.power(g.peak):.1f}" if g else "")
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
