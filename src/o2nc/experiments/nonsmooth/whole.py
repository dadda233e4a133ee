"""The whole experiment: compute what is missing, then every table, figure and the report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..engine import compute
from ..figures import write_figure
from ..markup import latex, markdown
from ..record import Record, merge
from ..report import page, two_panels
from ..reproduce import Progress
from ..store import Store, StoreError, replacing
from .figures import COLOURS, DASHED, ladder_figure, rate_figure, run_figure
from .layout import nonsmooth_layout
from .methods import METHODS
from .settings import NonsmoothSettings
from .tables import nonsmooth_tables
from .words import nonsmooth_findings

TITLE = "Nonsmooth problems, Algorithm 2 and its rivals"


def nonsmooth(
    out: Path,
    settings: NonsmoothSettings,
    *,
    jobs: int | None = None,
    engine: str = "joblib",
    address: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    r"""Run the nonsmooth experiment into the directory ``out``; returns the tables.

    Cells that are already there are kept. The outputs are ``tables.json``, ``tables.md``, ``tables.tex``, ``figures/``
    and ``report.html``.

    Args:
        out: a new or empty directory, or that of an interrupted run with the same settings.
        settings: seed, replications, horizons and lambda.
        jobs: processes; as many as there are processors if not given.
        engine: joblib, dask or ray.
        address: of the cluster.
        progress: whom to tell.

    Reference: Algorithm 2 and Theorem 2.
    """
    told = progress or Progress()
    store = Store(out, settings)
    store.open()
    cells = settings.cells()
    store.check_foreign(cells)
    missing = store.missing(cells)
    told.start(len(cells), len(cells) - len(missing))
    compute(store, missing, jobs=jobs, engine=engine, address=address, done=told.advance)
    told.stage("tables, figures and report")
    parts: dict[tuple[int, float], dict[str, dict[str, list[Record]]]] = {}
    for cell in cells:
        for method, record in store.read(cell).items():
            at = parts.setdefault((cell.T, cell.factor), {}).setdefault(cell.objective, {})
            at.setdefault(method, []).append(record)
    runs = {
        key: {name: {method: merge(found) for method, found in methods.items()} for name, methods in names.items()}
        for key, names in parts.items()
    }
    found = nonsmooth_tables(runs, settings)
    write(out, runs[settings.T, 1.0], found)
    store.clean()
    return found


def write(out: Path, records: Mapping[str, Mapping[str, Record]], found: dict[str, Any]) -> None:
    """Write all outputs, each in one piece."""
    folder = out / "figures"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot use {folder} as a directory: {error.strerror}.") from error
    printed = nonsmooth_layout(found)
    charts = {f"chart-{name}": _chart(name, methods) for name, methods in records.items()}
    words = {"Who wins where": nonsmooth_findings(found)}
    above = ("The running measure and the objective", "Means over the replications, constants as prescribed.")
    texts = {
        "tables.json": json.dumps(found, indent=1, allow_nan=False) + "\n",
        "tables.md": markdown(printed, TITLE),
        "tables.tex": latex(printed, TITLE),
        "report.html": page(TITLE, found, words, above, charts, printed),
    }
    for name, text in texts.items():
        with replacing(out / name) as part:
            part.write_text(text, encoding="utf-8")
    for name, methods in records.items():
        write_figure(folder, name, run_figure(name, methods))
    write_figure(folder, "rate", rate_figure(found["rate"]))
    write_figure(folder, "ladder", ladder_figure(found["ladder"]))


def _chart(name: str, methods: Mapping[str, Record]) -> dict[str, Any]:
    data = []
    for method, record in methods.items():
        for metric, axis in (("measure", ""), ("value", "2")):
            line = {"color": COLOURS[method], "dash": "dash" if method in DASHED else "solid", "width": 1.6}
            values = [float(f"{value:.5g}") for value in record.mean[metric]]
            data.append(
                {"x": record.checkpoints.tolist(), "y": values, "name": METHODS[method].label,
                 "legendgroup": method, "line": line, "showlegend": not axis, "xaxis": f"x{axis}", "yaxis": f"y{axis}",
                 "mode": "lines"}
            )  # fmt: skip
    chart = two_panels(data, (f"{name}: measure of the average", f"{name}: objective"), words="round t")
    chart["layout"]["yaxis"]["type"] = "log"
    return chart
