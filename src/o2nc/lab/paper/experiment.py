"""The reproduction of the paper's numerical section: its cells and its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..objectives import objective
from ..runner import backends
from ..runner.cells import Cell, check_count, chunks
from ..runner.charts import Chart
from ..runner.experiment import Experiment
from ..runner.paired import HORIZON, play
from ..runner.records import Record, Runs
from . import charts, findings, numbers, published, tables
from .agreement import agreement
from .dataset import write_dataset
from .methods import METHODS, SGD_GRID

CHUNK = 128  # replications of a cell, at most
_EVERY = {**METHODS, **SGD_GRID}


@dataclass(frozen=True)
class ReproductionCell(Cell):
    r"""Some of the methods on one of the smooth objectives.

    Args:
        objective: "f1" to "f8".
        methods: keys of `METHODS` and of `SGD_GRID`.
        start: the first replication.
        stop: the one after the last.
        seed: of the noise, which depends on (seed, objective, replication, round) alone.
        iterations: the rounds to run; the constants are those of the horizon 20000 whatever it is.
        backend: numpy, torch or jax.
        dtype: float64 or float32.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> record = ReproductionCell("f4", ("sgd",), start=0, stop=2, iterations=10).run()["sgd"]
    >>> print(f"{record.mean['gap'][0]:.4f}", record.checkpoints)
    0.5000 [ 1 10]
    """

    iterations: int = published.ITERATIONS
    backend: str = "numpy"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        objective(self.objective)
        check_iterations(self.iterations)
        if unknown := set(self.methods) - set(_EVERY):
            raise ValueError(f"`method` must be one of {', '.join(_EVERY)}; got {unknown.pop()!r}.")

    def run(self) -> dict[str, Record]:
        """The records by method."""
        methods = [_EVERY[name] for name in self.methods]
        how = (self.replications, self.iterations, self.seed, self.backend, self.dtype)
        return play(objective(self.objective), methods, *how)


def check_iterations(iterations: int) -> None:
    """Raise unless ``iterations`` is a number of rounds within the declared horizon."""
    check_count("iterations", iterations, 1)
    if iterations > HORIZON:
        raise ValueError(f"`iterations` must be at most the declared horizon {HORIZON}; got {iterations}.")


@dataclass(frozen=True)
class Reproduction(Experiment):
    r"""The paper's numerical section with controls; besides tables, figures and report it writes ``results.nc``.

    Args:
        seed: of the noise.
        replications: how many paired replications, from 0 on.
        iterations: the rounds to run, at most the declared horizon 20000.
        backend: numpy, torch or jax.
        dtype: float64 or float32.

    Reference: Numerical Experiments.

    >>> [(cell.objective, cell.start, cell.stop) for cell in Reproduction(replications=200).cells()][:2]
    [('f1', 0, 128), ('f1', 128, 200)]
    >>> Reproduction().to_dict()["iterations"]
    3000
    """

    command: ClassVar[str] = "reproduce"
    title: ClassVar[str] = "Reproduction of the numerical section, with controls"
    headings: ClassVar[tuple[str, str, str]] = (
        "What the controls show", "Gap and squared gradient at every iteration", "Means over the replications."
    )  # fmt: skip
    tables = staticmethod(tables.tables)
    findings = staticmethod(findings.findings)

    replications: int = published.REPLICATIONS
    iterations: int = published.ITERATIONS
    backend: str = "numpy"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_iterations(self.iterations)
        backends.check(self.backend, self.dtype)

    def cells(self) -> Sequence[Cell]:
        """All methods, one chunk of replications of one objective each."""
        return self._cells(self.seed, tuple(_EVERY), self.iterations)

    def further_cells(self, seeds: int) -> Sequence[Cell]:
        """The cells of the next ``seeds`` seeds: the paper's two methods, to the iteration that the paper reports."""
        wanted, iterations = range(self.seed + 1, self.seed + 1 + seeds), min(self.iterations, published.ITERATIONS)
        return [cell for seed in wanted for cell in self._cells(seed, published.METHODS, iterations)]

    def _cells(self, seed: int, methods: tuple[str, ...], iterations: int) -> list[ReproductionCell]:
        return [
            ReproductionCell(name, methods, start, stop, seed, iterations, self.backend, self.dtype)
            for name in published.RESULTS
            for start, stop in chunks(self.replications, CHUNK)
        ]

    def numbers(self, runs: Runs) -> dict[str, Any]:
        """All numbers, and the agreement of further seeds."""
        further = {seed: agreement(records) for seed, records in runs.items() if seed != self.seed}
        return numbers.numbers(runs[self.seed], self.iterations, further)  # type: ignore[arg-type]

    def charts(self, runs: Runs, found: dict[str, Any]) -> Mapping[str, Chart]:
        """One an objective, and one a learner."""
        return charts.charts(runs[self.seed])

    def write_more(self, out: Path, runs: Runs, found: dict[str, Any]) -> None:
        """results.nc."""
        write_dataset(out / "results.nc", runs[self.seed], found)
