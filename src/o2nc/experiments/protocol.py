"""The evaluation protocol: one method on one objective for some replications, round by round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _xp
from .._xp import Array
from ..conversions import Conversion
from ..vectors import inner
from . import backends
from .backends import numbers
from .methods import Method, method
from .noise import signs
from .objectives import Objective, objective
from .paper import ITERATIONS
from .record import Floats, Record, moments

BLOCK = 50  # rounds played at once; it divides 3000 and 20000, so that JAX compiles one length
DRAWS = 8  # blocks whose signs are drawn at once: one byte a sign, and setting up a stream costs as much as a block


@dataclass(frozen=True)
class Cell:
    r"""The unit of work: some methods on an objective for the replications start .. stop - 1, with the same noise.

    Args:
        objective: "f1" to "f4".
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
        if self.iterations < 1:
            raise ValueError(f"`iterations` must be at least 1; got {self.iterations}.")

    @property
    def name(self) -> str:
        """What the cell is called in files and messages."""
        return f"seed{self.seed}-{self.objective}-{'+'.join(self.methods)}-{self.start}-{self.stop}"


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
        runs = [_Run(f, one, like, cell.iterations, len(replications)) for one in methods]
        squares = np.zeros(len(replications))
        for t in range(0, cell.iterations, block):
            drawn = t % (DRAWS * block)
            if drawn == 0:
                epsilon = signs(cell.seed, f.name, replications, t, min(DRAWS * block, cell.iterations - t), f.d)
            noise = f.noise(backends.array(epsilon[drawn : drawn + block], like))
            squares += numbers(inner(noise, noise)).sum(axis=0)
            for one in runs:
                one.play(t, noise)
        return {one.method.name: one.record(np.asarray(replications), squares) for one in runs}


def _round(f: Objective, conversion: Conversion) -> backends.Round:
    """A round as a pure function; it records gap and squared gradient, the regret and the losses of Hedge's experts."""

    def play_round(carry: Any, noise: Array) -> tuple[Any, tuple[Array, ...]]:
        x, state = carry
        gap, g = f.gap_and_gradient(x)
        dx, after = conversion.update(g + noise, state, x)
        record = [gap, inner(g, g)]
        if hasattr(state, "regret"):
            record.append(after.regret)
            if hasattr(state.oracle, "C"):
                record.append(state.oracle.C)  # from which the weights of this round are played
        return (x + dx, after), tuple(record)

    return play_round


class _Run:
    """One method while it runs: the iterates of all replications, and what was recorded so far."""

    def __init__(self, f: Objective, method: Method, like: Array, iterations: int, R: int) -> None:
        self.f, self.method, self.iterations, self.R = f, method, iterations, R
        self.conversion: Any = method.conversion(f, like)
        x = f.start(like) + _xp.zeros((R, f.d), like)
        self.carry = (x, self.conversion.init(x))
        self.play_block = backends.loop(_round(f, self.conversion), like)
        self.checkpoints = checkpoints(iterations)
        self.mean: dict[str, Floats] = {}
        self.M2: dict[str, Floats] = {}
        self.values: dict[str, Floats] = {}
        self.total = np.zeros(R)  # of the squared gradients so far

    def play(self, t: int, noise: Array) -> None:
        """The rounds after ``t`` with their noise, (rounds, R, d)."""
        self.carry, (gap, instant, *rest) = self.play_block(self.carry, noise)
        block = {"gap": numbers(gap), "instant": numbers(instant)}
        cumulative = np.cumsum(np.concatenate([self.total[None], block["instant"]]), axis=0)[1:]
        self.total, rounds = cumulative[-1], len(cumulative)
        block["average"] = cumulative / np.arange(t + 1, t + rounds + 1)[:, None]
        if self.method.oracle:
            block["regret"] = numbers(rest[0])
        if self.method.weight is not None:
            block["weight"] = np.full((rounds, self.R), self.method.weight)
        elif rest[1:]:
            weights = self.conversion.oracle.weights(self.carry[1].oracle._replace(C=rest[1]))
            block["weight"] = numbers(weights[..., 1:])
        for metric, values in block.items():
            self._keep(metric, t, values)

    def _keep(self, metric: str, t: int, values: Floats) -> None:
        if metric not in self.mean:
            self.mean[metric], self.M2[metric] = np.empty(self.iterations), np.empty(self.iterations)
            self.values[metric] = np.empty((len(self.checkpoints), self.R))
        stop = t + len(values)
        self.mean[metric][t:stop], self.M2[metric][t:stop] = moments(values)
        inside = (self.checkpoints > t) & (self.checkpoints <= stop)
        self.values[metric][inside] = values[self.checkpoints[inside] - t - 1]

    def record(self, replications: NDArray[np.int64], noise: Floats) -> Record:
        """All that is kept, once the last round is over."""
        x, state = self.carry
        sums = {name: numbers(getattr(state, name)) for name in ("Q", "N", "W", "clipped") if self.method.oracle}
        sums |= {"noise": noise, "final_gap": numbers(self.f.gap(x))}
        return Record(replications, self.mean, self.M2, self.checkpoints, self.values, sums)
