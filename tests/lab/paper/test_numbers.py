"""The statistics against a hand computation, and the verdicts."""

import math

import numpy as np
import pytest

from o2nc.lab.objectives import objective
from o2nc.lab.paper import published as paper
from o2nc.lab.paper.agreement import agreement
from o2nc.lab.paper.methods import METHODS
from o2nc.lab.paper.numbers import certify, further_seeds, numbers
from o2nc.lab.runner.paired import Method
from o2nc.lab.runner.records import Record, merge, moments
from o2nc.lab.runner.statistics import favourable, interval_ends, mean, paired_interval, reduction
from o2nc.oracles import Constant


def record(values, T=3000):
    """A record whose replications have the given values of every metric at every iteration."""
    values = np.asarray(values, dtype=float)
    line, M2 = (np.full(T, v) for v in moments(values))
    metrics = ("gap", "average", "instant", "weight", "regret")
    return Record(
        np.arange(len(values)),
        dict.fromkeys(metrics, line),
        dict.fromkeys(metrics, M2),
        np.asarray([1, T]),
        dict.fromkeys(metrics, np.stack([values, values])),
        {name: np.abs(values) * T for name in ("Q", "N", "W", "clipped", "noise")} | {"final_gap": 0 * values},
    )


def test_by_hand():
    x, y = np.asarray([1.0, 2.0, 3.0]), np.asarray([2.0, 4.0, 9.0])
    assert mean(x) == (2.0, 1 / math.sqrt(3))
    low, high = paired_interval(x, y)  # differences -1, -2, -6: mean -3, s = sqrt(7)
    assert low == pytest.approx(-3 - 1.96 * math.sqrt(7 / 3))
    assert high == pytest.approx(-3 + 1.96 * math.sqrt(7 / 3))
    assert reduction(x, y).value == pytest.approx(60.0)
    # residuals x - 0.4 y = 0.2, 0.4, -0.6, variance 0.28, over the mean 5 of y and times 100
    assert reduction(x, y).stderr == pytest.approx(100 * math.sqrt(0.28 / 3) / 5)
    assert favourable(x, y, 128) == (128.0, 0.0)
    assert favourable(x, np.asarray([2.0, 1.0, 9.0]), 128).stderr == pytest.approx(128 * math.sqrt(2 / 27))


def test_errors_of_interval_ends_are_those_of_a_simulation():
    rng = np.random.default_rng(0)
    samples = rng.gamma(2.0, size=(4000, 128))
    ends = np.asarray([[end.value for end in interval_ends(s, np.zeros(128), 128)] for s in samples])
    errors = np.asarray([[end.stderr for end in interval_ends(s, np.zeros(128), 128)] for s in samples[:200]])
    np.testing.assert_allclose(errors.mean(0), ends.std(0), rtol=0.05)


def test_merging_is_the_same_as_together():
    values = np.random.default_rng(1).normal(3.0, 1e-3, size=7)
    parts = [record(values[:3], T=2), record(values[3:], T=2)]
    both = merge(parts)
    assert both.R == 7
    np.testing.assert_allclose(both.std("gap"), values.std(ddof=1))
    np.testing.assert_allclose(both.mean["gap"], values.mean())


def test_cells_agree_within_four_errors_of_the_difference():
    published = paper.digits(paper.RESULTS["f1"]["sgd"]["gap"]).value
    noise = np.where(np.arange(128) % 2, 1.0, -1.0) * 1e-6
    stderr = noise.std(ddof=1) / math.sqrt(128)
    for shift, verdict in ((5.5, True), (5.8, False)):  # 4 sqrt(2) = 5.66
        values = published + noise + shift * stderr
        entries = agreement({"f1": {"sgd": record(values), "hedge": record(values / 2)}})
        entry = next(e for e in entries if (e["table"], e["cell"]) == ("results", "f1 sgd gap"))
        assert entry["agrees"] is verdict
        assert entry["published"] == published
        assert entry["stderr"] == pytest.approx(stderr)


def test_the_published_numbers_that_are_not_random_agree():
    exact = [e for e in agreement({}) if e["table"] in ("definitions", "initialisation", "constants")]
    assert len(exact) == 45
    assert all(e["agrees"] for e in exact)


def test_a_short_run_has_no_verdict_on_iteration_3000():
    entries = agreement({"f1": {"sgd": record([1.0, 2.0], T=50), "hedge": record([1.0, 2.0], T=50)}})
    assert {e["agrees"] for e in entries if e["table"] == "results"} == {None}


def test_the_parts_of_the_gain_add_up():
    rng = np.random.default_rng(2)
    records = {"f1": {m: record(rng.uniform(0.1, 1, 9), T=5) for m in METHODS}}
    found = numbers(records, iterations=5)
    parts, results = found["decomposition"]["f1"], found["results"]["f1"]
    total = results["sgd"]["gap"] - results["hedge"]["gap"]
    assert parts["tracker"] + parts["prior"] + parts["learning"] == pytest.approx(total)
    assert parts["tracker"] == pytest.approx(results["sgd"]["gap"] - results["identity"]["gap"])
    assert parts["learning"] == pytest.approx(results["frozen"]["gap"] - results["hedge"]["gap"])
    low, high = parts["intervals"]["prior"]
    assert low < parts["prior"] < high
    learned = found["decomposition_learned"]["f1"]
    assert learned["prior"] == parts["prior"]
    assert learned["learning"] == pytest.approx(results["frozen"]["gap"] - results["learned"]["gap"])
    assert learned["total"] == pytest.approx(results["sgd"]["gap"] - results["learned"]["gap"])


def test_the_certificate_with_the_regret_takes_the_linear_one():
    run = record([0.3, 0.4], T=20000)
    methods = [Method("one", "one", lambda f, like: Constant(), kappa=kappa) for kappa in (0.0, 16.0)]
    linear, descent = (certify(method, "f1", run, 20000) for method in methods)
    c = objective("f1").constants(20000)
    run.sums["N"][:] *= 2.0  # W - N < 0: the linear regret is larger
    larger = certify(methods[1], "f1", run, 20000)["tight_regret"]["terms"]["regret"]
    assert linear["tight_regret"]["terms"]["regret"] == descent["tight_regret"]["terms"]["regret"]  # W = N
    shift = 16 * c.beta * c.eta * 0.35  # twice kappa beta eta / 2 times N - W a round
    assert larger == pytest.approx(linear["tight_regret"]["terms"]["regret"] + shift)
    assert "theorem1" in linear
    assert "theorem1" not in descent
    assert descent["theorem"]["name"].startswith("Sharp theorem")


def test_further_seeds_are_counted():
    good = [{"table": "results", "cell": "f1", "agrees": True}]
    bad = [{"table": "results", "cell": "f2", "agrees": False}]
    assert further_seeds({1: good, 2: bad}) == {"seeds": 2, "agree": 1, "disagreeing": {"2": ["results: f2"]}}
