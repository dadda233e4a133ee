"""The CSV file of `o2nc.torch.log`, read: numbers by column, in the order of the steps."""

import csv
import io
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..runner.records import Floats
from ..runner.store import StoreError

STEPS = ("step", "t")  # what `Hedged` and `Converted` call the step
DIGITS = 1e-9  # groups that share a learner have the same weights up to rounding
PER_GROUP = re.compile(r"groups/(\d+)/(name|rate|(?:directions|weights|regret|error)/(.+))")


@dataclass(frozen=True)
class Group:
    """What the log has of one group of parameters."""

    name: str
    weights: dict[str, Floats]  # by expert
    regret: dict[str, Floats]
    error: dict[str, Floats]  # the standard errors of the regret
    rate: Floats | None


@dataclass(frozen=True)
class Log:
    """A training run as its log has it.

    Reference: none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.csv"
    ...     _ = path.write_text("step,groups/0/name,groups/0/weights/adam,loss\\n1,all,0.5,3.0\\n2,all,0.6,2.5\\n")
    ...     log = Log.read(path)
    >>> log.steps, log.loss, log.groups[0].name, log.groups[0].weights["adam"]
    (array([1., 2.]), array([3. , 2.5]), 'all', array([0.5, 0.6]))
    """

    steps: Floats
    loss: Floats | None
    regret: Floats | None  # that of `Converted`, against the identity
    groups: list[Group]

    @classmethod
    def read(cls, path: Path) -> "Log":
        """The log in a file. If a resumed run did a step again, its later row counts; half of a last row does not."""
        header, rows = _rows(path)
        key = next((name for name in STEPS if name in header), None)
        if key is None or not any(name == "regret" or PER_GROUP.fullmatch(name) for name in header):
            raise ValueError(
                f"{path} must be a log of `o2nc.torch.log`, with the columns `step`, `groups/0/weights/...` and so on; "
                f"it has {', '.join(header[:5]) or 'none'}."
            )
        if not rows:
            raise ValueError(f"{path} must have one row at least; it has none.")
        steps = _numbers(path, header, rows, key)
        last = {step: row for row, step in enumerate(steps.tolist())}
        kept = [rows[last[step]] for step in sorted(last)]

        def column(name: str) -> Floats | None:
            return _numbers(path, header, kept, name) if name in header else None

        return cls(np.asarray(sorted(last)), column("loss"), column("regret"), _groups(path, header, kept))

    def distinct(self) -> list[Group]:
        """The groups, those that share a learner as one."""
        found: list[Group] = []
        for group in self.groups:
            same = next((k for k, other in enumerate(found) if _same(group, other)), None)
            if same is None:
                found.append(group)
            else:
                found[same] = replace(found[same], name=f"{found[same].name}, {group.name}")
        return found


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            text = file.read()
        header, *rows = [*csv.reader(io.StringIO(text, newline=""), strict=True)] or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"Cannot read {path}: it is no table of text ({error}).") from error
    if rows and not text.endswith("\n"):
        rows.pop()  # it is being written, or the run was killed: its last number may be cut too
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise StoreError(f"Cannot read {path}: row {number} has {len(row)} cells, and the header {len(header)}.")
    return header, rows


def _numbers(path: Path, header: list[str], rows: list[list[str]], name: str) -> Floats:
    place = header.index(name)
    try:
        return np.asarray([float(row[place]) for row in rows])
    except ValueError as error:
        raise StoreError(f"Cannot read {path}: the column `{name}` must hold numbers ({error}).") from error


def _groups(path: Path, header: list[str], rows: list[list[str]]) -> list[Group]:
    found: dict[int, dict[str, list[str]]] = {}
    for name in header:
        if part := PER_GROUP.fullmatch(name):
            found.setdefault(int(part[1]), {}).setdefault(part[2].split("/")[0], []).append(name)

    def numbers(names: list[str]) -> dict[str, Floats]:
        return {name.split("/", 3)[3]: _numbers(path, header, rows, name) for name in names}

    def chosen(parts: dict[str, list[str]], key: str) -> list[str]:
        """The columns of the experts, none if they all are the same direction: then nothing is chosen."""
        played = {rows[-1][header.index(name)] for name in parts.get("directions", [])}
        return [] if len(played) == 1 and len(parts["directions"]) > 1 else parts.get(key, [])

    return [
        Group(
            name=rows[-1][header.index(parts["name"][0])] if "name" in parts else str(k),
            weights=numbers(chosen(parts, "weights")),
            regret=numbers(chosen(parts, "regret")),
            error=numbers(chosen(parts, "error")),
            rate=_numbers(path, header, rows, parts["rate"][0]) if "rate" in parts else None,
        )
        for k, parts in sorted(found.items())
    ]


def _same(one: Group, other: Group) -> bool:
    near: Any = partial(np.allclose, rtol=DIGITS, atol=0.0, equal_nan=True)
    return all(
        mine.keys() == theirs.keys() and all(near(mine[k], theirs[k]) for k in mine)
        for mine, theirs in ((one.weights, other.weights), (one.regret, other.regret))
    )
