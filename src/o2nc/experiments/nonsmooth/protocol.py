"""One objective, some methods, some replications: the rounds, and what is kept of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stationarity import Witness, best_mixture, measure, mix, point
from ..noise import uniforms
from ..objectives.nonsmooth import nonsmooth_objective
from ..record import Floats, Record, moments
from .methods import ALGORITHM2, Played, method
from .observer import Observer

BLOCK = 50  # rounds whose random numbers are drawn at once
WINDOW = 100  # points before tau over which the weights are minimised, at least; in many dimensions 2 d
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
        self.K, self.R, self.d, self.T = len(self.played), len(self.replications), self.f.d, cell.T
        u = self._draw("tau", 0, 1, 1)[0, :, 0]
        self.tau = np.stack([one.output.tau(u) for one in self.played])  # (K, R)
        self.observers = {
            k: Observer(one.conversion.constants, self.R, self.d)  # type: ignore[attr-defined]
            for k, one in enumerate(self.played)
            if cell.methods[k] in ALGORITHM2
        }

    def _draw(self, purpose: str, start: int, rounds: int, count: int) -> Floats:
        return uniforms(self.cell.seed, self.f.name, purpose, self.replications, start, rounds, count)

    def records(self) -> dict[str, Record]:
        """Play all rounds."""
        x1 = self.f.start(np.zeros(1))
        x = x1 + np.zeros((self.K, self.R, self.d))
        states: list[Any] = [
            one.conversion.init(x[k], tau=self.tau[k][:, None])  # type: ignore[call-arg]
            if hasattr(one.conversion, "tau") or k in self.observers
            else one.conversion.init(x[k])
            for k, one in enumerate(self.played)
        ]
        share = np.stack([one.output.share for one in self.played])
        law = np.stack([one.output.law for one in self.played])
        kept = kept_rounds(self.T)
        lines = {"value": np.empty((self.K, len(kept), self.R)), "measure": np.empty((self.K, len(kept), self.R))}
        regret = np.zeros((self.K, len(kept), self.R))
        sums = {name: np.zeros((self.K, self.R)) for name in ("measure", "gradient", "spread", "value")}
        at_tau = _AtTau(self.tau, self.d, self.cell.lam)
        W = point(x, np.zeros_like(x))
        i = 0
        for t0 in range(0, self.T, BLOCK):
            rounds = min(BLOCK, self.T - t0)
            u = self._draw("sample", t0, rounds, self.f.draws)
            r = self._draw("segment", t0, rounds, 1)
            if self.observers:
                extra = np.stack([self._draw(f"held out {j}", t0, rounds, self.f.draws) for j in (1, 2)], axis=1)
            for j in range(rounds):
                t = t0 + j + 1
                value, g = self.f.value_and_gradient(x)
                s = self.f.sample(x, u[j], g)
                W = mix(W, share[:, t - 1, None, None], point(x, g))
                gradient = np.sqrt(np.vecdot(W.g, W.g))
                running = gradient + self.cell.lam * W.spread[..., 0]
                p = law[:, t - 1, None]
                sums["measure"] += p * running
                sums["gradient"] += p * gradient
                sums["spread"] += p * W.spread[..., 0]
                sums["value"] += value[..., 0] / self.T
                at_tau.see(t, x, g, W)
                moved = np.empty_like(x)
                for k, one in enumerate(self.played):
                    moved[k], after = one.conversion.update(s[k], states[k], x[k], r=r[j])
                    if k in self.observers:
                        h = W.g[k] * (self.c.a / share[k, t - 1])  # h_{t+1} = c_t times the mean gradient
                        held = np.stack([self.f.sample(x[k], v, g[k]) for v in extra[j]])
                        self.observers[k].see(t, s[k], g[k], states[k], after, h, held)
                    if t == self.T and k in self.observers:
                        end = x[k] + (1 - states[k].r) * states[k].delta  # x_{T+1}
                        first = self.f.value_and_gradient(x1)[0] - self.f.value_and_gradient(end)[0]
                        self.observers[k].sums["decrease"] = first[:, 0]
                    states[k] = after
                if t == kept[i]:
                    lines["value"][:, i], lines["measure"][:, i] = value[..., 0], running
                    for k in self.observers:
                        regret[k, i] = states[k].regret[:, 0]
                    i += 1
                x = x + moved
        sums["measure_tau"] = at_tau.value
        if self.cell.factor == 1.0:  # some programs take a tenth of a second
            sums["sharper"] = at_tau.sharper(share)
        sums["output"] = self.f.value_and_gradient(at_tau.mean)[0][..., 0]
        sums["tau"] = 1.0 * self.tau
        found = {}
        for k, name in enumerate(self.cell.methods):
            values = {metric: line[k] for metric, line in lines.items()}
            own = {key: total[k] for key, total in sums.items()} | {"point": at_tau.mean[k]}
            if k in self.observers:
                values["regret"] = regret[k]
                own |= self.observers[k].sums | {"held_out": self.observers[k].held_out}
                own |= {"regret": regret[k, -1], "clipped": states[k].clipped[:, 0]}
            split = {metric: moments(line) for metric, line in values.items()}
            found[name] = Record(
                np.asarray(self.replications),
                {metric: pair[0] for metric, pair in split.items()},
                {metric: pair[1] for metric, pair in split.items()},
                kept,
                values,
                own,
            )
        return found


class _AtTau:
    """The last points before tau, and the witness of all before them, for each method and replication."""

    def __init__(self, tau: NDArray[np.int64], d: int, lam: float) -> None:
        self.tau, self.lam, self.window = tau, lam, max(WINDOW, 2 * d)
        self.n = np.minimum(tau, self.window)
        self.y, self.g = np.zeros((2, *tau.shape, self.window, d))
        self.mean, self.rest_y, self.rest_g = np.zeros((3, *tau.shape, d))
        self.rest_spread, self.value = np.zeros((2, *tau.shape))

    def see(self, t: int, x: Floats, g: Floats, W: Witness) -> None:
        """Round ``t``: keep what lies in the window."""
        k, r = np.nonzero(np.logical_and(self.tau - self.window < t, t <= self.tau))
        place = t - 1 - (self.tau - self.n)[k, r]
        self.y[k, r, place], self.g[k, r, place] = x[k, r], g[k, r]
        k, r = np.nonzero(np.equal(self.tau - self.window, t))
        self.rest_y[k, r], self.rest_g[k, r], self.rest_spread[k, r] = W.y[k, r], W.g[k, r], W.spread[k, r, 0]
        k, r = np.nonzero(np.equal(self.tau, t))
        self.mean[k, r], self.value[k, r] = W.y[k, r], measure(W, self.lam)[k, r, 0]

    def sharper(self, share: Floats) -> Floats:
        """The measure of the best weights at tau."""
        best = np.empty_like(self.value)
        for k, r in np.ndindex(*self.tau.shape):
            tau, n = int(self.tau[k, r]), int(self.n[k, r])
            theta = share[k, tau - n : tau]
            weights = theta * np.append(np.cumprod((1 - theta)[:0:-1])[::-1], 1.0)
            atoms = [self.y[k, r, :n], self.g[k, r, :n], np.zeros((n, 1))]
            if tau > n:  # everything before the window is one more atom
                rest = self.rest_y[k, r], self.rest_g[k, r], self.rest_spread[k, r, None]
                atoms = [np.concatenate([own, [one]]) for own, one in zip(atoms, rest, strict=True)]
                weights = np.append(weights, max(1 - weights.sum(), 0.0))
            best[k, r] = best_mixture(Witness(*atoms), self.mean[k, r], self.lam, weights).value
        return np.minimum(best, self.value)
