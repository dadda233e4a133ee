"""Every command on bad streams, places, names, numbers and files: an exit code and a sentence, and nothing is lost."""

import errno
import json
import os
import random
from pathlib import Path

import pytest

from attacked import FULL, LongCell, end, read_turned, stream, turned
from o2nc.lab.cli import app
from o2nc.lab.cli.codes import Code
from o2nc.lab.compare import comparison
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.runner import store as stores
from o2nc.lab.runner.store import ForeignError, Store, alone, as_json, check_file, marked

SMALL = Reproduction(replications=2, iterations=3)
TINY = ("--replications", 2, "--iterations", 2)
CERTIFY = ("certify", "--M", 1, "--beta", 4, "--sigma", 0.5, "--T", 100, "--regret", 10)
COMPARE = ("compare", "--objective", "f4", *TINY, "--jobs", 1)
DETERMINISTIC = ("deterministic", "--objective", "wine-svm", "--tol", 100)
PRINTING = [("list",), CERTIFY, ("run", "--objective", "f4", *TINY), COMPARE, DETERMINISTIC]
SETTINGS = ("--replications", 2, "--iterations", 3, "--jobs", 1)
WRITING = [("reproduce", *SETTINGS), ("nonsmooth", "--T", 24, "--horizon", 12, "--replications", 2, "--jobs", 1)]


@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: arguments[0])
def test_a_closed_pipe_of_every_command_is_silent(arguments):
    with stream("closed") as nobody:
        code, _, errors = end(*arguments, stdout=nobody)
    assert code == Code.CLOSED_PIPE
    assert "o2nc:" not in errors
    assert "Traceback" not in errors


needs_full = pytest.mark.skipif(not Path(FULL).exists(), reason="needs /dev/full")


@needs_full
@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: arguments[0])
def test_a_full_disk_below_the_output_of_every_command(arguments):
    with stream("full") as full:
        code, _, errors = end(*arguments, stdout=full)
    assert code == Code.FAILED
    assert "o2nc: Cannot write the output: No space left on device." in errors


@needs_full
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "expected"), [("closed", Code.CLOSED_PIPE), ("full", Code.FAILED)])
@pytest.mark.parametrize("arguments", WRITING, ids=lambda arguments: arguments[0])
def test_tables_that_cannot_be_printed_are_in_the_directory(tmp_path, arguments, kind, expected):
    with stream(kind) as nobody:
        code, _, errors = end(*arguments, "--out", tmp_path / "out", stdout=nobody)
    assert code == expected
    assert ("o2nc: Cannot write the output: No space left on device." in errors) == (kind == "full")
    assert "Traceback" not in errors
    assert (tmp_path / "out" / "tables.json").exists()
    assert (tmp_path / "out" / "report.html").exists()


def test_every_command_is_tried_on_a_closed_pipe_and_a_full_disk():
    """`plot` in the tests of training logs, and `play` in those of the page."""
    tried = {arguments[0] for arguments in (*PRINTING, *WRITING)}
    assert tried | {"plot", "play"} == {command.name for command in app.registered_commands}


@needs_full
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(("run", "--objective", "f9"), 2), (CERTIFY, 0), (("no such command",), 3), (DETERMINISTIC, 3)],
    ids=["a sentence", "no error", "of click", "the bar"],
)
def test_errors_that_cannot_be_written_keep_their_code(arguments, expected):
    with stream("full") as full:
        code, _, _ = end(*arguments, stderr=full)
    assert code == expected


@needs_full
@pytest.mark.parametrize("command", ["compare", "deterministic"])
def test_a_device_is_no_file_of_ours(command):
    code, _, errors = end(command, "--out", FULL)
    assert code == Code.USAGE
    assert f"{FULL} exists and was not written by `o2nc {command}`" in errors


@pytest.mark.parametrize(
    "name",
    ["two words", "-", "--seed", "ünï中文", "a\nb", "[red]", "%s{0}$HOME", "'\"", "x" * 240, os.fsdecode(b"\xff\xfe")],
)
def test_odd_names_are_names(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert end(*COMPARE, "--out", name)[0] == Code.DONE
    assert json.loads(Path(name).read_text())["format"].endswith("compare")
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("command", ["compare", "deterministic", "reproduce", "nonsmooth"])
def test_an_empty_name_and_one_that_is_too_long_are_sentences(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    code, _, errors = end(command, "--out", "")
    assert code == Code.USAGE
    assert "it is empty." in errors
    code, _, errors = end(command, "--out", "x" * 256)
    assert code == Code.FAILED
    assert "File name too long." in errors
    assert os.listdir(tmp_path) == []


def test_a_huge_foreign_file_is_not_read(tmp_path):
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(2**43)
    with pytest.raises(ForeignError, match="exists and was not written by"):
        check_file(path, "compare")
    assert path.stat().st_size == 2**43


def test_a_file_that_came_meanwhile_stays_and_the_numbers_are_printed(tmp_path, monkeypatch):
    path, compare = tmp_path / "found.json", comparison.compare
    theirs = as_json(marked("deterministic", {"years": "of work"}))
    monkeypatch.setattr(comparison, "compare", lambda *given: path.write_text(theirs) and compare(*given))
    code, printed, errors = end(*COMPARE, "--out", path)
    assert code == Code.USAGE
    assert "exists and was not written by `o2nc compare`" in errors
    assert "best fixed expert in hindsight" in printed
    assert path.read_text() == theirs


def test_a_disk_that_is_full_by_the_end_leaves_the_old_file_and_prints_the_numbers(tmp_path, monkeypatch):
    path = tmp_path / "found.json"
    assert end(*COMPARE, "--out", path)[0] == Code.DONE
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(stores.os, "fsync", full)
    code, printed, errors = end(*COMPARE, "--seed", 1, "--out", path)
    assert code == Code.FAILED
    assert f"Cannot write {path}: No space left on device." in errors
    assert "best fixed expert in hindsight" in printed
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_disk_that_is_full_at_the_netcdf_file_is_a_sentence(tmp_path, monkeypatch):
    import xarray

    def full(*arguments, **options):
        raise RuntimeError("NetCDF: HDF error")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", full)
    monkeypatch.setattr("o2nc.lab.runner.experiment.write_figure", lambda *arguments: None)
    code, _, errors = end("reproduce", "--out", tmp_path / "out", *SETTINGS)
    assert code == Code.FAILED
    assert "results.nc: NetCDF: HDF error (the disk may be full)." in errors
    assert "Traceback" not in errors


def test_what_killed_runs_left_goes_and_a_hidden_file_of_somebody_else_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    (tmp_path / ".film.part").write_text("half of it")
    left = [tmp_path / folder / f".o2nc-{'0' * 32}.part" for folder in ("", "cells", "figures")]
    assert end("reproduce", "--out", tmp_path, *SETTINGS)[0] == Code.NOT_REACHED
    (tmp_path / "figures").mkdir()
    for path in left:
        path.write_text("of a run that was killed")
    assert end("reproduce", "--out", tmp_path, *SETTINGS)[0] == Code.NOT_REACHED
    assert (tmp_path / ".film.part").read_text() == "half of it"
    assert not any(path.exists() for path in left)


def test_two_at_once_in_one_directory(tmp_path):
    out = tmp_path / "out"
    with alone(out, "`o2nc nonsmooth`"):
        code, _, errors = end("reproduce", "--out", out, *SETTINGS)
        assert code == Code.FAILED
        assert f"Another `o2nc reproduce` is at work in {out}; wait for it" in errors
        assert os.listdir(out) == []
    with alone(out, "`o2nc reproduce`"):
        pass


def test_too_little_memory_is_a_sentence(monkeypatch):
    def greedy(*arguments, **options):
        raise MemoryError("Unable to allocate 47.7 GiB")

    monkeypatch.setattr(comparison, "run_beside_sgd", greedy)
    code, _, errors = end("run", "--objective", "f4")
    assert (code, errors) == (Code.FAILED, "o2nc: not enough memory: Unable to allocate 47.7 GiB.\n")


NUMBERS = ["1", "0.5", "3", "1e-3", "1e6", "1e20", "1e-20", "1e30", "1e-30"]
WRONG = ["nan", "inf", "-inf", "0", "-1", "1e31", "1e-31", "1e154", "1e-154", "1e308", "1e-308", "5e-324"]
HORIZONS = [1, 2, 100, 10**9, 2**63, 10**20, 10**30]


def drawn(rng):
    """Options of `o2nc certify`: most of them could be meant, few are not numbers for it."""
    nonsmooth = rng.random() < 0.5
    names = ["--M", "--L", "--lam"] if nonsmooth else ["--beta", rng.choice(["--M", "--gap"])]
    given = {name: rng.choice(NUMBERS) for name in ("--sigma", "--regret", *names)} | {"--T": rng.choice(HORIZONS)}
    if rng.random() < 0.2:
        given[rng.choice(list(given))] = rng.choice(WRONG)
    if rng.random() < 0.05:
        given["--T"] = rng.choice([0, -1, 10**31, 10**400])
    return (["--nonsmooth"] if nonsmooth else []), given


def test_any_numbers_are_a_theorem_or_a_sentence():
    rng, codes = random.Random(0), {0: 0, 2: 0}
    for _ in range(200):
        flag, given = drawn(rng)
        code, printed, errors = end("certify", *flag, *(part for pair in given.items() for part in pair))
        codes[code] += 1
        assert "nan" not in printed
        assert "inf" not in printed
        assert bool(errors) == (code == 2)
    assert min(codes.values()) > 20


@pytest.mark.parametrize("name", ["--beta", "--gap", "--M", "--sigma", "--T", "--regret"])
def test_numbers_near_the_ends_of_float64_are_a_sentence(name):
    """Products of them would be infinite, or 0, which is no bound."""
    usual = {"--beta": 1, "--gap": 1, "--sigma": 1, "--T": 100, "--regret": 1}
    for number in (10**31, 10**400) if name == "--T" else ("1e-308", "5e-324", "1.1e30", "-1e308"):
        code, _, errors = end("certify", *(part for pair in (usual | {name: number}).items() for part in pair))
        assert code == Code.USAGE
        assert f"`{name}` must be 0 or lie between 1e-30 and 1e+30 in size" in errors


def certified(**given):
    """The bounds of all theorems that the command prints; none if T is too small for them."""
    words = [part for name, number in given.items() for part in (f"--{name}", number)]
    code, printed, errors = end("certify", *(["--nonsmooth"] if "lam" in given else []), *words)
    assert code == 0 or "`--T` must be at least 2^(7/4)" in errors
    return [float(line.split()[1]) for line in printed.splitlines() if line.startswith("  bound ")]


@pytest.mark.parametrize("names", [("M", "beta"), ("M", "L", "lam")], ids=["smooth", "nonsmooth"])
def test_numbers_at_the_ends_of_what_is_allowed(names):
    """A bound is proportional to a power of the objective: of numbers that left float64 it would not be."""
    power, rng, compared = 4 - len(names), random.Random(0), 0
    for _ in range(60):
        numbers = {name: rng.choice([2.0**-99, 1.0, 2.0**69]) for name in (*names, "sigma", "regret")}
        T = rng.choice([1, 10**9, 10**30])
        found, scaled = certified(**numbers, T=T), certified(**{name: 2.0**30 * a for name, a in numbers.items()}, T=T)
        assert [2.0 ** (30 * power) * bound for bound in found] == pytest.approx(scaled, rel=1e-5, abs=0)
        compared += len(found)
    assert compared > 60


@pytest.fixture
def long(tmp_path):
    store, cell = Store(tmp_path / "out", SMALL), LongCell("f1", ("sgd",), 0, 2)
    store.open()
    store.write(cell, cell.run())
    return store, cell


def test_every_bit_of_the_header_of_a_long_array(long):
    """NumPy reads as many numbers as the shape says: a shorter one never got to the checksum."""
    store, cell = long
    start = store.path(cell).read_bytes().index(b"\x93NUMPY", store.path(cell).read_bytes().index(b"mean/gap"))
    counts = read_turned(store, cell, range(8 * start, 8 * (start + 128)))
    assert counts == {"refused": 1024, "harmless": 0, "wrong": []}


def test_bits_of_a_cell(long):
    store, cell = long
    bits = 8 * store.path(cell).stat().st_size
    counts = read_turned(store, cell, random.Random(0).sample(range(bits), 400))
    assert not counts["wrong"]
    assert counts["refused"] > 200


def test_every_bit_of_the_settings(tmp_path):
    store = Store(tmp_path / "out", SMALL)
    store.open()
    header = store.directory / "settings.json"
    content, expected = header.read_bytes(), json.loads(header.read_bytes())
    accepted = 0
    for bit in range(8 * len(content)):
        header.write_bytes(turned(content, bit))
        try:
            store.open()
        except ForeignError:
            continue
        accepted += 1
        assert json.loads(header.read_bytes()) == expected
    assert accepted < 100  # white space in the place of white space


def test_every_bit_of_the_mark_of_a_file(tmp_path):
    path = tmp_path / "found.json"
    content = as_json(marked("compare", {"results": {}})).encode()
    for bit in range(8 * content.index(b",")):
        path.write_bytes(turned(content, bit))
        with pytest.raises(ForeignError, match="was not written by"):
            check_file(path, "compare")
