"""Kills at random moments, bits turned and a disk that fills up, as many as wanted, and two commands at once.

The numbers of kills and of bits are `O2NC_KILLS` and `O2NC_BITS`, small if not given.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from attacked import LongCell, end, read_turned, same, turned
from o2nc.lab.nonsmooth.experiment import NonsmoothExperiment
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner.store import PART, Store

pytestmark = pytest.mark.slow

KILLS, BITS = int(os.environ.get("O2NC_KILLS", 4)), int(os.environ.get("O2NC_BITS", 200))
LIVES = 2  # kills of one directory, which then runs to its end
RUNS = {
    "reproduce": (Reproduction(replications=2, iterations=1000), ("--replications", 2, "--iterations", 1000), 4),
    "nonsmooth": (
        NonsmoothExperiment(replications=2, T=48, horizons=(24,)),
        ("--replications", 2, "--T", 48, "--horizon", 24),
        0,
    ),
}


def start(command, out, *options):
    """The command in a process and a session of its own, with one worker beside it."""
    words = [sys.executable, "-m", "o2nc", command, "--out", out, *options]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([str(word) for word in words], start_new_session=True, **streams)


def killed(process, lasted, rng):
    """How a process ended that was killed at a random moment of the time that it took before; it may be faster."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0.05, 1.0) * lasted)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode


def timed(command, out, *options):
    """The seconds that a command takes, its exit code and its errors."""
    began = time.monotonic()
    process = start(command, out, *options)
    _, errors = process.communicate(timeout=900)
    return time.monotonic() - began, process.returncode, errors


def kept(store, cells):
    """The finished cells of a directory, each of which must be whole."""
    return {store.path(cell).name: store.read(cell) for cell in cells if store.path(cell).exists()}


@pytest.mark.parametrize("command", RUNS)
def test_killed_at_random_moments_it_ends_with_the_same_files(tmp_path, command):
    experiment, options, code = RUNS[command]
    whole, rng, told = tmp_path / "whole", random.Random(f"{command} {KILLS}"), []
    lasted, ended, errors = timed(command, whole, *options, "--jobs", 2)
    assert ended == code, errors
    cells = experiment.cells()
    for life in range(-(-KILLS // LIVES)):
        out, seen = tmp_path / f"killed {life}", {}
        store = Store(out, experiment)
        for _ in range(min(LIVES, KILLS - life * LIVES)):
            ended = killed(start(command, out, *options, "--jobs", 2), lasted, rng)
            found = kept(store, cells)
            assert seen.keys() <= found.keys(), "a finished cell is lost"
            assert all(same(found[name], records) for name, records in seen.items())
            told.append((ended, len(found)))
            seen = found
        _, ended, errors = timed(command, out, *options, "--jobs", 2)
        assert ended == code, errors
        assert equal(whole, out)
    dead = [count for ended, count in told if ended == -signal.SIGKILL]
    during = sum(count < len(cells) for count in dead)
    print(f"{command}: {len(told)} tries, {len(dead)} killed, {during} of them before the last of {len(cells)} cells")
    print(f"  exit codes and finished cells: {told}")


def equal(whole, out):
    """Whether two directories have the same names, and byte by byte the same files; archives have dates."""
    names = [sorted(p.relative_to(top) for p in top.rglob("*")) for top in (whole, out)]
    assert names[0] == names[1]
    assert not [name for name in names[1] if PART.fullmatch(name.name)]
    for name in names[0]:
        if name.suffix == ".npz":
            with np.load(whole / name) as one, np.load(out / name) as other:
                assert one.files == other.files
                assert all(np.array_equal(one[key], other[key]) for key in one.files), name
        elif name.suffix == ".nc":
            import xarray

            assert xarray.load_dataset(whole / name).identical(xarray.load_dataset(out / name))
        elif (whole / name).is_file():
            assert (whole / name).read_bytes() == (out / name).read_bytes(), name
    return True


@pytest.mark.parametrize("command", ["compare", "deterministic"])
def test_a_killed_command_leaves_its_old_file_or_the_new_one(tmp_path, command):
    options = {
        "compare": ("--objective", "f4", "--replications", 2, "--iterations", 2),
        "deterministic": ("--objective", "wine-svm"),
    }[command]
    one, other = {"compare": (("--seed", 0), ("--seed", 1)), "deterministic": (("--calls", 5), ("--calls", 6))}[command]
    path, rng, ends = tmp_path / "found.json", random.Random(f"{command} {KILLS}"), []
    timed(command, path, *options, *other)
    new = path.read_bytes()
    timed(command, path, *options, *one)
    old = path.read_bytes()
    assert old != new
    for _ in range(max(KILLS // 4, 1)):
        lasted, *_ = timed(command, path, *options, *one)
        ended = killed(start(command, path, *options, *other), lasted, rng)
        ends.append((ended, {old: "old", new: "new"}[path.read_bytes()]))
        assert (ended == 0) <= (path.read_bytes() == new)
    print(f"{command}: {ends}")


def test_two_at_once(tmp_path):
    """One is refused, or comes after the other: never do both write."""
    experiment, options, code = RUNS["reproduce"]
    out = tmp_path / "out"
    both = [start("reproduce", out, *options, "--jobs", 1) for _ in range(2)]
    ends = [(process.communicate(timeout=600)[1], process.returncode) for process in both]
    assert code in [returned for _, returned in ends]
    for errors, returned in ends:
        assert returned in (code, 3)
        assert (returned == 3) == ("Another `o2nc reproduce` is at work in" in errors)
    assert Store(out, experiment).missing(experiment.cells()) == []


def test_two_at_once_with_one_file(tmp_path):
    path = tmp_path / "found.json"
    options = ("--objective", "f4", "--replications", 2, "--iterations", 2)
    both = [start("compare", path, *options, "--seed", seed) for seed in (0, 1)]
    for process in both:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
    assert json.loads(path.read_text())["settings"]["seed"] in (0, 1)
    assert os.listdir(tmp_path) == [path.name]


def test_bits_of_a_small_cell(tmp_path):
    store, cell = Store(tmp_path / "out", RUNS["reproduce"][0]), LongCell("f1", ("sgd",), 0, 2)
    store.open()
    store.write(cell, cell.run())
    bits = 8 * store.path(cell).stat().st_size
    counts = read_turned(store, cell, random.Random(BITS).sample(range(bits), min(bits, 10 * BITS)))
    print(f"a small cell of {bits} bits: {counts}")
    assert not counts["wrong"]


@pytest.mark.parametrize("command", RUNS)
def test_bits_of_a_cell_of_each_experiment(tmp_path, command):
    experiment = RUNS[command][0]
    store, cell = Store(tmp_path / "out", experiment), experiment.cells()[0]
    store.open()
    store.write(cell, cell.run())
    bits = 8 * store.path(cell).stat().st_size
    counts = read_turned(store, cell, random.Random(BITS).sample(range(bits), BITS))
    print(f"a cell of {command} of {bits} bits: {counts}")
    assert not counts["wrong"]


def test_bits_under_the_command(tmp_path, monkeypatch):
    """The exit code and the sentence, or the same numbers."""
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    out, (experiment, options, code) = tmp_path / "out", RUNS["reproduce"]
    _, printed, _ = end("reproduce", "--out", out, *options, "--jobs", 1)
    path = Store(out, experiment).path(experiment.cells()[0])
    content, rng, ends = path.read_bytes(), random.Random(BITS), []
    for _ in range(BITS // 50):
        path.write_bytes(turned(content, rng.randrange(8 * len(content))))
        found, again, errors = end("reproduce", "--out", out, *options, "--jobs", 1)
        ends.append(found)
        assert (found, again) == (code, printed) or (found == 3 and "is damaged or was not written by" in errors)
        assert "Traceback" not in errors
    print(f"reproduce after one bit: exit codes {ends}")
    assert 3 in ends


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a small disk, which needs root")
def test_a_disk_that_fills_up_at_any_file(tmp_path):
    disk, sizes = tmp_path / "disk", (0, 100, 420, 560, 600, 3000, 5470, 5560, 5700)
    disk.mkdir()
    options, told = ("--replications", 2, "--iterations", 3, "--jobs", 1), []
    mount = ["mount", "-t", "tmpfs", "-o"]
    if subprocess.run([*mount, "size=16k", "tmpfs", disk], check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        for size in sizes:
            subprocess.run([*mount, f"remount,size={16 + size}k", "tmpfs", disk], check=True)
            code, _, errors = end("reproduce", "--out", disk / "out", *options)
            assert code == 3, errors
            assert "Traceback" not in errors
            sentence = errors.strip().splitlines()[-1]
            assert "Cannot write" in sentence or "Cannot use" in sentence
            told.append(sentence.split(": ")[1].rpartition("/")[2][:20])
        subprocess.run([*mount, "remount,size=64m", "tmpfs", disk], check=True)
        code, _, errors = end("reproduce", "--out", disk / "out", *options)
        assert code == 4, errors
        print(f"full at {told}, and then whole")
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
