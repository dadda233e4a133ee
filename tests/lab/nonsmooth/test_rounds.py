"""The rounds of the nonsmooth experiment against plain loops."""

from functools import partial

import numpy as np
import pytest

import reference
from o2nc.certificates import output_weight
from o2nc.lab.nonsmooth import rounds
from o2nc.lab.nonsmooth.methods import METHODS
from o2nc.lab.nonsmooth.observer import BLOCKS
from o2nc.lab.nonsmooth.rounds import NonsmoothCell
from o2nc.lab.objectives import objective
from o2nc.lab.runner.noise import uniforms
from o2nc.lab.runner.records import merge

nonsmooth_objective = partial(objective, kind="nonsmooth")
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
    run = rounds._Run(cell)
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
    np.testing.assert_allclose(record.sums["point"], made.conversion.output(seen[-1], None), rtol=1e-9, atol=1e-14)
    if method == "identity":
        u = uniforms(0, "bowl", "tau", range(3), 0, 1, 1)[0, :, 0]
        assert record.sums["tau"].tolist() == [made.conversion.constants.tau(v) for v in u]
