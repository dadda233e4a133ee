"""The charts of a training run, and both files that show them."""

import importlib.metadata
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..runner.charts import BLUE, COLOURS, DASHES, SIZE, SKY, Chart, Line, figure, height
from ..runner.records import Floats
from ..runner.report import page
from ..runner.store import FORMAT, check_mark, replacing
from ..runner.tables import Table, number
from .log import Group, Log

MARK = f"{FORMAT} plot"  # by which `o2nc plot` knows its files again
HTML_START = "<!doctype html>"
MARKS = {  # of each kind of file: the bytes, and where they are
    ".png": (b"tEXtSoftware\0" + MARK.encode(), 37),
    ".html": (f"<!-- {MARK} -->".encode(), len(HTML_START)),
}
WIDE = 20.0  # positive numbers whose quotient is above this are drawn on a logarithmic axis


def charts(log: Log) -> dict[str, Chart]:
    """The charts by name: the loss, weights and regret of each learner, the rates."""
    found: dict[str, Chart] = {}
    if log.loss is not None:
        found["loss"] = _chart("loss", _loss(log.steps, log.loss))
    if log.regret is not None:
        found["regret"] = _chart("regret against the identity", _line(log.steps, log.regret, "regret", 0))
    groups = log.distinct()
    for k, group in enumerate(groups):
        if group.weights or group.regret:
            found[f"group-{k}"] = _shares(log.steps, group)
    lines = [line for k, (name, y) in enumerate(_rates(log).items()) for line in _line(log.steps, y, name, k)]
    found["rate"] = _chart("rate: lr times what was learned", lines)
    return {name: chart for name, chart in found.items() if chart.lines}


def sentences(log: Log) -> list[str]:
    """How the run ended, in words."""
    found = [f"{len(log.steps)} records, from step {log.steps[0]:g} to step {log.steps[-1]:g}."]
    if log.loss is None:
        found.append(
            "The log has no loss. To have it drawn, write it: `log(opt, 'run.csv', loss=lambda: loss.item())`, "
            "where `loss` is the loss of your loop."
        )
    for group in log.distinct():
        if group.regret:
            best = max(group.regret, key=lambda name: group.regret[name][-1])
            error = f" (standard error {number(group.error[best][-1], 3)})" if best in group.error else ""
            found.append(
                f"{group.name}: the largest regret is {number(group.regret[best][-1], 3)}, against {best}{error}."
            )
    gaps = sum(int(np.sum(~np.isfinite(line))) for line in _columns(log))
    return [*found, f"{gaps} numbers of the log are not finite; they are left out."] if gaps else found


def written(log: Log, path: Path, out: Path | None) -> list[Path]:
    """Draw the log, which was read from ``path``, as a PNG and as a page, beside it or at ``out``: their names."""
    stem = (out or path).with_suffix("") if out is None or out.suffix in MARKS else out
    targets = {kind: stem.with_name(stem.name + kind) for kind in MARKS}
    for kind, target in targets.items():
        check_mark(target, "plot", *MARKS[kind])
    found = charts(log)
    with replacing(targets[".png"]) as part:
        stacked(found).savefig(part, format="png", dpi=160, metadata={"Software": MARK})
    with replacing(targets[".html"]) as part:
        part.write_text(html(path.name, log, found), encoding="utf-8", errors="backslashreplace")
    return list(targets.values())


def stacked(found: dict[str, Chart]) -> Any:
    """The charts in one figure, one below the other."""
    from matplotlib.figure import Figure

    heights = [height(chart) for chart in found.values()] or [SIZE[1]]
    whole = Figure(figsize=(SIZE[0], sum(heights)), layout="constrained")
    parts = whole.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, chart in zip(parts, found.values(), strict=False):
        figure(chart, part)
    return whole


def html(name: str, log: Log, found: dict[str, Chart]) -> str:
    """The page, which loads nothing from elsewhere."""
    about = {
        "settings": {"file": name},
        "versions": {package: importlib.metadata.version(package) for package in ("o2nc", "plotly")},
    }
    words = (
        "Regret is the loss of the mixture minus that of the expert: the expert with the largest would have done best."
    )
    text = page(
        f"A training run, {name}", ("How it ended", "How it went", words), about, sentences(log), found, _ends(log)
    )
    return text.replace(HTML_START, f"{HTML_START}<!-- {MARK} -->", 1)


def _ends(log: Log) -> list[Table]:
    rows = [
        [group.name, expert, *(number(values[expert][-1], 4) if expert in values else "" for values in columns)]
        for group in log.groups
        for columns in [(group.weights, group.regret, group.error)]
        for expert in group.weights
    ]
    header = ["group", "expert", "weight", "regret", "standard error"]
    return [Table("last", "The last record", "", header, rows)] if rows else []


def _shares(steps: Floats, group: Group) -> Chart:
    """Weights and regret, one colour an expert."""
    places = {expert: k for k, expert in enumerate(dict.fromkeys([*group.weights, *group.regret]))}
    lines = [line for name, y in group.weights.items() for line in _line(steps, y, name, places[name])]
    for name, y in group.regret.items():
        lines += _line(steps, y, name, places[name], panel=1, band=group.error.get(name))
    return Chart([f"{group.name}: weights", f"{group.name}: regret"], lines, "step", rules=[(1, 0.0)])


def _loss(steps: Floats, loss: Floats) -> list[Line]:
    """The numbers themselves, and their mean over a fiftieth of the run where that is more than one record."""
    lines, n = _line(steps, loss, "loss", 0), len(loss) // 50
    if n < 2 or not lines:
        return lines
    x, y = lines[0].x, lines[0].y
    lines = [lines[0]._replace(colour=SKY, width=0.8)]
    sums = np.concatenate([[0.0], np.cumsum(y)])
    ends = np.arange(1, len(y) + 1)
    starts = np.maximum(ends - n, 0)
    return [
        *lines,
        Line(x, (sums[ends] - sums[starts]) / (ends - starts), f"mean of the last {n} records", BLUE, width=1.8),
    ]


def _line(steps: Floats, y: Floats, label: str, k: int, band: Floats | None = None, panel: int = 0) -> list[Line]:
    """The finite part of a column, nothing if there is none; dashes tell the k-th line from one below it."""
    kept = np.isfinite(y)
    if not kept.any():
        return []
    half = None if band is None else np.where(np.isfinite(band), band, 0.0)[kept]
    colour, dash = COLOURS[k % len(COLOURS)], list(DASHES)[k % len(DASHES)]
    return [Line(steps[kept], y[kept], label, colour, panel, dash, band=half)]


def _chart(title: str, lines: list[Line]) -> Chart:
    low, high = (f((f(line.y) for line in lines), default=math.nan) for f in (min, max))
    return Chart([title], lines, "step", log=["y" if low > 0 and high > WIDE * low else ""])


def _rates(log: Log) -> dict[str, Floats]:
    """The rates, by the names of the groups that have them."""
    found: dict[bytes, tuple[list[str], Floats]] = {}
    for group in log.groups:
        if group.rate is not None:
            found.setdefault(group.rate.tobytes(), ([], group.rate))[0].append(group.name)
    return {", ".join(names): rate for names, rate in found.values()}


def _columns(log: Log) -> list[Floats]:
    found = [column for column in (log.loss, log.regret) if column is not None]
    for group in log.groups:
        found += [*group.weights.values(), *group.regret.values(), *([] if group.rate is None else [group.rate])]
    return found
