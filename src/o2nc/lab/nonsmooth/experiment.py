"""The nonsmooth experiment: its cells and its outputs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...constants.nonsmooth import least_horizon
from ..objectives import objective, of_kind
from ..runner.cells import Cell, chunks
from ..runner.charts import Chart
from ..runner.experiment import Experiment
from ..runner.records import Runs
from . import charts, findings, numbers, tables
from .methods import FACTORS, METHODS
from .rounds import NonsmoothCell

CHUNK = 16  # replications of a cell, at most


@dataclass(frozen=True)
class NonsmoothExperiment(Experiment):
    r"""Algorithm 2, its rivals and baselines on nonsmooth objectives.

    Args:
        seed: of all that is random.
        replications: how many paired replications, from 0 on.
        T: the horizon of the comparison, for which all constants are tuned.
        lam: the weight of the spread in the measure.
        horizons: of the chart of the measure against T, for Algorithm 2 with I; T is added.

    Reference: Algorithm 2 and Theorem 2.

    >>> len(NonsmoothExperiment(horizons=(500,)).cells())
    25
    >>> NonsmoothExperiment(lam=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: `lam` must be finite and positive; got -1.0.
    """

    command: ClassVar[str] = "nonsmooth"
    title: ClassVar[str] = "Nonsmooth problems, Algorithm 2 and its rivals"
    headings: ClassVar[tuple[str, str, str]] = (
        "Who wins where",
        "The running measure and the objective",
        "Means over the replications, constants as prescribed.",
    )
    tables = staticmethod(tables.tables)
    findings = staticmethod(findings.findings)

    replications: int = 16
    T: int = 2000
    lam: float = 1.0
    horizons: tuple[int, ...] = (1000, 4000, 8000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"`lam` must be finite and positive; got {self.lam}.")
        objectives = [objective(name, "nonsmooth") for name in of_kind("nonsmooth")]
        least = max(least_horizon(f.L, f.M, f.sigma, self.lam) for f in objectives)
        for name, T in [*(("horizon", T) for T in self.horizons), ("T", self.T)]:
            if least > T:
                raise ValueError(
                    f"`{name}` must be at least {least}, for which all objectives have the tuned constants of "
                    f"Theorem 2; got {T}."
                )
        object.__setattr__(self, "horizons", tuple(sorted({*self.horizons, self.T})))
        self.cells()  # each raises if one of its methods cannot be run

    def cells(self) -> Sequence[Cell]:
        """All methods with each factor at T, and Algorithm 2 with I at the other horizons; the long ones first."""
        kinds: list[tuple[tuple[str, ...], int, float]] = [
            (("identity",), T, 1.0) for T in reversed(self.horizons) if T != self.T
        ]
        return [
            NonsmoothCell(name, methods, start, stop, self.seed, T, self.lam, factor)
            for methods, T, factor in kinds + [(tuple(METHODS), self.T, factor) for factor in FACTORS]
            for name in of_kind("nonsmooth")
            for start, stop in chunks(self.replications, CHUNK)
        ]

    def numbers(self, runs: Runs) -> dict[str, Any]:
        """All numbers of all tables."""
        return numbers.numbers(runs, self.T, self.lam, self.horizons, self.seed)

    def charts(self, runs: Runs, found: dict[str, Any]) -> Mapping[str, Chart]:
        """One an objective, the rate and the ladder."""
        return charts.charts(runs[self.T, 1.0], found)

    def to_dict(self) -> dict[str, Any]:
        """The settings, which also say that they are of this experiment.

        >>> NonsmoothExperiment().to_dict()["experiment"]
        'nonsmooth'
        """
        return {"experiment": self.command} | super().to_dict() | {"horizons": list(self.horizons)}
