"""`o2nc compare`: its numbers are those of the runs, its rates come from the grid, its oracles from the command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from o2nc.cli import app
from o2nc.experiments.compare import COLUMNS, FACTORS, RATES, baselines, compare, named
from o2nc.experiments.methods import METHODS
from o2nc.experiments.objectives import MORE_OBJECTIVES, OBJECTIVES, draw, objective
from o2nc.experiments.protocol import Cell, play, run
from o2nc.experiments.settings import Settings

SMALL = Settings(replications=3, iterations=30)


def invoke(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


@pytest.fixture(scope="module")
def small():
    return compare(["f2", "f8"], ["adahedge:hull:kappa=4"], SMALL)


def test_the_papers_objectives_have_the_papers_numbers(small):
    records = run(Cell("f2", COLUMNS, 0, 3, iterations=30))
    for method, record in records.items():
        row = small.found["results"]["f2"][method]
        assert row["gap"] == record.at("gap", 30).mean()
        assert row["average"] == record.at("average", 30).mean()
        assert ("regret" in row) == ("certificates" in row) == (method != "sgd")
        np.testing.assert_array_equal(small.lines["f2"][method], record.mean["gap"])


@pytest.mark.parametrize("name", OBJECTIVES | MORE_OBJECTIVES)
def test_the_noise_is_that_of_the_objective(name):
    f, T, R = objective(name), 12, 2
    record = play(f, [METHODS["sgd"]], Cell(name, ("sgd",), 0, R, iterations=T), block=5)["sgd"]
    x, eta = f.start(np.zeros(1)) + np.zeros((R, f.d)), f.constants(20000).eta
    for t, xi in enumerate(draw(f, 0, range(R), 0, T, np.zeros(1))):
        gap, g = f.gap_and_gradient(x)
        np.testing.assert_allclose(record.mean["gap"][t], gap.mean(), rtol=1e-12)
        x = x - eta * (g + xi)


def test_the_rates_are_the_best_of_the_grid(small):
    for name, results in small.found["results"].items():
        for key, grid in baselines().items():
            assert tuple(grid) == (RATES if key == "adam" else FACTORS)
            records = play(objective(name), list(grid.values()), Cell(name, ("sgd",), 0, 3, iterations=30))
            gaps = {entry: records[method.name].mean["gap"][-1] for entry, method in grid.items()}
            assert results[key]["chosen"] == min(gaps, key=gaps.get)
            assert results[key]["gap"] == pytest.approx(min(gaps.values()), rel=1e-12)
        assert results["sgd-best"]["gap"] <= results["sgd"]["gap"]  # the paper's step size is in the grid


def test_the_best_fixed_expert_and_the_ratio(small):
    for name, results in small.found["results"].items():
        gaps = {key: results[key]["gap"] for key in ("identity", "projector")}
        assert small.found["hindsight"][name] == min(gaps, key=gaps.get)
        best = min(results[key]["gap"] for key in ("sgd", "identity"))
        for row in results.values():
            assert row["ratio"] == pytest.approx(row["gap"] / best)


def test_a_named_oracle_is_the_method_that_it_names():
    found = compare(["f4"], ["adahedge:hull:kappa=16", "learned:kappa=16"], SMALL).found["results"]["f4"]
    for text in ("adahedge:hull:kappa=16", "learned:kappa=16"):
        assert found[text]["gap"] == found["learned"]["gap"]
        assert found[text]["regret"] == found["learned"]["regret"]
    assert named("ogd:box:rate=0.5").conversion(objective("f1"), np.zeros(1)).oracle.eta == 0.5


def test_the_command(tmp_path):
    out = tmp_path / "found.json"
    options = ("--objective", "f5", "--objective", "f6", "--oracle", "ogd:box", "--replications", 2, "--iterations", 5)
    result = invoke(*options, "--jobs", 2, "--out", out)
    assert result.exit_code == 0, result.output
    found = json.loads(out.read_text())
    assert list(found["results"]) == ["f5", "f6"]
    assert {*COLUMNS, "sgd-best", "heavy-ball", "adam", "ogd:box"} == set(found["results"]["f5"])
    assert found["grid"]["adam"] == list(RATES)
    for text in ("best fixed expert in hindsight", "f6: gap (log scale)", "rates of Adam: 1e-05", "ogd:box"):
        assert text in result.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--objective", "f9"), "`objective` must be one of"),
        (("--oracle", "newton"), "`oracle` must be one of"),
        (("--oracle", "ogd:ball"), "`set` must be one of"),
        (("--oracle", "omd:box"), "`rate` must be given for the oracle omd."),
        (("--oracle", "ogd:box:rate=fast"), "An oracle is `name[:set][:rate=...][:kappa=...]`; got"),
        (("--oracle", "ogd:box:kappa=50"), "`kappa` must be below 6080/129"),
        (("--replications", 1), "`replications` must be a whole number, at least 2"),
        (("--jobs", 0), "`jobs` must be at least 1"),
        (("--objective", "f4", "--replications", 2, "--iterations", 1, "--out", "/nowhere/found.json"), "Cannot write"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.output
