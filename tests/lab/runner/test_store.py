"""The directory of a run: resuming, damage, foreign files, full disks and dead workers."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from o2nc.lab.paper.experiment import Reproduction, ReproductionCell
from o2nc.lab.runner import engine, store
from o2nc.lab.runner.engine import EngineError, compute, processes
from o2nc.lab.runner.store import Store, StoreError

SMALL = Reproduction(replications=2, iterations=6)


@pytest.fixture
def opened(tmp_path):
    found = Store(tmp_path / "out", SMALL)
    found.open()
    return found


def fill(opened):
    compute(opened, opened.missing(SMALL.cells()), jobs=1)


def test_a_cell_comes_back_as_it_was(opened):
    cell = SMALL.cells()[0]
    records = cell.run()
    opened.write(cell, records)
    for method, record in opened.read(cell).items():
        for group in ("mean", "M2", "values", "sums"):
            expected = getattr(records[method], group)
            assert getattr(record, group).keys() == expected.keys()
            for key, array in expected.items():
                np.testing.assert_array_equal(getattr(record, group)[key], array)
    assert not list(opened.cells.glob("*.part"))


def test_only_what_is_missing_is_computed(opened, monkeypatch):
    cells = SMALL.cells()
    fill(opened)
    opened.path(cells[1]).unlink()
    computed = []
    run = ReproductionCell.run
    monkeypatch.setattr(ReproductionCell, "run", lambda cell: computed.append(cell) or run(cell))
    fill(opened)
    assert computed == [cells[1]]


@pytest.mark.parametrize("keep", [0, 10, 1000, -1])
def test_a_truncated_cell_is_a_sentence_and_stays(opened, keep):
    fill(opened)
    path = opened.path(SMALL.cells()[2])
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    with pytest.raises(StoreError, match="is damaged or was not written by"):
        opened.missing(SMALL.cells())
    assert path.read_bytes() == whole[:keep]


def test_a_flipped_byte_is_found(opened):
    fill(opened)
    path = opened.path(SMALL.cells()[0])
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError, match="is damaged"):
        opened.missing(SMALL.cells())


def test_a_cell_of_other_settings_under_our_name_is_refused(opened):
    mine, other = SMALL.cells()[0], Reproduction(replications=2, iterations=5).cells()[0]
    opened.write(other, other.run())
    opened.path(other).rename(opened.path(mine))
    with pytest.raises(StoreError, match="was made with other settings"):
        opened.missing(SMALL.cells())


def test_a_foreign_file_among_the_cells_is_refused(opened):
    (opened.cells / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"notes.txt is not a cell of this run; move it away"):
        opened.check_foreign(SMALL.cells())
    assert (opened.cells / "notes.txt").read_text() == "mine"


def test_cells_of_more_further_seeds_are_ours(opened):
    cell = SMALL.further_cells(3)[-1]
    opened.write(cell, cell.run())
    opened.check_foreign(SMALL.cells())


def test_other_settings_are_refused(opened):
    with pytest.raises(StoreError, match=r"other settings: seed 0 \(now 1\), iterations 6 \(now 7\); choose another"):
        Store(opened.directory, Reproduction(seed=1, replications=2, iterations=7)).open()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "something else"}'])
def test_a_foreign_header_is_refused(opened, content):
    (opened.directory / "settings.json").write_text(content)
    with pytest.raises(StoreError, match="written by"):
        opened.open()


def test_a_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"is not empty and not a directory of `o2nc reproduce` \(it holds thesis.tex"):
        Store(tmp_path, SMALL).open()
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_beside_our_outputs_is_refused(opened):
    (opened.directory / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match=r"did not write: thesis\.tex"):
        opened.open()


def test_a_file_in_place_of_the_directory_is_a_sentence(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(StoreError, match=r"Cannot use .* as a directory"):
        Store(tmp_path / "out", SMALL).open()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a file system that cannot be written, /proc")
def test_a_read_only_place_is_a_sentence():
    with pytest.raises(StoreError, match="Cannot use /proc/o2nc"):
        Store(Path("/proc/o2nc"), SMALL).open()


def test_a_full_disk_keeps_what_is_finished(opened, monkeypatch):
    cells = SMALL.cells()
    opened.write(cells[0], cells[0].run())

    def full(file, **arrays):
        file.write(b"some bytes")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(store.np, "savez", full)
    with pytest.raises(StoreError, match=r"Cannot write .*: No space left on device\."):
        compute(opened, opened.missing(cells), jobs=1)
    assert [p.name for p in opened.cells.iterdir()] == [opened.path(cells[0]).name]


def test_a_dead_worker_is_a_sentence_and_the_rest_is_kept(opened, monkeypatch):
    monkeypatch.setattr(engine, "_numbered", lambda i, cell: os._exit(9))
    with pytest.raises(EngineError, match=r"A worker failed .* finished cells are kept"):
        compute(opened, SMALL.cells(), jobs=2)
    monkeypatch.undo()
    compute(opened, opened.missing(SMALL.cells()), jobs=2)
    assert opened.missing(SMALL.cells()) == []


def test_a_dead_worker_of_other_work_is_a_sentence():
    with pytest.raises(EngineError, match=r"A worker failed \(.*\); start again, with fewer --jobs"):
        list(processes(os._exit, [(9,), (9,)], 2))


def test_no_more_processes_than_tasks_are_started(opened, monkeypatch):
    import joblib

    asked = []
    parallel = joblib.Parallel
    monkeypatch.setattr(joblib, "Parallel", lambda n_jobs, **options: asked.append(n_jobs) or parallel(1, **options))
    compute(opened, SMALL.cells()[:2], jobs=10**6)
    assert list(processes(abs, [(-1,), (-2,), (-3,)], 10**6)) == [1, 2, 3]
    assert asked == [2, 3]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"engine": "slurm"}, "`engine` must be one of joblib, dask, ray; got 'slurm'"),
        ({"jobs": 0}, "`jobs` must be at least 1"),
        ({"address": "tcp://127.0.0.1:1"}, "`address` needs `engine` dask or ray"),
    ],
)
def test_options_of_the_engine_are_checked(opened, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        compute(opened, SMALL.cells(), **options)


@pytest.mark.parametrize(
    "options", [{"engine": "slurm"}, {"jobs": 0}, {"jobs": -2}, {"address": "tcp://127.0.0.1:1"}, {"seeds": -1}]
)
def test_what_is_refused_leaves_no_directory(tmp_path, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        SMALL.run(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_missing_cluster_package_leaves_no_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda module: None)
    with pytest.raises(EngineError, match="needs the package"):
        SMALL.run(tmp_path / "out", engine="dask")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_missing_cluster_package_is_a_sentence(opened, name, monkeypatch):
    monkeypatch.setattr(engine.importlib.util, "find_spec", lambda module: None)
    with pytest.raises(EngineError, match=rf"needs the package .*: pip install 'o2nc\[{name}\]'"):
        compute(opened, SMALL.cells(), engine=name)


def start(out, *options):
    command = [sys.executable, "-m", "o2nc", "reproduce", "--out", str(out), "--jobs", "2"]
    command += options or ["--replications", "2", "--iterations", "400"]
    return subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_numbers(tmp_path):
    settings = Reproduction(replications=2, iterations=400)
    out, whole = tmp_path / "killed", tmp_path / "whole"
    seen = {}
    for wanted in (0, 1, 2, 3):
        process = start(out)
        deadline = time.monotonic() + 120
        while len(list((out / "cells").glob("*.npz"))) < wanted and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for path in (out / "cells").glob("*.npz"):
            assert seen.setdefault(path.name, path.stat().st_mtime_ns) == path.stat().st_mtime_ns, "computed twice"
    process = start(out)
    _, errors = process.communicate(timeout=180)
    assert process.returncode == 4, errors  # iteration 3000 is not reached
    assert all((out / "cells" / name).stat().st_mtime_ns == when for name, when in seen.items())
    assert not list(out.rglob(".*.part"))

    uninterrupted = Store(whole, settings)
    uninterrupted.open()
    compute(uninterrupted, settings.cells(), jobs=1)
    expected, found = (s.collect(settings.cells())[0] for s in (uninterrupted, Store(out, settings)))
    for name, methods in expected.items():
        for method, record in methods.items():
            for metric, values in record.values.items():
                np.testing.assert_allclose(found[name][method].values[metric], values, rtol=1e-12, atol=0)
    assert json.loads((out / "tables.json").read_text())["settings"]["iterations"] == 400


def workers_of(pid):
    """The workers that ``pid`` has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed if b"LokyProcess" in Path(f"/proc/{child}/cmdline").read_bytes()]


def alive(pid):
    """Whether the process runs: it may be a zombie that nobody has waited for."""
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path):
    with start(tmp_path / "out", "--iterations", "20000", "--replications", "128") as process:
        workers, deadline = [], time.monotonic() + 60
        while len(workers) < 2 and process.poll() is None and time.monotonic() < deadline:
            workers = workers_of(process.pid)
            time.sleep(0.05)
        time.sleep(4)  # they are at work
        process.kill()
        process.stderr.close()
    deadline = time.monotonic() + 10
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    left = [pid for pid in workers if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(workers) == 2
    assert not left
