"""`o2nc compare`: its numbers are those of the runs, its rates come from the grid, its oracles from the command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from o2nc.cli import app
from o2nc.experiments.combination import LEARNERS, SETS, combination, sets_of, words
from o2nc.experiments.compare import COLUMNS, FACTORS, RATES, baselines, compare, named
from o2nc.experiments.methods import METHODS
from o2nc.experiments.noise import places
from o2nc.experiments.objectives import MORE_OBJECTIVES, OBJECTIVES, draw, objective
from o2nc.experiments.protocol import Cell, play, run
from o2nc.experiments.settings import Settings
from o2nc.losses import DescentLoss

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


def literal_segment(name, text, T, R):
    """A method with samples on the step, round by round with explicit iterates: (gaps at y_t, tracking state)."""
    f, like = objective(name), np.zeros(1)
    method = named(text)
    oracle, c = method.oracle(f, like), f.constants(20000)
    r = np.full((T + 1, R, 1), method.r) if method.r is not None else places(0, name, range(R), 0, T + 1)
    x, m = f.start(like) + np.zeros((R, f.d)), np.zeros((R, f.d))
    state, gaps, Q = oracle.init(x), [], np.zeros((R, 1))
    for t, xi in enumerate(draw(f, 0, range(R), 0, T, like)):
        delta = -c.eta * (oracle.play(state, m) @ m)
        y = x + r[t - 1] * delta  # r_t is drawn while round t - 1 ends; delta is 0 in the first round
        gap, g = f.gap_and_gradient(y)
        s = g + xi
        gaps.append(gap.mean())
        Q += np.sum(s * m, axis=-1, keepdims=True)
        state = oracle.learn(state, DescentLoss(s, m, 1 / c.G, method.kappa * c.beta * c.eta / 2))
        x, m = x + delta, (1 - c.a) * m + c.a * s
        m = m * np.minimum(1.0, c.G0 / np.maximum(np.linalg.norm(m, axis=-1, keepdims=True), 1e-300))
    return gaps, Q[:, 0]


@pytest.mark.parametrize("text", ["learned:r=1", "learned:kappa=4:r=uniform", "blind:r=0.5", "squint:kappa=1:r=1"])
@pytest.mark.parametrize("name", ["f3", "f8"])
def test_samples_elsewhere_on_the_step_are_a_plain_loop(name, text):
    T, R = 40, 3
    record = play(objective(name), [METHODS["sgd"], named(text)], Cell(name, ("sgd",), 0, R, iterations=T), 9)[text]
    gaps, Q = literal_segment(name, text, T, R)
    np.testing.assert_allclose(record.mean["gap"], gaps, rtol=1e-10)
    np.testing.assert_allclose(record.sums["Q"], Q, rtol=1e-9)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_libraries_agree_on_samples_elsewhere(backend):
    method = named("learned:r=uniform")
    cells = [Cell("f4", ("sgd",), 0, 3, iterations=50, backend=b) for b in ("numpy", backend)]
    expected, found = (play(objective("f4"), [method], cell)[method.name].mean["gap"] for cell in cells)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_comparison_has_the_certificate_of_the_place():
    texts = ["learned:r=uniform", "identity:r=1"]
    found = compare(["f4"], texts, SMALL).found["results"]["f4"]
    for text, r in zip(texts, ("uniform", 1.0), strict=True):
        assert found[text]["r"] == r
        assert "on the segment" in found[text]["certificates"]["tight"]["name"]
        assert "tight_regret" not in found[text]["certificates"]
    assert found["learned"]["r"] == 0
    assert "on the segment" not in found["learned"]["certificates"]["tight"]["name"]


def test_the_start_of_the_step_is_algorithm_1():
    found = compare(["f2"], ["learned:r=0"], SMALL).found["results"]["f2"]
    assert found["learned:r=0"]["gap"] == found["learned"]["gap"]


@pytest.mark.parametrize("name", OBJECTIVES | MORE_OBJECTIVES)
@pytest.mark.parametrize("kappa", [0.0, 16.0])
def test_the_scale_of_squint_bounds_the_range_of_the_losses(name, kappa):
    """At the ends of what the constants allow: |m| = G0, and |s| = S along a direction that P removes."""
    f, like = objective(name), np.zeros(1)
    oracle = combination("squint", kappa=kappa).oracle(f, like)
    c, P = f.constants(20000), f.projector(like)
    v = next(e - P @ e for e in np.eye(f.d) if np.linalg.norm(e - P @ e) > 0.1)
    m = c.G0 * v / np.linalg.norm(v)
    loss = DescentLoss(-f.S * m / c.G0, m, 1 / c.G, kappa * c.beta * c.eta / 2)
    assert float((loss(m) - loss(P @ m))[0]) == pytest.approx(oracle.scale, rel=1e-9)  # reached, so not too large


def test_the_words_of_an_oracle_name_the_sets_that_it_takes():
    f, like = objective("f4"), np.zeros(1)
    for name, learner in LEARNERS.items():
        for key, operators in SETS.items():
            if key in sets_of(name):
                learner.make(operators(f, like), 1.0, 1.0).init(np.zeros(f.d))
            else:
                with pytest.raises(TypeError):
                    learner.make(operators(f, like), 1.0, 1.0)
    assert sets_of("full-adagrad") == list(SETS)
    for name in ("learned", "blind"):
        assert f"kappa = {METHODS[name].kappa:g}" in words(name)


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
        (("--oracle", "ogd:box:rate=fast"), "An oracle is `name[:set][:rate=...][:kappa=...][:r=...]`; got"),
        (("--oracle", "ogd:box:kappa=50"), "`kappa` must be below 6080/129"),
        (("--oracle", "ogd:box:hull"), "An oracle is `name[:set][:rate=...][:kappa=...][:r=...]`; got"),
        (("--oracle", "learned:kappa=4:kappa=5"), "An oracle is `name[:set][:rate=...][:kappa=...][:r=...]`; got"),
        (("--oracle", "learned:r=end"), "An oracle is `name[:set][:rate=...][:kappa=...][:r=...]`; got"),
        (("--oracle", "learned:r=2"), "`r` must be None or a number in [0, 1]; got 2.0."),
        (("--oracle", "squint:box"), "`Squint(experts=...)` must"),
        (("--oracle", "squint:rate=1"), "`rate` must not be given for the oracle squint"),
        (("--oracle", "squinting"), "`oracle` must be one of"),
        (("--oracle", "sgd:kappa=3"), "`kappa` must not be given for sgd, which is shown no loss; got 3."),
        (("--oracle", "sgd:r=1"), "`r` must not be given for sgd"),
        (("--replications", 1), "`replications` must be a whole number, at least 2"),
        (("--jobs", 0), "`jobs` must be at least 1"),
        (("--out", "/nowhere/found.json"), "Cannot write /nowhere/found.json: /nowhere is not a directory."),
        (("--objective", "f4", "--replications", 2, "--iterations", 1, "--out", "/proc/found.json"), "Cannot write"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.output
