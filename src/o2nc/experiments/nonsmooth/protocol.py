"""One objective, some methods, some replications: the rounds, and what is kept of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stationarity import mix, point
from ..noise import uniforms
from ..objectives.nonsmooth import nonsmooth_objective
from ..record import Floats, Record, moments
from .methods import ALGORITHM2, Played, method
from .observer import Observer, norms
from .window import Window

BLOCK = 50  # rounds whose random numbers are drawn at once
HELD_OUT = ("held out 1", "held out 2")  # samples that no method sees
KEPT = 200  # rounds at which running numbers are kept, about


@dataclass(frozen=True)
class NonsmoothCell:
    r"""The unit of work: some methods with one factor of the step on an objective, replications start .. stop - 1.

    Args:
        objective: a key of `NONSMOOTH`.
        methods: keys of `METHODS`.
        start: the first replication.
        stop: the one after the last.
        T: the horizon, for which the constants are tuned.
        lam: the weight of the spread.
        factor: of the step length that the method prescribes.
        seed: of all that is random.

    Reference: Algorithm 2.

    >>> cell = NonsmoothCell("bowl", ("sgd",), start=0, stop=2, T=100)
    >>> record = cell.run()["sgd"]
    >>> bool((record.sums["sharper"] <= record.sums["measure_tau"]).all())
    True
    """

    objective: str
    methods: tuple[str, ...]
    start: int
    stop: int
    T: int = 1000
    lam: float = 1.0
    factor: float = 1.0
    seed: int = 0

    @property
    def name(self) -> str:
        """What the cell is called in files and messages."""
        which = f"seed{self.seed}-{self.objective}-{'+'.join(self.methods)}"
        return f"{which}-T{self.T}-x{self.factor:g}-{self.start}-{self.stop}"

    def run(self) -> dict[str, Record]:
        """The records of the cell by method."""
        return _Run(self).records()


def kept_rounds(T: int) -> NDArray[np.int64]:
    """The rounds at which running numbers are kept: the first, evenly many, and the last.

    >>> kept_rounds(4)
    array([1, 2, 3, 4])
    """
    return np.unique(np.concatenate([[1], np.linspace(1, T, KEPT).round().astype(np.int64)]))


class _Run:
    """The methods side by side: one evaluation of the objective for all of them, (K, R, d), one update for each."""

    def __init__(self, cell: NonsmoothCell) -> None:
        self.cell, self.f = cell, nonsmooth_objective(cell.objective)
        self.replications = range(cell.start, cell.stop)
        self.c = self.f.constants(cell.T, cell.lam)
        self.played: list[Played] = [method(name).make(self.c, self.f.d, cell.factor) for name in cell.methods]
        self.share, self.law = (np.stack(rows) for rows in zip(*(one.output for one in self.played), strict=True))
        K, R, d = len(self.played), len(self.replications), self.f.d
        u = self._draw("tau", 0, 1, 1)[0, :, 0]
        self.tau = np.stack([one.output.tau(u) for one in self.played])  # (K, R)
        self.observers = {
            k: Observer(one.conversion.constants, R, d)  # type: ignore[attr-defined]
            for k, one in enumerate(self.played)
            if cell.methods[k] in ALGORITHM2
        }
        self.x = self.f.start(np.zeros(1)) + np.zeros((K, R, d))
        self.states = [self._start(k) for k in range(K)]
        self.W = point(self.x, np.zeros_like(self.x))
        self.window = Window(self.tau, d, cell.lam)
        self.kept = kept_rounds(cell.T)
        self.lines = {name: np.empty((K, len(self.kept), R)) for name in ("value", "measure", "regret")}
        self.sums = {name: np.zeros((K, R)) for name in ("measure", "gradient", "spread", "value")}

    def _draw(self, purpose: str, start: int, rounds: int, count: int) -> Floats:
        return uniforms(self.cell.seed, self.f.name, purpose, self.replications, start, rounds, count)

    def _start(self, k: int) -> Any:
        conversion: Any = self.played[k].conversion
        has_output = k in self.observers or hasattr(conversion, "tau")
        return conversion.init(self.x[k], tau=self.tau[k][:, None]) if has_output else conversion.init(self.x[k])

    def records(self) -> dict[str, Record]:
        """Play all rounds; the records by method."""
        for t, u, r, held_out in self._rounds():
            self._play(t, u, r, held_out)
        self.sums |= {"measure_tau": self.window.value, "tau": 1.0 * self.tau}
        self.sums["output"] = self.f.value_and_gradient(self.window.mean)[0][..., 0]
        if self.cell.factor == 1.0:  # some programs take a tenth of a second
            self.sums["sharper"] = self.window.sharper(self.share)
        return {name: self._record(k) for k, name in enumerate(self.cell.methods)}

    def _rounds(self) -> Iterator[tuple[int, Floats, Floats, Floats]]:
        """Every round with its random numbers: for the sample, the next place, and two samples that are held out."""
        for start in range(0, self.cell.T, BLOCK):
            rounds = min(BLOCK, self.cell.T - start)
            u, *two = (self._draw(name, start, rounds, self.f.draws) for name in ("sample", *HELD_OUT))
            r = self._draw("segment", start, rounds, 1)
            held_out = np.stack(two, axis=1)
            for j in range(rounds):
                yield start + j + 1, u[j], r[j], held_out[j]

    def _play(self, t: int, u: Floats, r: Floats, held_out: Floats) -> None:
        """Round ``t``: evaluate, sample, add to the witness, record, update."""
        x = self.x
        value, g = self.f.value_and_gradient(x)
        s = self.f.sample(x, u, g)
        self.W = mix(self.W, self.share[:, t - 1, None, None], point(x, g))
        self.window.see(t, x, g, self.W)
        gradient, spread, p = norms(self.W.g), self.W.spread[..., 0], self.law[:, t - 1, None]
        running = gradient + self.cell.lam * spread
        self.sums["measure"] += p * running
        self.sums["gradient"] += p * gradient
        self.sums["spread"] += p * spread
        self.sums["value"] += value[..., 0] / self.cell.T
        self.x = np.empty_like(x)
        for k, one in enumerate(self.played):
            dx, after = one.conversion.update(s[k], self.states[k], x[k], r=r)
            if k in self.observers:
                h = self.W.g[k] * (self.c.a / self.share[k, t - 1])  # h_{t+1} = c_t times the mean gradient
                two = np.stack([self.f.sample(x[k], v, g[k]) for v in held_out])
                self.observers[k].see(t, x[k], s[k], g[k], self.states[k], after, h, two)
            self.x[k], self.states[k] = x[k] + dx, after
        i = int(np.searchsorted(self.kept, t))
        if self.kept[i] == t:
            self.lines["value"][:, i], self.lines["measure"][:, i] = value[..., 0], running
            for k in self.observers:
                self.lines["regret"][k, i] = self.states[k].regret[:, 0]

    def _record(self, k: int) -> Record:
        values = {metric: line[k] for metric, line in self.lines.items()}
        sums = {name: total[k] for name, total in self.sums.items()} | {"point": self.window.mean[k]}
        if k in self.observers:
            seen = self.observers[k]
            f1, end = (self.f.value_and_gradient(y)[0][..., 0] for y in (self.f.start(np.zeros(1)), seen.end))
            sums |= seen.sums | {"held_out": seen.held_out, "decrease": f1 - end}
            sums |= {"regret": values["regret"][-1], "clipped": self.states[k].clipped[:, 0]}
        else:
            del values["regret"]
        both = {metric: moments(line) for metric, line in values.items()}
        mean, M2 = ({metric: pair[i] for metric, pair in both.items()} for i in (0, 1))
        return Record(np.asarray(self.replications), mean, M2, self.kept, values, sums)
