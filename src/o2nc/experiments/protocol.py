"""The evaluation protocol: one method on one objective for some replications, round by round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _xp
from .._xp import Array
from ..vectors import inner
from . import backends
from .backends import numbers
from .methods import Method, method
from .noise import places, signs
from .objectives import Objective, objective
from .objectives.draw import noise_of
from .paper import ITERATIONS, T_RUN
from .record import Floats, Record, moments
from .side_by_side import SideBySide

BLOCK = 50  # rounds played at once; it divides 3000 and 20000, so that JAX compiles one length
DRAWS = 8  # blocks whose signs are drawn at once: one byte a sign, and setting up a stream costs as much as a block


@dataclass(frozen=True)
class Cell:
    r"""The unit of work: some methods on an objective for the replications start .. stop - 1, with the same noise.

    Args:
        objective: "f1" to "f8".
        methods: keys of `METHODS`.
        start: the first replication.
        stop: the one after the last.
        iterations: the rounds to run; the constants are those of the horizon 20000 whatever it is.
        seed: of the noise, which depends on (seed, objective, replication, round) alone.
        backend: numpy, torch or jax.
        dtype: float64 or float32.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> record = run(Cell("f4", ("sgd",), start=0, stop=2, iterations=10))["sgd"]
    >>> print(f"{record.mean['gap'][0]:.4f}", record.checkpoints)
    0.5000 [ 1 10]
    """

    objective: str
    methods: tuple[str, ...]
    start: int
    stop: int
    iterations: int = ITERATIONS
    seed: int = 0
    backend: str = "numpy"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        objective(self.objective)
        for name in self.methods:
            method(name)
        if not 0 <= self.start < self.stop:
            raise ValueError(
                f"`stop` must be larger than `start`, and `start` at least 0; got {self.start, self.stop}."
            )
        if not 1 <= self.iterations <= T_RUN:
            raise ValueError(
                f"`iterations` must be at least 1 and at most the declared horizon {T_RUN}; got {self.iterations}."
            )

    @property
    def name(self) -> str:
        """What the cell is called in files and messages."""
        return f"seed{self.seed}-{self.objective}-{'+'.join(self.methods)}-{self.start}-{self.stop}"

    def run(self) -> dict[str, Record]:
        """The records of the cell by method."""
        return run(self)


def checkpoints(iterations: int) -> NDArray[np.int64]:
    """1, 10, 100, 300, every thousandth iteration, and the last.

    >>> checkpoints(2500)
    array([   1,   10,  100,  300, 1000, 2000, 2500])
    """
    wanted = {1, 10, 100, 300, *range(1000, iterations + 1, 1000), iterations}
    return np.asarray(sorted(t for t in wanted if t <= iterations), dtype=np.int64)


def run(cell: Cell, block: int = BLOCK) -> dict[str, Record]:
    r"""Run a cell: in round t evaluate gap and gradient at $W_t$, record, add the noise, and update.

    $W_{3000}$ is the iterate after 2999 updates. The result does not depend on ``block``.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> a, b = (run(Cell("f4", ("hedge",), 0, 2, iterations=6), block=k)["hedge"] for k in (2, 5))
    >>> bool((a.mean["gap"] == b.mean["gap"]).all())
    True
    """
    methods = [method(name) for name in cell.methods]
    return play(objective(cell.objective), methods, cell, block)


def play(f: Objective, methods: Sequence[Method], cell: Cell, block: int = BLOCK) -> dict[str, Record]:
    """Run any methods on any objective with the noise, replications and rounds of ``cell``.

    Reference: Numerical Experiments, the evaluation protocol.
    """
    replications = range(cell.start, cell.stop)
    with backends.mode(cell.backend, cell.dtype) as like:
        groups = [_Group(f, some, like, cell.iterations, len(replications)) for some in _alike(methods)]
        squares = np.zeros(len(replications))
        for t in range(0, cell.iterations, block):
            drawn = t % (DRAWS * block)
            if drawn == 0:
                epsilon = signs(cell.seed, f.name, replications, t, min(DRAWS * block, cell.iterations - t), f.d)
            noise = noise_of(f, backends.array(epsilon[drawn : drawn + block], like), t)
            squares += numbers(inner(noise, noise)).sum(axis=0)
            for group in groups:
                if group.uniform:
                    r = places(cell.seed, f.name, replications, t, noise.shape[0])
                    group.play(t, noise, backends.array(r, like))
                else:
                    group.play(t, noise)
        records: dict[str, Record] = {}
        for group in groups:
            records |= group.records(np.asarray(replications), squares)
    return {one.name: records[one.name] for one in methods}


def _alike(methods: Sequence[Method]) -> list[list[Method]]:
    """The methods in groups that can share a conversion: each baseline alone, the trackers by their loss."""
    groups: dict[Any, list[Method]] = {}
    for one in methods:
        groups.setdefault((one.kappa, one.r) if one.oracle else one.name, []).append(one)
    return list(groups.values())


def _round(f: Objective, conversion: Any, learners: Sequence[int]) -> backends.Round:
    """A round as a pure function; it records gap, squared gradient, regret and the weights of P that learners play."""

    def play_round(carry: Any, noise: Array, r: Array | None = None) -> tuple[Any, tuple[Array, ...]]:
        x, state = carry
        gap, g = f.gap_and_gradient(x)
        dx, after = conversion.update(g + noise, state, x, r=r)
        record = [gap, inner(g, g)]
        if isinstance(getattr(conversion, "oracle", None), SideBySide):
            oracles = conversion.oracle.oracles
            record += [after.regret, *(oracles[k].weights(state.oracle[k])[..., 1:] for k in learners)]
        return (x + dx, after), tuple(record)

    return play_round


class _Group:
    """Methods that share a conversion while they run, (K, R, d), and what was recorded of each so far."""

    def __init__(self, f: Objective, methods: Sequence[Method], like: Array, iterations: int, R: int) -> None:
        self.f, self.methods, self.R = f, methods, R
        self.oracles = tuple(one.oracle(f, like) for one in methods if one.oracle)
        self.conversion: Any = methods[0].conversion(f, like)
        if self.oracles:
            self.conversion = methods[0].around(SideBySide(self.oracles), f.constants(T_RUN))
        self.uniform = methods[0].r is None
        x = f.start(like) + _xp.zeros((len(methods), R, f.d), like)
        self.carry: Any = (x, self.conversion.init(x))
        weighs = [
            hasattr(oracle, "weights") and one.weight is None
            for oracle, one in zip(self.oracles, methods, strict=False)
        ]
        self.learners = [k for k, yes in enumerate(weighs) if yes]
        self.play_block = backends.loop(_round(f, self.conversion, self.learners), like)
        self.ledgers = [_Ledger(iterations, R) for _ in methods]

    def play(self, t: int, *drawn: Array) -> None:
        """The rounds after ``t`` with their noise, (rounds, R, d), and with r of the next samples if it is uniform."""
        self.carry, (gap, instant, *rest) = self.play_block(self.carry, *drawn)
        shared = {"gap": numbers(gap), "instant": numbers(instant)}
        if self.oracles:
            shared["regret"] = numbers(rest[0])
        for k, (one, ledger) in enumerate(zip(self.methods, self.ledgers, strict=True)):
            block = {metric: np.ascontiguousarray(values[:, k]) for metric, values in shared.items()}
            if one.weight is not None:
                block["weight"] = np.full((len(block["gap"]), self.R), one.weight)
            elif k in self.learners:
                block["weight"] = numbers(rest[1 + self.learners.index(k)])
            ledger.add(t, block)

    def records(self, replications: NDArray[np.int64], noise: Floats) -> dict[str, Record]:
        """All that is kept of each method, once the last round is over."""
        x, state = self.carry
        sums = {name: numbers(getattr(state, name)) for name in ("Q", "N", "W", "clipped") if self.oracles}
        sums["final_gap"] = numbers(self.f.gap(x))
        found = {}
        for k, (one, ledger) in enumerate(zip(self.methods, self.ledgers, strict=True)):
            own = {name: values[k] for name, values in sums.items()} | {"noise": noise}
            found[one.name] = Record(replications, ledger.mean, ledger.M2, ledger.checkpoints, ledger.values, own)
        return found


class _Ledger:
    """The moments and checkpoints of one method while it runs."""

    def __init__(self, iterations: int, R: int) -> None:
        self.iterations, self.R = iterations, R
        self.checkpoints = checkpoints(iterations)
        self.mean: dict[str, Floats] = {}
        self.M2: dict[str, Floats] = {}
        self.values: dict[str, Floats] = {}
        self.total = np.zeros(R)  # of the squared gradients so far

    def add(self, t: int, block: dict[str, Floats]) -> None:
        """Take in the (rounds, R) records of the rounds after ``t``."""
        cumulative = np.cumsum(np.concatenate([self.total[None], block["instant"]]), axis=0)[1:]
        self.total, stop = cumulative[-1], t + len(cumulative)
        block["average"] = cumulative / np.arange(t + 1, stop + 1)[:, None]
        inside = (self.checkpoints > t) & (self.checkpoints <= stop)
        for metric, values in block.items():
            if metric not in self.mean:
                self.mean[metric], self.M2[metric] = np.empty(self.iterations), np.empty(self.iterations)
                self.values[metric] = np.empty((len(self.checkpoints), self.R))
            self.mean[metric][t:stop], self.M2[metric][t:stop] = moments(values)
            self.values[metric][inside] = values[self.checkpoints[inside] - t - 1]
