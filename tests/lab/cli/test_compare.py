"""`o2nc compare`: its tables, charts and numbers, and what it refuses."""

import json

import pytest

from o2nc.lab.compare.baselines import BASELINES, RATES
from o2nc.lab.compare.comparison import COLUMNS
from reduced import invoke


def test_the_command(tmp_path):
    out = tmp_path / "found.json"
    options = ("--objective", "f5", "--objective", "f6", "--oracle", "ogd:box", "--replications", 2, "--iterations", 5)
    result = invoke("compare", *options, "--jobs", 2, "--out", out)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert list(found["results"]) == ["f5", "f6"]
    assert {*COLUMNS, *BASELINES, "ogd:box"} == set(found["results"]["f5"])
    assert found["grid"]["adam"] == list(RATES)
    for text in ("best fixed expert in hindsight", "f6: gap (log scale)", "rates of Adam: 1e-05", "ogd:box"):
        assert text in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--objective", "f9"), "`--objective` must be one of"),
        (("--oracle", "newton"), "`--oracle` must be one of"),
        (("--oracle", "ogd:ball"), "`set` must be one of"),
        (("--oracle", "omd:box"), "`rate` must be given for the oracle omd, as in omd:rate=0.1."),
        (("--oracle", "ogd:box:rate=fast"), "`--oracle` must be name[:set][:rate=...][:kappa=...][:r=...]; got"),
        (("--oracle", "ogd:box:kappa=5000"), "`kappa` must be at most c/a = "),
        (("--oracle", "ogd:box:hull"), "`--oracle` must be name[:set][:rate=...][:kappa=...][:r=...]; got"),
        (("--oracle", "adahedge:kappa=4:kappa=5"), "`--oracle` must be name[:set][:rate=...][:kappa=...][:r=...]; got"),
        (("--oracle", "adahedge:r=end"), "`--oracle` must be name[:set][:rate=...][:kappa=...][:r=...]; got"),
        (("--oracle", "adahedge:r=2"), "`r` must be None or a number in [0, 1]; got 2.0."),
        (("--oracle", "learned:kappa=4"), "`kappa` must not be given for learned, which is shown the prediction loss"),
        (("--oracle", "learned:r=1"), "`r` must not be given for learned, which takes its samples at its iterates"),
        (("--oracle", "squint:box"), "`Squint(experts=...)` must"),
        (("--oracle", "squint:rate=1"), "`rate` must not be given for the oracle squint"),
        (("--oracle", "squinting"), "`--oracle` must be one of"),
        (("--oracle", "sgd:kappa=3"), "`kappa` must not be given for sgd, which is shown no loss; got 3."),
        (("--oracle", "sgd:r=1"), "`r` must not be given for sgd"),
        (("--replications", 1), "`--replications` must be a whole number, at least 2"),
        (("--jobs", 0), "`--jobs` must be at least 1"),
        (("--out", "/nowhere/found.json"), "Cannot write /nowhere/found.json: /nowhere is not a directory."),
        (("--objective", "f4", "--replications", 2, "--iterations", 1, "--out", "/proc/found.json"), "Cannot write"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence):
    result = invoke("compare", *arguments)
    assert result.exit_code == (3 if "/proc/found.json" in arguments else 2)
    assert sentence in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["compare", "deterministic"])
def test_a_file_that_it_did_not_write_stays(tmp_path, command):
    path = tmp_path / "thesis.json"
    path.write_text('{"years": "of work"}')
    result = invoke(command, "--out", path)
    assert result.exit_code == 2
    assert f"{path} exists and was not written by `o2nc {command}`; choose another --out." in result.stderr
    assert path.read_text() == '{"years": "of work"}'


def test_its_own_file_is_replaced_also_with_brackets(tmp_path):
    path = tmp_path / "a[b][red].json"
    for _ in range(2):
        options = ("--objective", "f4", "--replications", 2, "--iterations", 2, "--jobs", 1)
        assert invoke("compare", *options, "--out", path).exit_code == 0
    assert json.loads(path.read_text())["format"].endswith("compare")


@pytest.mark.parametrize("command", [("reproduce",), ("compare",), ("run", "--objective", "f4"), ("nonsmooth",)])
def test_a_seed_above_64_bits_is_a_sentence(command):
    result = invoke(*command, "--seed", 2**64)
    assert result.exit_code == 2
    assert "`--seed` must be below 2^64" in result.stderr
