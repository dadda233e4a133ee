"""One objective, some methods, some replications: the rounds, and what is kept of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stationarity import mix, point
from ..objectives import objective
from ..runner.cells import Cell
from ..runner.noise import uniforms
from ..runner.records import Floats, Record, moments
from .methods import METHODS, Played
from .observer import Observer, Window, norms

BLOCK = 50  # rounds whose random numbers are drawn at once
HELD_OUT = ("held out 1", "held out 2")  # samples that no method sees
KEPT = 200  # rounds at which running numbers are kept, about


@dataclass(frozen=True)
class NonsmoothCell(Cell):
    r"""Some methods with one factor of the step on a nonsmooth objective.

    Args:
        objective: its name.
        methods: keys of `METHODS`.
        start: the first replication.
        stop: the one after the last.
        seed: of all that is random.
        T: the horizon, for which the constants are tuned.
        lam: the weight of the spread.
        factor: of the step length that the method prescribes.

    Reference: Algorithm 2.

    >>> cell = NonsmoothCell("bowl", ("sgd",), start=0, stop=2, T=100)
    >>> record = cell.run()["sgd"]
    >>> bool((record.sums["sharper"] <= record.sums["measure_tau"]).all())
    True
    """

    T: int = 1000
    lam: float = 1.0
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.played()

    def played(self) -> list[Played]:
        """The conversions and outputs of its methods, in their order."""
        f = objective(self.objective, "nonsmooth")
        return [METHODS[name].make(f.constants(self.T, self.lam), f.d, self.factor) for name in self.methods]

    @property
    def details(self) -> str:
        """Horizon and factor."""
        return f"T{self.T}-x{self.factor:g}-"

    @property
    def group(self) -> tuple[int, float]:
        """Horizon and factor."""
        return self.T, self.factor

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
        self.cell, self.f = cell, objective(cell.objective, "nonsmooth")
        self.c = self.f.constants(cell.T, cell.lam)
        self.played = cell.played()
        self.share, self.law = (np.stack(rows) for rows in zip(*(one.output for one in self.played), strict=True))
        K, R, d = len(self.played), len(cell.replications), self.f.d
        u = self._draw("tau", 0, 1, 1)[0, :, 0]
        self.tau = np.stack([one.output.tau(u) for one in self.played])  # (K, R)
        self.x = self.f.start(np.zeros(1)) + np.zeros((K, R, d))
        self.states: list[Any] = [
            one.conversion.init(x, tau=tau[:, None] if "tau" in one.conversion.needs else None)
            for one, x, tau in zip(self.played, self.x, self.tau, strict=True)
        ]
        longer = replace(self.c, eta=cell.factor * self.c.eta)
        self.observers = {k: Observer(longer, R, d) for k in range(K) if self._sums(k)}
        self.W = point(self.x, np.zeros_like(self.x))
        self.window = Window(self.tau, d, cell.lam)
        self.kept = kept_rounds(cell.T)
        self.lines = {name: np.empty((K, len(self.kept), R)) for name in ("value", "measure", "regret")}
        self.sums = {name: np.zeros((K, R)) for name in ("measure", "gradient", "spread", "value")}

    def _draw(self, purpose: str, start: int, rounds: int, count: int) -> Floats:
        return uniforms(self.cell.seed, self.f.name, purpose, self.cell.replications, start, rounds, count)

    def _sums(self, k: int) -> dict[str, Any]:
        return self.played[k].conversion.sums(self.states[k])

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
                self.observers[k].see(t, s[k], g[k], self.states[k], after, h, two)
            self.x[k], self.states[k] = x[k] + dx, after
        i = int(np.searchsorted(self.kept, t))
        if self.kept[i] == t:
            self.lines["value"][:, i], self.lines["measure"][:, i] = value[..., 0], running
            for k in self.observers:
                self.lines["regret"][k, i] = self._sums(k)["regret"][:, 0]

    def _record(self, k: int) -> Record:
        values = {metric: line[k] for metric, line in self.lines.items()}
        sums = {name: total[k] for name, total in self.sums.items()} | {"point": self.window.mean[k]}
        if k in self.observers:
            seen = self.observers[k]
            ends = self.f.start(np.zeros(1)), seen.end(self.x[k], self.states[k])
            first, last = (self.f.value_and_gradient(y)[0][..., 0] for y in ends)
            sums |= seen.sums | {"held_out": seen.held_out, "decrease": first - last}
            sums |= {name: self._sums(k)[name][:, 0] for name in ("regret", "clipped")}
        else:
            del values["regret"]
        both = {metric: moments(line) for metric, line in values.items()}
        mean, M2 = ({metric: pair[i] for metric, pair in both.items()} for i in (0, 1))
        return Record(np.asarray(self.cell.replications), mean, M2, self.kept, values, sums)
