"""A comparison: its numbers are those of the runs, its rates come from the grid, its oracles from their spelling."""

import numpy as np
import pytest

from o2nc.lab.compare.baselines import BASELINES, baselines
from o2nc.lab.compare.comparison import COLUMNS, compare
from o2nc.lab.compare.oracles import combination, learners, make_set, operator_sets, sets_of, spelled, words
from o2nc.lab.objectives import objective, of_kind
from o2nc.lab.paper.experiment import Reproduction
from o2nc.lab.paper.methods import METHODS
from o2nc.lab.runner.noise import places
from o2nc.lab.runner.paired import play
from o2nc.losses import DescentLoss

SMALL = Reproduction(replications=3, iterations=30)


@pytest.fixture(scope="module")
def small():
    return compare(["f2", "f8"], ["adahedge:hull:kappa=4"], SMALL)


def test_the_papers_objectives_have_the_papers_numbers(small):
    records = play(objective("f2"), [METHODS[key] for key in COLUMNS], range(3), 30)
    for method, record in records.items():
        row = small.found["results"]["f2"][method]
        assert row["gap"] == record.at("gap", 30).mean()
        assert row["average"] == record.at("average", 30).mean()
        assert ("regret" in row) == ("certificates" in row) == (method != "sgd")
        np.testing.assert_array_equal(small.lines["f2"][method], record.mean["gap"])


@pytest.mark.parametrize("name", of_kind("smooth"))
def test_the_noise_is_that_of_the_objective(name):
    f, T, R = objective(name), 12, 2
    record = play(f, [METHODS["sgd"]], range(R), T, block=5)["sgd"]
    x, eta = f.start(np.zeros(1)) + np.zeros((R, f.d)), f.constants(20000).eta
    for t, xi in enumerate(f.draw(0, range(R), 0, T, np.zeros(1))):
        gap, g = f.gap_and_gradient(x)
        np.testing.assert_allclose(record.mean["gap"][t], gap.mean(), rtol=1e-12)
        x = x - eta * (g + xi)


def test_the_rates_are_the_best_of_the_grid(small):
    for name, results in small.found["results"].items():
        for key, grid in baselines().items():
            assert tuple(grid) == BASELINES[key].grid
            records = play(objective(name), list(grid.values()), range(3), 30)
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
    found = compare(["f4"], ["adahedge:hull:kappa=16", "adahedge:kappa=16"], SMALL).found["results"]["f4"]
    for metric in ("gap", "regret"):
        assert found["adahedge:hull:kappa=16"][metric] == found["adahedge:kappa=16"][metric]
    assert spelled("ogd:box:rate=0.5").conversion(objective("f1"), np.zeros(1)).oracle.eta == 0.5


def test_an_oracle_that_is_not_known_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"`oracle` must be one of sgd, .*; got 'hegde'\. Did you mean 'hedge'\?"):
        spelled("hegde")


def literal_segment(name, text, T, R):
    """A method with samples on the step, round by round with explicit iterates: (gaps at y_t, tracking state)."""
    f, like = objective(name), np.zeros(1)
    method = spelled(text)
    oracle, c = method.oracle(f, like), f.constants(20000)
    r = np.full((T + 1, R, 1), method.r) if method.r is not None else places(0, name, range(R), 0, T + 1)
    x, m = f.start(like) + np.zeros((R, f.d)), np.zeros((R, f.d))
    state, gaps, Q = oracle.init(x), [], np.zeros((R, 1))
    for t, xi in enumerate(f.draw(0, range(R), 0, T, like)):
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


@pytest.mark.parametrize(
    "text", ["adahedge:kappa=16:r=1", "adahedge:kappa=4:r=uniform", "adagrad:box:kappa=4:r=0.5", "squint:kappa=1:r=1"]
)
@pytest.mark.parametrize("name", ["f3", "f8"])
def test_samples_elsewhere_on_the_step_are_a_plain_loop(name, text):
    T, R = 40, 3
    record = play(objective(name), [METHODS["sgd"], spelled(text)], range(R), T, block=9)[text]
    gaps, Q = literal_segment(name, text, T, R)
    np.testing.assert_allclose(record.mean["gap"], gaps, rtol=1e-10)
    np.testing.assert_allclose(record.sums["Q"], Q, rtol=1e-9)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_libraries_agree_on_samples_elsewhere(backend):
    method = spelled("adahedge:r=uniform")
    expected, found = (
        play(objective("f4"), [method], range(3), 50, backend=b)[method.name].mean["gap"] for b in ("numpy", backend)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_comparison_has_the_certificate_of_the_place():
    texts = ["adahedge:r=uniform", "identity:r=1"]
    found = compare(["f4"], texts, SMALL).found["results"]["f4"]
    for text, r in zip(texts, ("uniform", 1.0), strict=True):
        assert found[text]["r"] == r
        assert "on the segment" in found[text]["certificates"]["tight"]["name"]
        assert "tight_regret" not in found[text]["certificates"]
    assert found["learned"]["r"] == 0
    assert "on the segment" not in found["learned"]["certificates"]["tight"]["name"]


def test_the_start_of_the_step_is_algorithm_1():
    found = compare(["f2"], ["adahedge:r=0", "adahedge"], SMALL).found["results"]["f2"]
    assert found["adahedge:r=0"]["gap"] == found["adahedge"]["gap"]


@pytest.mark.parametrize("name", of_kind("smooth"))
@pytest.mark.parametrize("kappa", [0.0, 16.0])
def test_the_scale_of_squint_bounds_the_range_of_the_losses(name, kappa):
    """At the ends of what the constants allow: |m| = G0, and |s| = S along a direction that P removes."""
    f, like = objective(name), np.zeros(1)
    oracle = combination("squint", kappa=kappa).oracle(f, like)
    c, P = f.constants(20000), f.projector(like)
    v = next(e - P @ e for e in np.eye(f.d) if np.linalg.norm(e - P @ e) > 0.1)
    m = c.G0 * v / np.linalg.norm(v)
    loss = DescentLoss(-f.S * m / c.G0, m, 1 / c.G, kappa * c.beta * c.eta / 2)
    assert float((loss(m) - loss(P @ m))[0]) == pytest.approx(
        oracle.learner.scale, rel=1e-9
    )  # reached, so not too large


def test_the_words_of_an_oracle_name_the_sets_that_it_takes():
    f, like = objective("f4"), np.zeros(1)
    for name, learner in learners().items():
        for key in operator_sets():
            if key in sets_of(name):
                learner.make(make_set(key, f, like), 1.0, 1.0).init(np.zeros(f.d))
            else:
                with pytest.raises(TypeError):
                    learner.make(make_set(key, f, like), 1.0, 1.0)
    assert sets_of("full-adagrad") == list(operator_sets())
    for name in ("learned", "blind"):
        assert "prediction loss" in words(name)
