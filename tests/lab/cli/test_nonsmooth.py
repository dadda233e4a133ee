"""`o2nc nonsmooth`: all outputs of a small run, resuming, and what it refuses."""

import json

import pytest

from o2nc.lab.nonsmooth import theory
from o2nc.lab.nonsmooth.experiment import NonsmoothExperiment
from o2nc.lab.nonsmooth.methods import ALGORITHM2, FACTORS, METHODS
from o2nc.lab.objectives import of_kind
from reduced import invoke

pytestmark = pytest.mark.slow

NAMES = list(of_kind("nonsmooth"))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nonsmooth") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theory, "POINTS", 2)
        patch.setattr(theory, "GRID", 11)
        result = invoke("nonsmooth", "--out", directory, "--T", 24, "--replications", 2, "--horizon", 12, "--jobs", 1)
    assert result.exit_code in (0, 1), result.output  # two replications are few for the intervals
    assert "Smallest measure" in result.output
    return directory


def test_the_command_writes_all_that_it_promises(out):
    names = {path.name for path in out.iterdir()}
    assert names == {"settings.json", "cells", "tables.json", "tables.md", "tables.tex", "figures", "report.html"}
    assert {path.stem for path in (out / "figures").iterdir()} == {*NAMES, "rate", "ladder"}
    found = json.loads((out / "tables.json").read_text())
    assert set(found["results"]) == set(NAMES)
    for methods in found["results"].values():
        assert set(methods) == set(METHODS)
        for name, row in methods.items():
            assert row["measure"] > 0
            assert row["sharper"] <= row["measure_tau"] + 1e-12
            assert row["best"]["factor"] in FACTORS
            assert row["best"]["measure"] <= row["measure"]
            assert ("certificate" in row) == ("regret" in row) == (name in ALGORITHM2)
    assert [row["T"] for row in found["rate"]["bowl"]["rows"]] == [12, 24]
    assert "<script" in (out / "report.html").read_text()
    lower = found["sandwich"]["bowl"]
    assert all(low <= min(others) for low, *others in zip(*lower.values(), strict=True))


def test_what_is_there_is_kept_and_what_is_lost_is_computed_again(out, monkeypatch):
    settings = NonsmoothExperiment(replications=2, T=24, horizons=(12,))
    monkeypatch.setattr(theory, "POINTS", 2)
    monkeypatch.setattr(theory, "GRID", 11)
    before = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    first = json.loads((out / "tables.json").read_text())
    lost = sorted(before)[3]
    (out / "cells" / lost).unlink()
    monkeypatch.setattr(NonsmoothExperiment, "write", lambda *arguments: None)
    again = json.loads(json.dumps(settings.run(out, jobs=1)))
    after = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert [name for name in before if before[name] != after[name]] == [lost]
    assert again["results"] == first["results"]


def test_other_settings_and_wrong_ones_are_sentences(out):
    result = invoke("nonsmooth", "--out", out, "--T", 25, "--replications", 2, "--horizon", 12)
    assert result.exit_code == 2
    assert "holds a run with other settings" in result.stderr
    for arguments, sentence in (
        (("--lam", -1), "`--lam` must be finite and positive; got -1.0."),
        (("--replications", 1), "`--replications` must be a whole number, at least 2; got 1."),
        (
            ("--T", 1),
            "`--T` must be at least 3, for which all objectives have the tuned constants of Theorem 2; got 1.",
        ),
        (("--T", 3), "`--T` must be larger than 3.4 for a tuned discount between 0 and 1; got 3."),
        (("--horizon", 1), "`--horizon` must be at least 3, for which all objectives have the tuned constants"),
        (("--engine", "slurm"), "`--engine` must be one of joblib, dask, ray; got 'slurm'."),
    ):
        result = invoke("nonsmooth", "--out", out.parent / "other", *arguments)
        assert result.exit_code == 2
        assert sentence in result.stderr.replace("\n", " ")
