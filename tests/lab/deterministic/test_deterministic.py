"""`o2nc deterministic`: every call is counted, the certificate holds, the best rate is shown, errors are sentences."""

import json
import math
from functools import partial

import numpy as np
import pytest
import scipy.optimize

from o2nc.certificates import theorem1_segment
from o2nc.lab.deterministic.calls import Calls
from o2nc.lab.deterministic.experiment import deterministic
from o2nc.lab.deterministic.methods import METHODS, Normalised, ours
from o2nc.lab.objectives import objective, of_kind
from o2nc.losses import LinearLoss
from o2nc.oracles import AdaGrad
from o2nc.sets import Box
from o2nc.testing import check_oracle
from reduced import invoke

TOL, MOST = 1e-2, 300
convex_objective = partial(objective, kind="convex")


def run(method, name, *rate, tol=TOL, most=MOST):
    calls = Calls(convex_objective(name), tol, most)
    return calls, METHODS[method].make(calls, *rate)


@pytest.fixture(scope="module")
def found():
    return deterministic(["wine-logistic", "diabetes-svm"], TOL, MOST)


def test_gradient_descent_is_a_plain_loop():
    f = convex_objective("wine-svm")
    for factor in (1.0, 4.0):
        x, norms = np.zeros(f.d), []
        while not norms or norms[-1] > TOL:
            g = f.value_and_gradient(x)[1]
            norms.append(np.linalg.norm(g))
            x = x - factor / f.beta * g
        calls, _ = run("gd-best", "wine-svm", factor)
        np.testing.assert_allclose(calls.norms, norms, rtol=1e-12)
        assert calls.needed == len(norms)


def literal_ours(f, factor, n, normalised):
    """Steps -eta u g, u by AdaGrad in [0, 1] from the product of two successive gradients: the norms."""
    x, u, V, m, norms = np.zeros(f.d), np.ones(f.d), np.zeros(f.d), np.zeros(f.d), []
    for _ in range(n):
        s = f.value_and_gradient(x)[1]
        norms.append(np.linalg.norm(s))
        if np.any(m):
            p = -s * m / (m @ m if normalised else 1.0)
            V = V + p**2
            u = np.clip(u - p / np.sqrt(2 * V), 0, 1)
        m = s * min(1.0, math.sqrt(2 * f.M * f.beta) / norms[-1])
        x = x - factor / f.beta * u * m
    return norms


@pytest.mark.parametrize("factor", [1 / 64, 1.0, 16.0])
@pytest.mark.parametrize("normalised", [False, True])
def test_ours_is_a_plain_loop(factor, normalised):
    f, n = convex_objective("wine-svm"), 60
    oracle = AdaGrad(Box())
    calls = Calls(f, 1e-12, n)
    calls.follow(ours(f, n, factor, Normalised(oracle) if normalised else oracle))
    np.testing.assert_allclose(calls.norms, literal_ours(f, factor, n, normalised), rtol=1e-9)


def test_every_call_of_the_line_search_counts():
    """Against scipy called directly, and its own count."""
    f = convex_objective("cancer-svm")
    calls, more = run("l-bfgs", "cancer-svm", tol=1e-4)
    norms = []

    def direct(x):
        value, g = f.value_and_gradient(x)
        norms.append(np.linalg.norm(g))
        return value[0], g

    options = {"gtol": 1e-4 / math.sqrt(f.d), "ftol": 0, "maxfun": MOST, "maxiter": MOST}
    direct_result = scipy.optimize.minimize(direct, np.zeros(f.d), jac=True, method="L-BFGS-B", options=options)
    assert more["scipy"] == direct_result.nfev == len(calls.norms) == len(norms)
    assert calls.needed == 1 + next(k for k, norm in enumerate(norms) if norm <= 1e-4)
    assert direct_result.nfev > direct_result.nit + 1  # there was a line search with more than one call


@pytest.mark.parametrize("method", ["osgm-h", "osgm-r", "osgm-best"])
def test_null_steps_are_calls(method):
    calls, more = run(method, "wine-svm", *((100.0, 10.0) if method == "osgm-best" else (100.0,)), tol=1e-4)
    assert more["null_steps"] > 0
    assert calls.needed == len(calls.norms)


@pytest.mark.parametrize("name", of_kind("convex"))
def test_the_certificate_holds_since_the_values_never_grow(name):
    """The only place where the proof needs the range: f(x_t) - f* <= M = f(0) along the run."""
    f, n = convex_objective(name), 200
    conversion = ours(f, n, 1 / 64, AdaGrad(Box()))
    x, values, squares = np.zeros(f.d), [], []
    state = conversion.init(x)
    for _ in range(n):
        value, g = f.value_and_gradient(x)
        values.append(float(value[0]))
        squares.append(float(g @ g))
        dx, state = conversion.update(g, state)
        x = x + dx
    assert np.all(np.diff(values) <= 0)
    assert max(squares) <= conversion.constants.G0**2
    assert conversion.sums(state)["clipped"][0] == 0
    _, more = run("certified", name, tol=1e-12, most=n + 1)
    assert more["rounds"] == n
    assert more["average"] == pytest.approx(np.mean(squares), rel=1e-12)
    bound = theorem1_segment(conversion.constants, float(conversion.sums(state)["regret"][0])).bound
    assert more["average"] <= more["tight"] <= 1.2 * more["average"]
    assert more["tight"] <= bound <= more["a_priori"]


def test_the_practical_step_claims_other_constants():
    f = convex_objective("wine-svm")
    certified, practical = (ours(f, 100, factor, AdaGrad(Box())).constants for factor in (1 / 64, 8.0))
    assert (certified.M, certified.beta, certified.a) == (f.M, f.beta, 1.0)
    assert practical.eta == pytest.approx(8 / f.beta)
    assert (practical.G, practical.G0, practical.a) == pytest.approx((certified.G, certified.G0, 1.0))


def test_the_normalised_learner_is_a_learner():
    check_oracle(Normalised(AdaGrad(Box())), np.zeros(3), regret=False)
    oracle, plain, m = Normalised(AdaGrad(Box())), AdaGrad(Box()), np.asarray([3.0, 4.0])
    state = oracle.learn(oracle.init(m), LinearLoss(-m, m, 7.0))
    expected = plain.learn(plain.init(m), LinearLoss(-m, m, 1 / 25))
    np.testing.assert_allclose(state.V, expected.V)
    none = oracle.learn(oracle.init(m), LinearLoss(m, 0 * m, 1.0))
    assert none.u.tolist() == [1.0, 1.0]


def test_the_best_rate_is_shown(found):
    for name, results in found["results"].items():
        assert list(results) == list(METHODS)
        for key, row in results.items():
            tried = row["tried"]
            assert [tuple(entry["rate"]) for entry in tried] == list(METHODS[key].facts["rates"])
            reached = [entry["calls"] for entry in tried if entry["calls"] is not None]
            assert row["calls"] == (min(reached) if reached else None)
            assert (row["norm"] <= TOL) == bool(reached)
            assert row["norm"] >= min(entry["norm"] for entry in tried)
            calls, _ = run(key, name, *tried[0]["rate"])
            assert (calls.needed, calls.smallest) == (tried[0]["calls"], tried[0]["norm"])
            if len(tried) > 1:
                ends = [{min(column), max(column)} for column in zip(*METHODS[key].facts["rates"], strict=True)]
                at_an_end = any(x in end for x, end in zip(row["rate"], ends, strict=True))
                assert row["at_an_end_of_the_grid"] == at_an_end
        assert results["gd-best"]["calls"] <= results["gd"]["calls"]
    assert found["constants"]["wine-logistic"]["beta"] == convex_objective("wine-logistic").beta
    assert {"scipy", "scikit-learn", "numpy", "o2nc"} <= set(found["versions"])


def test_one_rate_for_all_has_the_least_geometric_mean(found):
    for key, one in found["one_rate"].items():
        means = {}
        for k, rate in enumerate(METHODS[key].facts["rates"]):
            calls = [row[key]["tried"][k]["calls"] or MOST for row in found["results"].values()]
            means[rate] = math.prod(calls) ** (1 / len(calls))
        assert math.isclose(means[tuple(one["rate"])], min(means.values()))
        assert math.isclose(one["mean"], min(means.values()))
        for name, entry in one["on"].items():
            assert entry in found["results"][name][key]["tried"]
            assert entry["rate"] == one["rate"]
    assert set(found["one_rate"]) == set(found["grid"])


def test_who_wins_on_the_small_problem():
    """The order that the documentation reports, on wine at its tolerance."""
    found = deterministic(["wine-logistic"], most=600)
    row = {key: value["calls"] for key, value in found["results"]["wine-logistic"].items()}
    assert row["certified"] is None
    assert row["l-bfgs"] < row["osgm-best"] < row["osgm-h"] < row["practical"] < row["gd"]
    assert row["normalised"] < row["practical"]


def test_a_step_that_is_too_long_ends_in_a_number():
    calls, _ = run("gd-best", "diabetes-svm", 256.0)
    assert calls.needed is None
    assert math.isfinite(calls.smallest)
    assert len(calls.norms) <= MOST


def test_calls_stop_at_the_most():
    for method in ("gd", "l-bfgs"):
        calls, _ = run(method, "cancer-svm", tol=1e-8, most=5)
        assert calls.needed is None
        assert calls.smallest == min(calls.norms[:5])


def test_the_command(tmp_path, found):
    out = tmp_path / "found.json"
    result = invoke("deterministic", "--objective", "wine-logistic", "--tol", TOL, "--calls", MOST, "--out", out)
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["results"]["wine-logistic"] == found["results"]["wine-logistic"]
    for text in (
        "calls to 0.01",
        "l-bfgs",
        "OSGM-R, which is told the minimum",
        "a_priori",
        "one rate for all",
        "nothing is random",
    ):
        assert text in result.output
    row = found["results"]["wine-logistic"]
    line = next(line for line in result.output.splitlines() if line.startswith("l-bfgs"))
    assert line.split()[-1] == str(row["l-bfgs"]["calls"])
    assert f"({row['certified']['norm']:.1e})" in result.output
