"""`o2nc play`: what it says when it cannot start; the page itself is in tests/lab/playground."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import o2nc.lab.playground
from attacked import FULL, stream
from o2nc.lab.cli.codes import Code
from reduced import invoke


def test_without_panel_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "o2nc.lab.playground.page", raising=False)
    monkeypatch.delattr(o2nc.lab.playground, "page", raising=False)
    monkeypatch.setitem(sys.modules, "panel", None)
    result = invoke("play")
    assert result.exit_code == Code.FAILED
    assert "`o2nc play` needs Panel, which is not installed; `pip install 'o2nc[lab]'` brings it." in result.stderr


def test_a_port_that_is_taken_is_a_sentence():
    pytest.importorskip("panel", reason="the page needs the extra play")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = invoke("play", "--no-browser", "--port", port)
    assert result.exit_code == Code.FAILED
    assert f"Cannot use port {port} of 127.0.0.1: Address already in use." in result.stderr


@pytest.mark.skipif(not Path(FULL).exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("closed", (Code.CLOSED_PIPE, "")),
        ("full", (Code.FAILED, "o2nc: Cannot write the output: No space left on device.\n")),
    ],
)
def test_it_ends_if_its_address_cannot_be_printed(kind, expected):
    pytest.importorskip("panel", reason="the page needs the extra play")
    command = [sys.executable, "-m", "o2nc", "play", "--no-browser"]
    with stream(kind) as nobody:
        done = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (done.returncode, done.stderr) == expected
