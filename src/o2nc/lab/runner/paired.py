"""Paired runs: any methods on a smooth objective with the same noise, round by round."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _xp
from ..._xp import Array
from ...conversions import Conversion, SegmentConversion, SmoothConversion
from ...conversions.base import check_can_have
from ...losses import Loss
from ...operators import Operator
from ...oracles import Oracle
from ...oracles.base import weights_of
from ...rivals import SGD
from ...vectors import inner
from ..objectives.smooth import Objective
from . import backends
from .backends import numbers
from .noise import places
from .records import Floats, Record, moments

HORIZON = 20000  # the T of all constants, the paper's T_run, however many rounds are run
BLOCK = 50  # rounds played at once; it divides 3000 and 20000, so that JAX compiles one length
DRAWS = 8  # blocks whose signs are drawn at once: one byte a sign, and setting up a stream costs as much as a block
SUMS = ("Q", "N", "W", "clipped")  # of a conversion, that are kept


@dataclass(frozen=True)
class Method:
    r"""A column of an experiment: a name, what it is called in print, and a conversion for an objective.

    Args:
        name: the key of the method in tables and files.
        label: the words for tables and figures.
        oracle: the oracle for an objective and an array of the wanted library; None for a baseline without one.
        weight: the weight of the projector P that the method plays in every round; None if it moves or there is none.
        kappa: the factor of the descent loss; 0 for the paper's linear loss.
        r: where on the step the sample is taken, from 0, the paper's start, to 1, the end; None for uniform.
        convert: the conversion around an oracle, for an objective and a number of rounds; None for Algorithm 1 with
            the paper's constants, whatever the rounds, and with kappa and r.
        baseline: the conversion without an oracle, for an objective and a number of rounds; None for SGD with the
            paper's step size.

    Reference: Numerical Experiments, the stochastic oracle and Hedge experts.

    >>> from o2nc.lab.objectives import objective
    >>> print(f"{Method('sgd', 'SGD', None).conversion(objective('f4'), np.zeros(1)).eta:.5e}")
    3.87749e-04
    """

    name: str
    label: str
    oracle: Callable[[Objective, Array], Oracle] | None
    weight: float | None = None
    kappa: float = 0.0
    r: float | None = 0.0
    convert: Callable[[Oracle, Objective, int], SmoothConversion] | None = None
    baseline: Callable[[Objective, int], Conversion] | None = None

    def conversion(self, f: Objective, like: Array, rounds: int = HORIZON) -> Conversion:
        """The method on ``f``, with arrays of the library, dtype and device of ``like``."""
        if self.oracle is None:
            return SGD(f.constants(HORIZON).eta) if self.baseline is None else self.baseline(f, rounds)
        return self.around(self.oracle(f, like), f, rounds)

    def around(self, oracle: Oracle, f: Objective, rounds: int) -> SmoothConversion:
        """The conversion of this method around ``oracle``, which may be another than its own."""
        if self.convert is not None:
            return self.convert(oracle, f, rounds)
        constants = f.constants(HORIZON)
        if self.r == 0:
            return SmoothConversion(oracle, constants, kappa=self.kappa)
        return SegmentConversion(oracle, constants, r=self.r, kappa=self.kappa)


@dataclass(frozen=True, eq=False)
class Side:
    r"""The operators $U_1,\dots,U_K$ on an array of shape (K, ..., d): $U_k$ acts on the slice k.

    Args:
        operators: one a slice.

    Reference: the controls of the experiments.

    >>> from o2nc.operators import Diagonal, Identity
    >>> Side((Identity(), Diagonal(np.zeros(2)))) @ np.ones((2, 2))
    array([[1., 1.],
           [0., 0.]])
    """

    operators: tuple[Operator, ...]

    def __matmul__(self, v: Array) -> Array:
        return _xp.namespace(v).stack([U @ v[k, ...] for k, U in enumerate(self.operators)])


@dataclass(frozen=True, eq=False)
class SideBySide:
    r"""Oracles side by side for arrays of shape (K, ..., d): each sees and plays its own slice only.

    One tracker update then serves all of them: K small batches cost more than one large one.

    Args:
        oracles: one a slice.

    Reference: the controls of the experiments.

    >>> from o2nc.oracles import Constant
    >>> SideBySide((Constant(), Constant())).init(np.zeros((2, 3)))
    (ConstantState(), ConstantState())
    """

    oracles: tuple[Oracle, ...]

    def init(self, x: Array) -> tuple[Any, ...]:
        """The states of all."""
        return tuple(oracle.init(x[k, ...]) for k, oracle in enumerate(self.oracles))

    def play(self, state: tuple[Any, ...], m: Array) -> Operator:
        """Each plays for its slice of m."""
        return Side(tuple(oracle.play(state[k], m[k, ...]) for k, oracle in enumerate(self.oracles)))

    def learn(self, state: tuple[Any, ...], loss: Loss) -> tuple[Any, ...]:
        """Each learns from its slice of the loss."""
        return tuple(
            oracle.learn(state[k], loss.restricted(lambda v, k=k: v[k, ...]))  # type: ignore[misc]
            for k, oracle in enumerate(self.oracles)
        )

    def weights(self, state: tuple[Any, ...]) -> Array | None:
        """The weight of each one's last expert, (K, ..., 1), NaN where an oracle has none; None if none of them has."""
        each = [weights_of(oracle, own) for oracle, own in zip(self.oracles, state, strict=True)]
        last = [weights[..., -1:] for weights in each if weights is not None]
        if not last:
            return None
        none = math.nan * last[0]
        return _xp.namespace(none).stack([none if weights is None else weights[..., -1:] for weights in each])


def checkpoints(iterations: int) -> NDArray[np.int64]:
    """1, 10, 100, 300, every thousandth iteration, and the last.

    >>> checkpoints(2500)
    array([   1,   10,  100,  300, 1000, 2000, 2500])
    """
    wanted = {1, 10, 100, 300, *range(1000, iterations + 1, 1000), iterations}
    return np.asarray(sorted(t for t in wanted if t <= iterations), dtype=np.int64)


def play(
    f: Objective,
    methods: Sequence[Method],
    replications: Sequence[int],
    iterations: int,
    seed: int = 0,
    backend: str = "numpy",
    dtype: str = "float64",
    block: int = BLOCK,
) -> dict[str, Record]:
    r"""Run the methods: in round t evaluate gap and gradient at $W_t$, record, add the noise, and update.

    $W_{3000}$ is the iterate after 2999 updates. The result does not depend on ``block``.

    Args:
        f: the objective.
        methods: what to run.
        replications: their numbers.
        iterations: the rounds to run; the paper's constants are those of the horizon 20000 whatever it is.
        seed: of the noise, which depends on (seed, objective, replication, round) alone.
        backend: numpy, torch or jax.
        dtype: float64 or float32.
        block: rounds played at once.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> from o2nc.lab.objectives import objective
    >>> record = play(objective("f4"), [Method("sgd", "SGD", None)], range(2), iterations=10)["sgd"]
    >>> print(f"{record.mean['gap'][0]:.4f}", record.checkpoints)
    0.5000 [ 1 10]
    """
    with backends.mode(backend, dtype) as like:
        groups = [_Group(f, some, like, iterations, len(replications)) for some in _alike(methods)]
        squares = np.zeros(len(replications))
        for t in range(0, iterations, block):
            drawn = t % (DRAWS * block)
            if drawn == 0:
                epsilon = f.coins(seed, replications, t, min(DRAWS * block, iterations - t))
            noise = f.noise_of(_xp.from_numpy(epsilon[drawn : drawn + block], like), t)
            if f.additive:
                squares += numbers(inner(noise, noise)).sum(axis=0)
            for group in groups:
                r = places(seed, f.name, replications, t, noise.shape[0]) if group.uniform else None
                group.play(t, noise, *([] if r is None else [_xp.from_numpy(r, like)]))
        records: dict[str, Record] = {}
        for group in groups:
            records |= group.records(np.asarray(replications), squares)
    return {one.name: records[one.name] for one in methods}


def _alike(methods: Sequence[Method]) -> list[list[Method]]:
    """The methods in groups that can share a conversion: each baseline alone, the trackers by their loss."""
    groups: dict[Any, list[Method]] = {}
    for one in methods:
        groups.setdefault((one.kappa, one.r, one.convert) if one.oracle else one.name, []).append(one)
    return list(groups.values())


class _Group:
    """Methods that share a conversion while they run, (K, R, d), and what was recorded of each so far."""

    def __init__(self, f: Objective, methods: Sequence[Method], like: Array, iterations: int, R: int) -> None:
        self.f, self.methods = f, methods
        if methods[0].oracle is None:
            self.conversion = methods[0].conversion(f, like, iterations)
        else:
            oracles = SideBySide(tuple(one.oracle(f, like) for one in methods if one.oracle))
            self.conversion = methods[0].around(oracles, f, iterations)
        # All iterates are looked at, so no output is drawn: `init` needs no tau.
        check_can_have(self.conversion, frozenset({"x", "r", "tau"}), "a paired run")
        self.uniform = "r" in self.conversion.needs
        x = f.start(like) + _xp.zeros((len(methods), R, f.d), like)
        self.carry: Any = (x, self.conversion.init(x))
        self.play_block = backends.loop(self._round, like)
        self.ledgers = [_Ledger(iterations, R) for _ in methods]
        self.noise = np.zeros((len(methods), R))  # the squares of the noise, if it depends on the point

    def _round(self, carry: Any, noise: Array, r: Array | None = None) -> tuple[Any, dict[str, Array]]:
        """A round as a pure function; it records gap, squared gradient, and regret and weights, if there are any."""
        x, state = carry
        gap, g = self.f.gap_and_gradient(x)
        s = self.f.sample(x, g, noise)
        dx, after = self.conversion.update(s, state, x, r=r)
        sums, weights = self.conversion.sums(after), self.conversion.weights(state)
        found = {"gap": gap, "instant": inner(g, g)}
        found |= {name: sums[name] for name in ("regret",) if name in sums}
        found |= {} if self.f.additive else {"noise": inner(s - g, s - g)}
        return (x + dx, after), found if weights is None else found | {"weight": weights[..., -1:]}

    def play(self, t: int, *drawn: Array) -> None:
        """The rounds after ``t`` with their noise, (rounds, R, d), and with r of the next samples if it is uniform."""
        self.carry, found = self.play_block(self.carry, *drawn)
        metrics = {name: numbers(values) for name, values in found.items()}
        if not self.f.additive:
            self.noise += metrics.pop("noise").sum(axis=0)
        for k, (one, ledger) in enumerate(zip(self.methods, self.ledgers, strict=True)):
            block = {metric: np.ascontiguousarray(values[:, k]) for metric, values in metrics.items()}
            if one.weight is not None:
                block["weight"] = np.full_like(block["gap"], one.weight)
            elif "weight" in block and np.isnan(block["weight"]).any():
                del block["weight"]
            ledger.add(t, block)

    def records(self, replications: NDArray[np.int64], noise: Floats) -> dict[str, Record]:
        """All that is kept of each method, once the last round is over."""
        x, state = self.carry
        sums = {name: numbers(v) for name, v in self.conversion.sums(state).items() if name in SUMS}
        sums["final_gap"] = numbers(self.f.gap(x))
        found = {}
        for k, (one, ledger) in enumerate(zip(self.methods, self.ledgers, strict=True)):
            squares = noise if self.f.additive else self.noise[k]
            own = {name: values[k] for name, values in sums.items()} | {"noise": squares}
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
