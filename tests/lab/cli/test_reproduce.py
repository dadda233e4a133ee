"""`o2nc reproduce`: a reduced reproduction, starting again, exit codes, errors."""

import json

import pytest

from o2nc.lab import cli
from o2nc.lab.paper import published as paper
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.paper.findings import findings
from o2nc.lab.runner import backends
from reduced import REPLICATIONS, invoke, reduced

OUTPUTS = {"settings.json", "cells", "results.nc", "tables.json", "tables.md", "tables.tex", "figures", "report.html"}
TINY = ("--replications", 2, "--iterations", 3, "--jobs", 1)


@pytest.fixture(name="reduced", scope="module")
def _reduced():
    return reduced()


@pytest.mark.slow
def test_the_reduced_reproduction_agrees_where_it_says_so(reduced):
    out, result = reduced
    found = json.loads((out / "tables.json").read_text())
    verdicts = [entry["agrees"] for entry in found["agreement"]]
    assert len(verdicts) == 117
    assert None not in verdicts
    assert result.exit_code == (0 if all(verdicts) else 1), result.output
    assert f"Of 117 published cells {verdicts.count(True)} agree" in result.output
    assert {p.name for p in out.iterdir()} == OUTPUTS


@pytest.mark.slow
def test_started_again_it_computes_nothing(reduced, monkeypatch):
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    out, first = reduced
    before = {p.name: p.stat().st_mtime_ns for p in (out / "cells").iterdir()}
    result = invoke("reproduce", "--out", out, "--replications", REPLICATIONS, "--jobs", 1)
    assert {p.name: p.stat().st_mtime_ns for p in (out / "cells").iterdir()} == before
    assert result.exit_code == first.exit_code


@pytest.mark.slow
def test_other_settings_in_the_same_directory(reduced):
    result = invoke("reproduce", "--out", reduced[0], "--replications", 7)
    assert result.exit_code == 2
    assert "holds a run with other settings: replications 6 (now 7); choose another --out." in result.stderr


def test_a_damaged_cell_stops_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    options = ("reproduce", "--out", tmp_path / "out", *TINY)
    assert invoke(*options).exit_code == 4  # iteration 3000 is not reached
    cell = next((tmp_path / "out" / "cells").iterdir())
    cell.write_bytes(cell.read_bytes()[:100])
    result = invoke(*options)
    assert result.exit_code == 3
    assert "is damaged" in result.stderr


def test_a_cell_that_disagrees_is_exit_code_1(tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    monkeypatch.setitem(paper.CONSTANTS["f1"], "beta", "9")
    options = ("reproduce", "--out", tmp_path / "out", *TINY)
    result = invoke(*options, "--seeds", 1)
    assert result.exit_code == 1
    assert "In 0 of 1 further seeds every cell agrees." in result.output
    assert "disagrees: constants, f1 beta: published 9, measured 8" in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--iterations", 30000), "`--iterations` must be at most the declared horizon 20000"),
        (("--replications", 1), "`--replications` must be a whole number, at least 2"),
        (("--backend", "cupy"), "`--backend` must be one of numpy, torch, jax"),
        (("--dtype", "int8"), "`--dtype` must be one of float64, float32"),
        (("--engine", "slurm"), "`--engine` must be one of joblib, dask, ray"),
        (("--jobs", 0), "`--jobs` must be at least 1"),
        (("--seeds", -1), "`--seeds` must be a whole number, at least 0"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(tmp_path, arguments, sentence):
    result = invoke("reproduce", "--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_an_error_before_the_run_has_the_screen_for_itself(tmp_path):
    (tmp_path / "file").write_text("")
    result = invoke("reproduce", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "cells" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_the_numbers_are_printed_in_full_on_a_narrow_screen(reduced):
    printed, found = reduced[1].output, json.loads((reduced[0] / "tables.json").read_text())
    tight = found["certificates_by_method"]["f2"]["learned"]["tight"]
    row = next(line for line in printed.splitlines() if line.startswith("f2 learned") and "+-" in line)
    assert f"{tight['bound']:.4f}+-" in row
    assert "…" not in printed


def test_a_missing_library_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(backends.importlib.util, "find_spec", lambda name: None)
    result = invoke("reproduce", "--out", tmp_path / "out", "--backend", "torch")
    assert result.exit_code == 3
    assert "pip install 'o2nc[torch]'" in result.stderr


def test_the_command_line_only_parses_and_prints():
    assert "numpy" not in vars(cli)


def test_a_short_run_says_what_it_did_not_reach(tmp_path, monkeypatch):
    monkeypatch.setattr(Reproduction, "write", lambda *arguments: None)
    found = Reproduction(replications=2, iterations=3).run(tmp_path / "out", jobs=1)
    assert found["summary"]["not_reached"] == 72
    assert "which this run did not reach" in findings(found)[0]
