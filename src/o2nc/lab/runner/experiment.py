"""An experiment: compute what is missing, then every table, figure and the report."""

import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from ... import __version__
from .cells import Cell, check_count, check_seed
from .charts import Chart, write_figure
from .engine import check, compute, processes
from .records import Runs
from .report import page
from .store import Store, alone, as_json, replacing, usable
from .tables import Table, latex, markdown


@dataclass(frozen=True)
class Progress:
    """Whom to tell: ``start`` the number of cells and of those done, ``advance`` each finished one."""

    start: Callable[[int, int], None] = lambda total, done: None
    advance: Callable[[Any], None] = lambda cell: None
    stage: Callable[[str], None] = lambda name: None


@dataclass(frozen=True)
class Experiment(ABC):
    """The settings of an experiment, and what is its own; two runs with equal settings have the same numbers.

    Args:
        seed: of all that is random.
        replications: how many paired replications, from 0 on.

    Reference: Numerical Experiments, the evaluation protocol.
    """

    command: ClassVar[str]  # of the command line
    title: ClassVar[str]  # of the report
    headings: ClassVar[tuple[str, str, str]]  # of the findings and of the charts, and a sentence on these

    seed: int = 0
    replications: int = 128

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_count("replications", self.replications, 2)

    @abstractmethod
    def cells(self) -> Sequence[Cell]:
        """The cells into which it is split."""

    def further_cells(self, seeds: int) -> Sequence[Cell]:
        """The cells of the next ``seeds`` seeds, if it has any."""
        return []

    @abstractmethod
    def numbers(self, runs: Runs) -> dict[str, Any]:
        """All numbers of all tables as plain data, without settings and versions."""

    @staticmethod
    @abstractmethod
    def tables(found: dict[str, Any]) -> list[Table]:
        """The numbers as tables of text."""

    @staticmethod
    @abstractmethod
    def findings(found: dict[str, Any]) -> list[str]:
        """What they show, in sentences."""

    @abstractmethod
    def charts(self, runs: Runs, found: dict[str, Any]) -> Mapping[str, Chart]:
        """The charts by name."""

    def write_more(self, out: Path, runs: Runs, found: dict[str, Any]) -> None:  # noqa: B027
        """What else is written into the directory, if anything."""

    def to_dict(self) -> dict[str, Any]:
        """The settings and the version of the library, as the header of a directory."""
        return asdict(self) | {"version": __version__}

    def run(
        self,
        out: Path,
        *,
        seeds: int = 0,
        jobs: int | None = None,
        engine: str = "joblib",
        address: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Run it into the directory ``out``, where finished cells are kept; returns the numbers.

        The outputs are ``tables.json``, ``tables.md``, ``tables.tex``, ``figures/``, ``report.html`` and what
        `write_more` writes.

        Args:
            out: a new or empty directory, or that of an interrupted run with the same settings.
            seeds: further seeds, if the experiment has some.
            jobs: processes; as many as there are processors if not given.
            engine: joblib, dask or ray.
            address: of the cluster.
            progress: whom to tell.

        Reference: Numerical Experiments.
        """
        told = progress or Progress()
        check_count("seeds", seeds, 0)
        check(jobs, engine, address)
        cells = [*self.cells(), *self.further_cells(seeds)]
        store = Store(out, self)
        with alone(store.directory, store.command):
            store.open()
            store.check_foreign(cells)
            missing = store.missing(cells)
            told.start(len(cells), len(cells) - len(missing))
            compute(store, missing, jobs=jobs, engine=engine, address=address, done=told.advance)
            told.stage("tables, figures and report")
            runs = store.collect(cells)
            found = {"settings": self.to_dict(), "versions": versions(), **self.numbers(runs)}
            self.write(out, runs, found, jobs)
            store.clean()
        return found

    def write(self, out: Path, runs: Runs, found: dict[str, Any], jobs: int | None) -> None:
        """Write all outputs, each in one piece; the figures in other processes, if there may be some."""
        figures, charts = out / "figures", self.charts(runs, found)
        with usable(figures):
            figures.mkdir(exist_ok=True)
        tasks = [(figures, name, chart) for name, chart in charts.items()]
        alone = 1 in (jobs, os.cpu_count())
        started = map(write_figure, *zip(*tasks, strict=True)) if alone else processes(write_figure, tasks, jobs)
        tables = self.tables(found)
        texts = {
            "tables.json": as_json(found),
            "tables.md": markdown(tables, self.title),
            "tables.tex": latex(tables, self.title),
            "report.html": page(self.title, self.headings, found, self.findings(found), charts, tables),
        }
        for name, text in texts.items():
            with replacing(out / name) as part:
                part.write_text(text, encoding="utf-8")
        self.write_more(out, runs, found)
        list(started)


def versions(*more: str) -> dict[str, str]:
    """The versions of Python and of the libraries that enter the numbers.

    >>> versions()["o2nc"] == __version__
    True
    """
    found = {"o2nc": __version__, "python": platform.python_version()}
    for package in ("numpy", "torch", "jax", "array-api-compat", *more):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
