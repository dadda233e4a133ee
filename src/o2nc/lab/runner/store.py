"""The directory of a run: finished cells, each written in one piece, under the settings that made them."""

import contextlib
import io
import json
import os
import re
import uuid
import zipfile
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

from ... import __version__
from .cells import Cell
from .records import Record, Runs, merge

if TYPE_CHECKING:
    from .experiment import Experiment

FORMAT = "o2nc experiments 1"
OUTPUTS = {"settings.json", "cells", "results.nc", "tables.json", "tables.md", "tables.tex", "figures", "report.html"}
PART = re.compile(r"\.o2nc-[0-9a-f]{32}\.part")  # the name of a file that is being written


class StoreError(Exception):
    """The directory cannot be used as it is; the message is a sentence for the user."""


class ForeignError(StoreError, ValueError):
    """What is there is not of this run and stays as it is: another place must be given."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that becomes ``path`` in one step if the block ends well.

    Whoever looks at ``path`` sees the old file or the new one, whole. A failure of the disk is a `StoreError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    part = part_of(path)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror or error}.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """A new name beside ``path`` for a file that is being written: short, since that of ``path`` may be long.

    >>> PART.fullmatch(part_of(Path("a.txt")).name) is not None
    True
    """
    return path.with_name(f".o2nc-{uuid.uuid4().hex}.part")


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """What the block does with the directory ``path`` is a `StoreError` if it fails."""
    try:
        yield
    except OSError as error:
        foreign = isinstance(error, (FileExistsError, NotADirectoryError))
        raise (ForeignError if foreign else StoreError)(
            f"Cannot use {path} as a directory: {error.strerror}."
        ) from error


def as_json(found: dict[str, Any]) -> str:
    """Plain data as JSON."""
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def check_file(path: Path | None, command: str) -> None:
    """Raise unless ``path`` is None, a new file, or one that ``command`` wrote: before the run and not after it.

    >>> check_file(Path("nowhere/found.json"), "compare")
    Traceback (most recent call last):
        ...
    o2nc.lab.runner.store.ForeignError: Cannot write nowhere/found.json: nowhere is not a directory.
    """
    if path is not None:
        check_mark(path, command, as_json(marked(command, {})).rstrip("}\n").encode())


def check_mark(path: Path, command: str, mark: bytes, at: int = 0) -> None:
    """Raise unless ``path`` is a new file, or one that has the mark of ``command`` at the byte ``at``."""
    if not path.parent.is_dir():
        raise ForeignError(f"Cannot write {path}: {path.parent} is not a directory.")
    try:
        ours = not path.exists() or (path.is_file() and _has(path, mark, at))
        if ours:
            part = part_of(path)
            part.touch()
            part.unlink()
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
    if not ours:
        raise ForeignError(f"{path} exists and was not written by `o2nc {command}`; choose another --out.")


def marked(command: str, found: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a command under the mark by which `check_file` knows its file."""
    return {"format": f"{FORMAT} {command}", **found}


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Write plain data as JSON, in one piece."""
    with replacing(path) as part:
        part.write_text(as_json(found), encoding="utf-8")


@contextlib.contextmanager
def alone(directory: Path, command: str) -> Iterator[None]:
    """Make and hold ``directory`` for this process while the block runs; if another holds it, a `StoreError`.

    The system lets go when the process ends, however it ends. Where it has no such locks, nothing is held.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, alone(Path(folder), "`o2nc reproduce`"):
    ...     pass
    """
    with usable(directory):
        directory.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    with usable(directory):
        held = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(
                f"Another {command} is at work in {directory}; wait for it, or choose another --out. "
                "Nothing was changed."
            ) from error
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(held)


class Store:
    r"""The cells of a run in a directory.

    Args:
        directory: an empty or new directory, or that of an earlier run with the same settings.
        experiment: what is run.

    >>> import tempfile
    >>> from o2nc.lab.paper.experiment import Reproduction
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder), Reproduction(replications=2, iterations=1))
    ...     store.open()
    ...     [cell.objective for cell in store.missing(store.experiment.cells())]
    ['f1', 'f2', 'f3', 'f4']
    """

    def __init__(self, directory: Path, experiment: "Experiment") -> None:
        self.directory, self.experiment = Path(directory), experiment
        self.cells = self.directory / "cells"
        self.command = f"`o2nc {experiment.command}`"

    def open(self) -> None:
        """Make the directory, or check that it is one of ours with the same settings and holds nothing else."""
        header = self.directory / "settings.json"
        with usable(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            names = {p.name for p in self.directory.iterdir() if not p.name.startswith(".")}
        ours = header.name in names
        if not ours and names - {"cells"}:
            raise ForeignError(
                f"{self.directory} is not empty and not a directory of {self.command} (it holds {_some(names)}); "
                "choose another --out."
            )
        if ours:
            self._compare(header)
            if foreign := names - OUTPUTS:
                raise ForeignError(
                    f"{self.directory} holds what {self.command} did not write: {_some(foreign)}; move it away."
                )
        with usable(self.cells):
            self.cells.mkdir(exist_ok=True)
            found = sorted(p.name for p in self.cells.iterdir() if not PART.fullmatch(p.name))
        if not ours and found:
            raise ForeignError(
                f"{self.cells} holds {_some(found)} but no {header.name} beside it; choose another --out."
            )
        if not ours:
            write_json(header, {"format": FORMAT, **self.experiment.to_dict()})

    def _compare(self, header: Path) -> None:
        try:
            found = json.loads(header.read_text())
        except (OSError, ValueError) as error:
            raise ForeignError(f"{header} cannot be read; it was not written by {self.command}.") from error
        if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
            raise ForeignError(f"{header} was not written by this version of {self.command}; choose another --out.")
        wanted = self.experiment.to_dict()
        different = [f"{k} {found.get(k)!r} (now {wanted[k]!r})" for k in wanted if found.get(k) != wanted[k]]
        if different:
            raise ForeignError(
                f"{self.directory} holds a run with other settings: {', '.join(different)}; choose another --out."
            )

    def check_foreign(self, cells: Sequence[Cell]) -> None:
        """Raise if the directory of cells holds files that are no cells of these settings."""
        known = {self.path(cell).name for cell in cells}
        for path in sorted(self.cells.iterdir()):
            if path.name not in known and not PART.fullmatch(path.name) and not self._is_further(path):
                raise ForeignError(f"{path} is not a cell of this run; move it away. Nothing was changed.")

    def _is_further(self, path: Path) -> bool:
        """Whether ``path`` is a cell of a further seed of these settings, from an earlier call with more seeds."""
        seed = path.name.removeprefix("seed").split("-")[0]
        further = self.experiment.further_cells(int(seed) - self.experiment.seed) if seed.isdigit() else []
        return path.name in {self.path(cell).name for cell in further}

    def missing(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that are not there yet; those that are there are read and must be whole."""
        missing = []
        for cell in cells:
            if self.path(cell).exists():
                self.read(cell)
            else:
                missing.append(cell)
        return missing

    def path(self, cell: Cell) -> Path:
        """Where the cell is written."""
        return self.cells / f"{cell.name}.npz"

    def write(self, cell: Cell, records: dict[str, Record]) -> None:
        """Write a finished cell in one piece; NaN and inf are a `StoreError`."""
        try:
            check_finite(records)
        except ValueError as error:
            raise StoreError(f"The cell {cell.name} is not kept: {error}") from error
        arrays: dict[str, Any] = {"header": np.asarray(_header(cell))}
        for name, record in records.items():
            for group in ("mean", "M2", "values", "sums"):
                arrays |= {f"{name}/{group}/{key}": array for key, array in getattr(record, group).items()}
            arrays |= {f"{name}/replications": record.replications, f"{name}/checkpoints": record.checkpoints}
        with replacing(self.path(cell)) as part, part.open("wb") as file:
            np.savez(file, **arrays)

    def read(self, cell: Cell) -> dict[str, Record]:
        """The records of a finished cell by method; a file that is damaged or of other settings is a `StoreError`."""
        path = self.path(cell)
        try:
            with zipfile.ZipFile(path) as archive:
                arrays = {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}
            header = str(arrays.pop("header"))
            records = {name: _record(name, arrays) for name in cell.methods}
            check_finite(records)
        except Exception as error:  # damaged bytes may raise anything: bad zips, unknown compression, encryption
            raise StoreError(
                f"{path} is damaged or was not written by {self.command}; delete it to compute it again."
            ) from error
        if header != _header(cell):
            raise StoreError(f"{path} was made with other settings; delete it to compute it again.")
        return records

    def collect(self, cells: Sequence[Cell]) -> Runs:
        """The records of finished cells, merged over replications, by group, objective and method."""
        parts: dict[Hashable, dict[str, dict[str, list[Record]]]] = {}
        for cell in cells:
            own = parts.setdefault(cell.group, {}).setdefault(cell.objective, {})
            for method, record in self.read(cell).items():
                own.setdefault(method, []).append(record)
        return {
            group: {name: {method: merge(found) for method, found in own.items()} for name, own in names.items()}
            for group, names in parts.items()
        }

    def clean(self) -> None:
        """Remove what interrupted writers left behind."""
        for folder in (self.directory, self.cells, self.directory / "figures"):
            for part in folder.iterdir() if folder.is_dir() else ():
                if PART.fullmatch(part.name):
                    part.unlink(missing_ok=True)


def check_finite(records: dict[str, Record]) -> None:
    """Raise if a number of a record is NaN or inf, and say which."""
    for name, record in records.items():
        for group in ("mean", "M2", "values", "sums"):
            for key, array in getattr(record, group).items():
                if not np.isfinite(array).all():
                    raise ValueError(f"{key} of {name} is not finite.")


def _has(path: Path, mark: bytes, at: int) -> bool:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(len(mark)) == mark


def _array(entry: bytes) -> Any:
    """The array of an entry that was read to its end, where its checksum is: NumPy alone reads what the shape says."""
    return np.lib.format.read_array(io.BytesIO(entry), allow_pickle=False)


def _header(cell: Cell) -> str:
    return json.dumps({"format": FORMAT, "version": __version__, **asdict(cell)})


def _record(name: str, arrays: dict[str, Any]) -> Record:
    def group(kind: str) -> dict[str, Any]:
        start = f"{name}/{kind}/"
        return {key.removeprefix(start): array for key, array in arrays.items() if key.startswith(start)}

    replications, checkpoints = arrays[f"{name}/replications"], arrays[f"{name}/checkpoints"]
    return Record(replications, group("mean"), group("M2"), checkpoints, group("values"), group("sums"))


def _some(names: Any) -> str:
    listed = sorted(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
