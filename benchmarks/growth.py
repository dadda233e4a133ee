"""How a step grows with the dimension, the experts, the replications and the blocks, for every oracle and every set.

A step is `SmoothConversion.update` on float64 NumPy arrays. Each size of a grid is twice the one before. Printed are the
exponents of time (CPU, medians of interleaved repetitions) and of memory (the peak of one step beyond what it was given,
by tracemalloc, which does not see the workspace of LAPACK), least squares on logarithms, as the tables of the page
"How the cost grows". Run: python benchmarks/growth.py [name of an oracle ...]
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

from o2nc import Blocks, Smooth, SmoothConversion, oracles
from o2nc.directions import RMS, Momentum, Sign
from o2nc.operators import Diagonal, Identity
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall, Varying
from o2nc.states import leaves
from o2nc.vectors import apply

CONSTANTS = Smooth(M=8.0, beta=1.0, sigma=0.5, T=100)
SIZES, REPEATS, LEAST = 4, 5, 2e-3  # sizes of a grid, repetitions, seconds of one


class Size(NamedTuple):
    """What grows; ``blocks`` is (how many, of which size), or nothing for an array."""

    d: int
    K: int = 3
    R: int = 1
    blocks: tuple[int, int] | None = None


def hull(x, K):
    half = apply(lambda a: np.full(a.shape if isinstance(x, Blocks) else a.shape[-1:], 0.5), x)
    return Hull((Identity(), *(Diagonal(half) for _ in range(K - 1))))


def varying(x, K):
    fixed = hull(x, K)
    return Varying(lambda t: fixed, holds_identity=True)


# a set from a vector and K
SETS = {
    "Hull": hull,
    "Varying": varying,
    "Box": lambda x, K: Box(),
    "PositiveContractions": lambda x, K: PositiveContractions(),
    "SpectralBall": lambda x, K: SpectralBall(),
}
EXPERTS = ("Hull", "Varying")
MATRICES = ("PositiveContractions", "SpectralBall")
VECTORS = (*EXPERTS, "Box")
NONE = ("no set",)
# an oracle from a set, and the sets that it is measured on
ORACLES = {
    "Constant": (lambda S: oracles.Constant(), NONE),
    "Hedge": (lambda S: oracles.Hedge(S), EXPERTS),
    "AdaHedge": (lambda S: oracles.AdaHedge(S), EXPERTS),
    "Squint": (lambda S: oracles.Squint(S, scale=2.0), EXPERTS),
    "OptimisticHedge": (lambda S: oracles.OptimisticHedge(S), EXPERTS),
    "FixedShare": (lambda S: oracles.FixedShare(S), EXPERTS),
    "DiscountedHedge": (lambda S: oracles.DiscountedHedge(S), EXPERTS),
    "ShortMemoryHedge": (lambda S: oracles.ShortMemoryHedge(S), EXPERTS),
    "Adaptive": (lambda S: oracles.Adaptive([Momentum(), RMS(), Sign()]), NONE),
    "OGD": (lambda S: oracles.OGD(S), SETS),
    "OMD": (lambda S: oracles.OMD(S, eta=0.1), SETS),
    "OMD, entropic": (lambda S: oracles.OMD(S, eta=0.1, mirror=oracles.Entropic()), VECTORS),
    "FTRL": (lambda S: oracles.FTRL(S, eta=0.1), SETS),
    "SoloFTRL": (lambda S: oracles.SoloFTRL(S), SETS),
    "OptimisticOMD": (lambda S: oracles.OptimisticOMD(S, eta=0.1), SETS),
    "AdaGrad": (lambda S: oracles.AdaGrad(S), VECTORS),
    "FullAdaGrad": (lambda S: oracles.FullAdaGrad(S), SETS),
    "Compared": (lambda S: oracles.Compared(oracles.OGD(S), [Identity()]), ("Box",)),
}


def grids(name, kind):
    """The grids of a row, by axis: whether coordinates are matrices, and whether the oracle keeps a matrix of them."""
    full = name == "FullAdaGrad"
    first = {(False, False): 15, (False, True): 5, (True, False): 5, (True, True): 2}[kind in MATRICES, full]
    d = 15 if kind in EXPERTS else first
    steps = range(SIZES)
    found = {"d": [Size(d=2 ** (d + i)) for i in steps]}
    small, rows = (2 ** min(first, 6), 6 if first > 5 else 3) if not full else (4, 3)
    found["replications"] = [Size(d=small, R=2 ** (rows + i)) for i in steps]
    if kind in EXPERTS:
        found["K"] = [Size(d=1024, K=2 ** ((4 if full else 5) + i)) for i in steps]
    if kind not in MATRICES and not full:
        found["block size"] = [Size(d=0, blocks=(4, 2 ** (13 + i))) for i in steps]
        found["blocks"] = [Size(d=0, blocks=(2 ** (4 + i), 1024)) for i in steps]
    return found


def prepared(make, kind, size):
    """The update, a sample and a state after two rounds."""
    rng = np.random.default_rng(0)
    if size.blocks is not None:
        s = Blocks(tuple(rng.normal(size=size.blocks[1]) for _ in range(size.blocks[0])))
    else:
        s = rng.normal(size=(size.R, size.d) if size.R > 1 else size.d)
    operators = SETS[kind](s, size.K) if kind in SETS else None
    conversion = SmoothConversion(make(operators), CONSTANTS)
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

    seconds: list[float]
    peak: list[float]  # bytes
    kept: list[float]  # bytes of the state


def measured(make, kind, sizes):
    cases = [prepared(make, kind, size) for size in sizes]
    counts = [max(1, math.ceil(LEAST / max(seconds(*case, 1), 1e-6))) for case in cases]
    times = [[seconds(*case, count) for case, count in zip(cases, counts, strict=True)] for _ in range(REPEATS)]
    kept = [float(sum(a.nbytes for _, a in leaves(state))) for _, _, state in cases]
    return Grid([statistics.median(t) for t in zip(*times, strict=True)], [peak(*case) for case in cases], kept)


def exponent(values):
    """The slope of the logarithms to base 2."""
    return float(np.polyfit(range(len(values)), np.log2(values), 1)[0])


def in_words(values, d):
    """Bytes as a multiple of a power of d, from the last of the grid."""
    power = round(exponent(values))
    number = values[-1] / 8 / d**power
    return f"{number:.1f}" + (f" d^{power}" if power > 1 else " d" if power else "")


def main(names):
    first, second = [], []
    for name in names or ORACLES:
        make, kinds = ORACLES[name]
        for kind in kinds:
            sizes = grids(name, kind)
            found = {axis: measured(make, kind, grid) for axis, grid in sizes.items()}
            top, d = found["d"], sizes["d"][-1].d
            first.append(
                f"| {name} | {kind} | {exponent(top.seconds):.2f} | {1e3 * top.seconds[-1]:.2f} | {d} "
                f"| {in_words(top.kept, d)} | {in_words(top.peak, d)} |"
            )
            cells = [
                f"{exponent(found[axis].seconds):.2f}, {exponent(found[axis].peak):.2f}" if axis in found else ""
                for axis in ("K", "replications", "block size", "blocks")
            ]
            second.append(f"| {name} | {kind} | {' | '.join(cells)} |")
            print(first[-1], second[-1], file=sys.stderr)
    print("| oracle | set | time as d to the power | ms | at d | state, numbers | peak, numbers |")
    print("|---|---|---|---|---|---|---|", *first, sep="\n")
    print("\n| oracle | set | K | replications | block size | blocks |")
    print("|---|---|---|---|---|---|", *second, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
