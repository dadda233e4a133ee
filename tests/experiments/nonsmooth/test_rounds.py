"""The nonsmooth experiment: its runs against plain loops, its certificates, its command."""

import functools
import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import reference
from o2nc.certificates import held_out_nonsmooth, output_mass, output_weight, tight_nonsmooth
from o2nc.cli import app
from o2nc.constants import Nonsmooth
from o2nc.experiments.noise import uniforms
from o2nc.experiments.nonsmooth import protocol, theory, whole
from o2nc.experiments.nonsmooth.methods import ALGORITHM2, FACTORS, METHODS
from o2nc.experiments.nonsmooth.observer import BLOCKS
from o2nc.experiments.nonsmooth.output import paper_output
from o2nc.experiments.nonsmooth.protocol import NonsmoothCell
from o2nc.experiments.nonsmooth.settings import NonsmoothSettings
from o2nc.experiments.objectives.nonsmooth import NONSMOOTH, nonsmooth_objective
from o2nc.experiments.record import merge

T = 40


def literal(objective, replication, T):
    """Algorithm 2 with I by the plain transcription, and everything that is summed, by direct sums."""
    f = nonsmooth_objective(objective)
    c = f.constants(T, 1.0)
    draw = lambda purpose, count: uniforms(0, objective, purpose, [replication], 0, T, count)[:, 0]
    u, held = draw("sample", f.draws), [draw(f"held out {j}", f.draws) for j in (1, 2)]
    r = {1: 0.0} | {t + 2: v[0] for t, v in enumerate(draw("segment", 1))}
    taken = {}

    def gradient(y):
        return f.value_and_gradient(np.asarray(y))[1]

    def sample(t, y):
        taken[t] = f.sample(np.asarray(y), u[t - 1], gradient(y))
        return taken[t].tolist()

    identity = reference.Fixed(np.eye(f.d).tolist())
    x, y, y_bar, _, regret = reference.algorithm_2(
        identity, sample, f.start(np.zeros(1)).tolist(), c.L, c.a, c.eta, c.rho, T, r, tau=T
    )
    law = reference.law_of_tau(c.a, T)
    q = lambda t: np.asarray([output_weight(c.a, t, s) for s in range(1, t + 1)])
    points, g = (np.asarray([v(t) for t in range(1, T + 1)]) for v in (lambda t: y[t], lambda t: gradient(y[t])))
    averages = [np.linalg.norm(q(t) @ g[:t]) for t in range(1, T + 1)]
    spreads = [q(t) @ np.sum((points[:t] - y_bar[t]) ** 2, axis=1) for t in range(1, T + 1)]
    m, trackers, products, e, energy = np.zeros(f.d), 0.0, np.zeros(min(BLOCKS, T)), 0.0, 0.0
    two = np.zeros((2, f.d))
    for t in range(1, T + 1):
        weight = law[t - 1] / (1 - c.b**t)
        m = np.asarray(reference.project((c.b * m + c.a * taken[t]).tolist(), c.L))
        two = c.b * two + c.a * np.asarray([f.sample(points[t - 1], v[t - 1], g[t - 1]) for v in held])
        e = c.b**2 * e + c.a**2 * np.sum((taken[t] - g[t - 1]) ** 2)
        trackers, energy = trackers + weight * np.linalg.norm(m), energy + weight * e
        products[(t - 1) * len(products) // T] += weight * two[0] @ two[1]
    return {
        "measure": np.dot(law, np.add(averages, spreads)),
        "gradient": np.dot(law, averages),
        "spread": np.dot(law, spreads),
        "regret": regret,
        "tracker": trackers,
        "energy": energy,
        "held_out": products,
        "samples": sum(np.sum(s**2) for s in taken.values()),
        "decrease": (f.value_and_gradient(np.asarray(x[1]))[0] - f.value_and_gradient(np.asarray(x[T + 1]))[0])[0],
        "y_bar": y_bar,
    }


@pytest.mark.parametrize("objective", ["bowl", "capped"])
def test_a_run_is_that_of_plain_loops(objective):
    record = NonsmoothCell(objective, ("identity", "sgd"), 0, 2, T=T).run()["identity"]
    for i in range(2):
        expected = literal(objective, i, T)
        tau = int(record.sums["tau"][i])
        np.testing.assert_allclose(record.sums["point"][i], expected.pop("y_bar")[tau], rtol=1e-9)
        for name, value in expected.items():
            np.testing.assert_allclose(record.sums[name][i], value, rtol=1e-8, atol=1e-12, err_msg=name)


def test_a_cell_is_the_sum_of_its_parts():
    """Whoever computes which replications with which methods: the numbers are the same."""
    methods = ("hedge", "clipped", "normalised")
    whole = NonsmoothCell("valley", methods, 0, 3, T=T).run()
    for name in methods:
        parts = [NonsmoothCell("valley", (name,), start, stop, T=T).run()[name] for start, stop in ((0, 1), (1, 3))]
        record = merge(parts)
        for key, values in whole[name].sums.items():
            np.testing.assert_allclose(record.sums[key], values, rtol=1e-6 if key == "sharper" else 1e-10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_witness_is_at_the_output_of_the_method(method):
    """For every method with an output of its own, the mean of the witness at tau is that output."""
    cell = NonsmoothCell("bowl", (method,), 0, 3, T=T)
    run = protocol._Run(cell)
    (made,) = run.played
    assert made.output.law.sum() == pytest.approx(1, abs=1e-12)
    assert made.output.share[0] == 1
    if method in ("sgd", "normalised"):
        return
    seen = []
    update = type(made.conversion).update

    def spy(self, *arguments, **options):
        result = update(self, *arguments, **options)
        seen.append(result[1])
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(made.conversion), "update", spy)
        record = run.records()[method]
    np.testing.assert_allclose(record.sums["point"], seen[-1].output, rtol=1e-9, atol=1e-14)
    if method == "identity":
        u = uniforms(0, "bowl", "tau", range(3), 0, 1, 1)[0, :, 0]
        assert record.sums["tau"].tolist() == [made.conversion.constants.tau(v) for v in u]


def test_the_law_of_tau():
    """Chi-square over 4000 replications: not rejected for the law, rejected for the uniform one."""
    c = nonsmooth_objective("bowl").constants(200, 1.0)
    assert theory.law_of_tau(c, 0, "bowl")["p"] > 1e-3
    u = uniforms(0, "bowl", "tau", range(theory.DRAWS), 0, 1, 1)[0, :, 0]
    counts = np.bincount((paper_output(c).tau(u) - 1) // 10, minlength=20)
    assert stats.chisquare(counts).pvalue < 1e-6


@functools.cache
def many(objective, T=300, R=48):
    f = nonsmooth_objective(objective)
    return f.constants(T, 1.0), NonsmoothCell(objective, ALGORITHM2, 0, R, T=T).run()


@pytest.mark.parametrize("objective", ["bowl", "valley"])
@pytest.mark.parametrize("method", ALGORITHM2)
def test_the_certificates_bound_the_measure(objective, method):
    """Theorem 2 by far, the tight one within a factor of two, the held-out one within its interval."""
    c, records = many(objective)
    kinds = theory.certify(c, records[method])
    measured = float(records[method].sums["measure"].mean())
    assert kinds["theorem2"]["bound"] > 4 * measured
    assert kinds["theorem2"]["bound"] <= kinds["theorem2_tuned"]["bound"]
    assert measured <= kinds["tight"]["bound"] < 2 * measured
    assert 0.9 * measured < kinds["held_out"]["bound"] < 1.15 * measured
    assert measured <= kinds["held_out"]["interval"][1]


@pytest.mark.parametrize("objective", ["bowl", "valley"])
def test_every_rung_is_lower(objective):
    c, records = many(objective)
    rungs = list(theory.ladder(c, records["identity"]).values())
    assert rungs[:7] == sorted(rungs[:7], reverse=True)
    assert rungs[6] < rungs[0] / 4
    assert abs(rungs[7] / rungs[8] - 1) < 0.15


@pytest.mark.parametrize("objective", ["bowl", "valley"])
@pytest.mark.parametrize("method", ALGORITHM2)
def test_the_lemmas_hold_on_the_runs(objective, method):
    c, records = many(objective)
    found = theory.lemmas(c, records[method])
    for name, row in found.items():
        assert row["interval"][0] <= row["bound"], name
    assert found["9, identity"]["interval"][1] >= 0


@pytest.mark.parametrize("objective", ["bowl", "valley"])
def test_products_of_held_out_trackers_have_the_mean_of_the_squared_gradient(objective):
    """Within 4 standard errors, which are below 5%."""
    _, records = many(objective)
    sums = records["identity"].sums
    difference = sums["held_out"].sum(axis=1) - sums["squares"]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert abs(difference.mean()) < 4 * error < 0.2 * sums["squares"].mean()


def test_the_certificates_on_exact_numbers():
    """No noise and a straight slope: m = h, so the tight certificate without variance is the measure itself."""
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=5, a=0.5, eta=0.1, rho=0.5)
    h = [1 - 0.5**t for t in range(1, 6)]
    w = [1 / 5] * 4 + [1 / 2.5]
    tracker = sum(weight * value for weight, value in zip(w, h, strict=True))
    assert tight_nonsmooth(c, [tracker], [0.25], [0.0]).bound == pytest.approx(tracker + 0.25)
    assert sum(output_mass(c, 3)) == pytest.approx(sum(w))
    each = [[w[t] * h[t] ** 2] for t in range(5)]
    assert held_out_nonsmooth(c, each, [0.25]).bound == pytest.approx(tracker + 0.25)
    assert held_out_nonsmooth(c, each, [0.25]).label == "plug-in"
    with pytest.raises(ValueError, match="`blocks` must be at least 1 and at most T = 5; got 6"):
        output_mass(c, 6)
    with pytest.raises(ValueError, match="same number of replications"):
        tight_nonsmooth(c, [tracker], [0.25, 0.3])


def invoke(*arguments):
    return CliRunner().invoke(app, ["nonsmooth", *map(str, arguments)])


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nonsmooth") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theory, "POINTS", 2)
        patch.setattr(theory, "GRID", 11)
        result = invoke("--out", directory, "--T", 24, "--replications", 2, "--horizon", 12, "--jobs", 1)
    assert result.exit_code in (0, 1), result.output  # two replications are few for the intervals
    assert "Smallest measure" in result.output
    return directory


def test_the_command_writes_all_that_it_promises(out):
    names = {path.name for path in out.iterdir()}
    assert names == {"settings.json", "cells", "tables.json", "tables.md", "tables.tex", "figures", "report.html"}
    assert {path.stem for path in (out / "figures").iterdir()} == {*NONSMOOTH, "rate", "ladder"}
    found = json.loads((out / "tables.json").read_text())
    assert set(found["results"]) == set(NONSMOOTH)
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
    settings = NonsmoothSettings(replications=2, T=24, horizons=(12,))
    monkeypatch.setattr(theory, "POINTS", 2)
    monkeypatch.setattr(theory, "GRID", 11)
    before = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    first = json.loads((out / "tables.json").read_text())
    lost = sorted(before)[3]
    (out / "cells" / lost).unlink()
    monkeypatch.setattr(whole, "write", lambda *arguments: None)
    again = json.loads(json.dumps(whole.nonsmooth(out, settings, jobs=1)))
    after = {path.name: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert [name for name in before if before[name] != after[name]] == [lost]
    assert again["results"] == first["results"]


def test_other_settings_and_wrong_ones_are_sentences(out):
    result = invoke("--out", out, "--T", 25, "--replications", 2, "--horizon", 12)
    assert result.exit_code == 2
    assert "holds a run with other settings" in result.output
    for arguments, sentence in (
        (("--lam", -1), "`lam` must be finite and positive; got -1.0."),
        (("--replications", 1), "`replications` must be a whole number, at least 2; got 1."),
        (("--T", 1), "for the tuned constants of Theorem 2; got 1."),
        (("--engine", "slurm"), "`engine` must be one of joblib, dask, ray; got 'slurm'."),
    ):
        result = invoke("--out", out.parent / "other", *arguments)
        assert result.exit_code == 2
        assert sentence in result.output.replace("\n", " ")
