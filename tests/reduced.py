"""A reproduction with few replications, by the command: run once, for the tests of experiments and of the command."""

import functools
import inspect
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from o2nc.lab.cli import app

REPLICATIONS = 6


def invoke(*arguments):
    """The result of the command line with these arguments."""
    apart = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}  # before click 8.2
    return CliRunner(**apart).invoke(app, [str(a) for a in arguments])


@functools.cache
def reduced():
    """The directory of the reproduction, and the result of the command."""
    folder = tempfile.TemporaryDirectory(prefix="reduced")
    out = Path(folder.name) / "out"
    options = ("--replications", REPLICATIONS, "--jobs", 2, "--seeds", 1)
    result = invoke("reproduce", "--out", out, *options)
    result.folder = folder  # which is removed when the process ends
    return out, result
