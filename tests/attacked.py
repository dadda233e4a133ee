"""What attacks on the command line share: how a command ends on bad streams, and files with one bit turned."""

import contextlib
import io
import os
from dataclasses import dataclass

import numpy as np

from o2nc.lab.cli import app
from o2nc.lab.cli.codes import ended
from o2nc.lab.runner.cells import Cell
from o2nc.lab.runner.records import Record
from o2nc.lab.runner.store import StoreError

FULL = "/dev/full"


def end(*arguments, stdout=None, stderr=None):
    """The exit code, output and errors of the command line, as a process would end."""
    out, err = stdout or io.StringIO(), stderr or io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = ended(lambda: app([str(a) for a in arguments], prog_name="o2nc"))
    return int(code), "" if stdout else out.getvalue(), "" if stderr else err.getvalue()


@contextlib.contextmanager
def stream(kind):
    """An output that nobody reads (closed) or that has no room (full)."""
    if kind == "closed":
        reader, writer = os.pipe()
        os.close(reader)
        file = os.fdopen(writer, "w")
    else:
        file = open(FULL, "w")  # noqa: SIM115
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.close()


@dataclass(frozen=True)
class LongCell(Cell):
    """A cell with one method and few arrays, of which two are longer than what is read from a file at once."""

    def run(self):
        rng = np.random.default_rng(self.seed)
        mean, M2 = rng.normal(size=(2, 1000))
        replications, checkpoints = np.arange(self.start, self.stop), np.asarray([1, 1000])
        values = {"gap": rng.normal(size=(2, len(replications)))}
        return {"sgd": Record(replications, {"gap": mean}, {"gap": M2}, checkpoints, values, {"Q": values["gap"][0]})}


def same(found, expected):
    """Whether two cells hold the same numbers, of the same shapes and types, and nothing else."""
    return found.keys() == expected.keys() and all(
        _same(_arrays(found[name]), _arrays(record)) for name, record in expected.items()
    )


def _arrays(record):
    groups = {group: getattr(record, group) for group in ("mean", "M2", "values", "sums")}
    arrays = {(group, key): array for group, entries in groups.items() for key, array in entries.items()}
    return arrays | {("own", name): getattr(record, name) for name in ("replications", "checkpoints")}


def _same(found, expected):
    return found.keys() == expected.keys() and all(
        found[key].dtype == array.dtype and np.array_equal(found[key], array) for key, array in expected.items()
    )


def turned(content, bit):
    """The bytes with one bit turned."""
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def read_turned(store, cell, bits):
    """How many bits, turned one at a time in the file of a cell, are refused, change nothing, or change a number."""
    content, expected = store.path(cell).read_bytes(), store.read(cell)
    counts = {"refused": 0, "harmless": 0, "wrong": []}
    for bit in map(int, bits):
        store.path(cell).write_bytes(turned(content, bit))
        try:
            found = store.read(cell)
        except StoreError as error:
            assert "delete it to compute it again" in str(error)  # noqa: PT017
            counts["refused"] += 1
            continue
        if same(found, expected):
            counts["harmless"] += 1
        else:
            counts["wrong"].append(bit)
    store.path(cell).write_bytes(content)
    return counts
