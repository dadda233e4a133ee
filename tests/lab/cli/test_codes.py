"""Exit codes: each means one thing, also when the reader of the output goes away or the disk is full."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from o2nc.lab.cli import codes
from o2nc.lab.cli.codes import Code
from reduced import invoke

ROOT = Path(__file__).parents[3]
TINY = ("--replications", "2", "--iterations", "3", "--jobs", "1")


def start(*arguments, **streams):
    """A command that hears Ctrl-C also if these tests run in the background of a shell, where it is ignored."""
    command = [sys.executable, "-m", "o2nc", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits what is ignored, not handlers
    try:
        return subprocess.Popen(command, text=True, **streams)
    finally:
        signal.signal(signal.SIGINT, before)


def closed(*arguments, **streams):
    """The exit code and stderr of a command whose stdout nobody reads."""
    with start(*arguments, **streams) as process:
        process.stdout.close()
        errors = process.stderr.read() if process.stderr else ""
        return process.wait(60), errors


@pytest.mark.parametrize("arguments", [("list",), ("--help",), ("reproduce", "--help")])
def test_a_closed_pipe_is_silent_and_no_disagreement(arguments):
    assert closed(*arguments) == (Code.CLOSED_PIPE, "")


@pytest.mark.slow
def test_a_closed_pipe_of_the_tables(tmp_path):
    code, errors = closed("reproduce", "--out", tmp_path / "out", *TINY)
    assert code == Code.CLOSED_PIPE
    assert "Traceback" not in errors
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_a_closed_pipe_of_the_bar(tmp_path):
    assert closed("reproduce", "--out", tmp_path / "out", *TINY, stderr=subprocess.STDOUT)[0] == Code.CLOSED_PIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("list",), ("--help",)])
def test_a_full_disk_below_the_output_is_a_sentence(arguments):
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full)
        _, errors = process.communicate(timeout=60)
    assert errors == "o2nc: Cannot write the output: No space left on device.\n"
    assert process.returncode == Code.FAILED


def test_an_interruption_is_130_and_no_traceback(tmp_path):
    out = tmp_path / "out"
    process = start("reproduce", "--out", out, "--replications", 200, "--jobs", 1)
    while not (out / "settings.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == Code.INTERRUPTED
    assert "Traceback" not in errors
    assert errors.rstrip().endswith("o2nc: interrupted.")


def test_a_bug_is_no_disagreement(capsys):
    def bug():
        raise RuntimeError("a bug")

    assert codes.ended(bug) == Code.BUG
    assert "RuntimeError: a bug" in capsys.readouterr().err


@pytest.mark.parametrize("page", ["the help", "docs/api/experiments.md"])
def test_every_code_is_documented(page):
    text = invoke("--help").output.replace("│", " ") if page == "the help" else (ROOT / page).read_text()
    for code in Code:
        assert f"{code:d} {code.words}" in " ".join(text.replace("|", " ").split())
