"""The whole reproduction: compute what is missing, then every table, figure and the report."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .agreement import Entry, Records, agreement
from .dataset import write_dataset
from .engine import compute, processes
from .figures import learner_figure, objective_figure, write_figure
from .layout import layout
from .markup import latex, markdown
from .protocol import Cell
from .record import Record, merge
from .report import report
from .settings import Settings
from .store import Store, StoreError, replacing
from .tables import tables


@dataclass(frozen=True)
class Progress:
    """Whom to tell: ``start`` the total number of rounds of cells and those done, ``advance`` each finished cell."""

    start: Callable[[int, int], None] = lambda total, done: None
    advance: Callable[[Any], None] = lambda cell: None
    stage: Callable[[str], None] = lambda name: None


def reproduce(
    out: Path,
    settings: Settings,
    *,
    seeds: int = 0,
    jobs: int | None = None,
    engine: str = "joblib",
    address: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    r"""Run the paper's numerical section with the controls into the directory ``out``; returns the tables.

    Cells that are already there are kept. The outputs are ``results.nc``, ``tables.json``, ``tables.md``,
    ``tables.tex``, ``figures/`` and ``report.html``.

    Args:
        out: a new or empty directory, or that of an interrupted run with the same settings.
        settings: seed, replications, iterations, backend and dtype.
        seeds: further seeds for the paper's two methods, to see in how many every cell agrees.
        jobs: processes; as many as there are processors if not given.
        engine: joblib, dask or ray.
        address: of the cluster.
        progress: whom to tell.

    Reference: Numerical Experiments.
    """
    told = progress or Progress()
    store = Store(out, settings)
    store.open()
    cells, further = settings.cells(), settings.further_cells(seeds)
    store.check_foreign(cells + further)
    missing = store.missing(cells + further)
    told.start(len(cells + further), len(cells + further) - len(missing))
    compute(store, missing, jobs=jobs, engine=engine, address=address, done=told.advance)
    records = collect(store, cells)
    by_seed: dict[int, list[Cell]] = {}
    for cell in further:
        by_seed.setdefault(cell.seed, []).append(cell)
    verdicts: list[list[Entry]] = [agreement(collect(store, own)) for own in by_seed.values()]
    told.stage("tables, figures and report")
    found = tables(records, settings, verdicts)
    write(out, records, settings, found, jobs)
    store.clean()
    return found


def collect(store: Store, cells: list[Cell]) -> Records:
    """The records of ``cells``, merged over replications, by objective and method."""
    parts: dict[str, dict[str, list[Record]]] = {}
    for cell in cells:
        for method, record in store.read(cell).items():
            parts.setdefault(cell.objective, {}).setdefault(method, []).append(record)
    return {name: {method: merge(found) for method, found in methods.items()} for name, methods in parts.items()}


def write(out: Path, records: Records, settings: Settings, found: dict[str, Any], jobs: int | None) -> None:
    """Write all outputs, each in one piece; the figures in other processes, if there may be some."""
    figures = out / "figures"
    try:
        figures.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot use {figures} as a directory: {error.strerror}.") from error
    tasks: list[tuple[Any, ...]] = [(name, objective_figure, name, methods) for name, methods in records.items()]
    tasks += [("learner", learner_figure, records), ("learned", learner_figure, records, "learned")]
    if (jobs or os.cpu_count() or 1) > 1:
        import joblib

        started = processes([joblib.delayed(draw)(figures, *task) for task in tasks], jobs)
        write_texts(out, records, found)
        list(started)
    else:
        write_texts(out, records, found)
        for task in tasks:
            draw(figures, *task)


def write_texts(out: Path, records: Records, found: dict[str, Any]) -> None:
    """results.nc, the tables and the report."""
    printed = layout(found)
    title = "Reproduction of the numerical section, with controls"
    texts = {
        "tables.json": json.dumps(found, indent=1, allow_nan=False) + "\n",
        "tables.md": markdown(printed, title),
        "tables.tex": latex(printed, title),
        "report.html": report(records, found, printed),
    }
    for name, text in texts.items():
        with replacing(out / name) as part:
            part.write_text(text, encoding="utf-8")
    write_dataset(out / "results.nc", records, found)


def draw(folder: Path, name: str, figure: Callable[..., Any], *arguments: Any) -> None:
    """Draw one figure and write it."""
    write_figure(folder, name, figure(*arguments))
