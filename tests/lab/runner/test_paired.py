"""The protocol against a plain loop, and its independence of chunks, methods, replications and array libraries."""

import numpy as np
import pytest

from o2nc.lab.objectives import objective
from o2nc.lab.paper.experiment import ReproductionCell
from o2nc.lab.paper.methods import METHODS, hedge_rate
from o2nc.lab.paper.published import RESULTS
from o2nc.lab.runner import backends
from o2nc.lab.runner.noise import signs
from o2nc.lab.runner.paired import checkpoints, play
from o2nc.lab.runner.records import merge

OBJECTIVES = {name: objective(name) for name in RESULTS}
LEARNERS = ("learned", "blind", "sharp", "sharp_blind", "sharp_stated")


def run(name, methods, replications, iterations, **how):
    return play(objective(name), [METHODS[method] for method in methods], replications, iterations, **how)


def literal(name, weight_of, T, R, seed=0):
    """The paper's update with an explicit loop over replications and rounds; ``weight_of(C_I - C_P)`` is p_P."""
    f = OBJECTIVES[name]
    c, like = f.constants(20000), np.zeros(1)
    P = np.stack([f.projector(like) @ e for e in np.eye(f.d)])
    gaps, squares, weights, regrets = (np.zeros((T, R)) for _ in range(4))
    for r in range(R):
        x, m, C, regret = f.start(like), np.zeros(f.d), 0.0, 0.0
        for t in range(T):
            gap, g = f.gap_and_gradient(x)
            gaps[t, r], squares[t, r] = gap[0], g @ g
            s = g + f.noise(signs(seed, name, [r], t, 1, f.d)[0, 0].astype(float))
            if weight_of is None:
                x = x - c.eta * s
                continue
            p = weight_of(C)
            Um = (1 - p) * m + p * (P @ m)
            weights[t, r] = p
            regret += (-s @ Um + s @ m) / c.G
            regrets[t, r] = regret
            C += (-s @ m + s @ P @ m) / c.G  # the loss of I less that of P
            x = x - c.eta * Um
            m = (1 - c.a) * m + c.a * s
            m = m * min(1.0, c.G0 / max(np.linalg.norm(m), 1e-300))
    averages = np.cumsum(squares, axis=0) / np.arange(1, T + 1)[:, None]
    return {"gap": gaps, "instant": squares, "average": averages, "weight": weights, "regret": regrets}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_method_is_the_papers_loop(name):
    T, R = 60, 2
    gamma = hedge_rate(OBJECTIVES[name])
    laws = {
        "sgd": None,
        "hedge": lambda C: 1 / (1 + np.exp(-gamma * C)),
        "frozen": lambda C: 0.5,
        "identity": lambda C: 0.0,
        "projector": lambda C: 1.0,
    }
    records = run(name, tuple(laws), range(R), T, block=17)
    for method, law in laws.items():
        expected = literal(name, law, T, R)
        record = records[method]
        for metric in record.mean:
            np.testing.assert_allclose(record.mean[metric], expected[metric].mean(1), rtol=1e-9, atol=1e-14)
            np.testing.assert_allclose(record.at(metric, 10), expected[metric][9], rtol=1e-9, atol=1e-14)
            np.testing.assert_allclose(
                record.std(metric), expected[metric].std(1, ddof=1), rtol=1e-6, atol=1e-12, err_msg=metric
            )


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("method", LEARNERS)
def test_a_learner_side_by_side_is_the_learner_alone(name, method):
    f, T, R, like = OBJECTIVES[name], 40, 2, np.zeros(1)
    record = run(name, ("sgd", "hedge", *LEARNERS), range(R), T, block=9)[method]
    conversion = METHODS[method].conversion(f, like, T)
    x = f.start(like) + np.zeros((R, f.d))
    state = conversion.init(x)
    for t in range(T):
        gap, g = f.gap_and_gradient(x)
        np.testing.assert_allclose(record.mean["gap"][t], gap.mean(), rtol=1e-12)
        xi = f.noise(signs(0, name, range(R), t, 1, f.d)[0].astype(float))
        dx, state = conversion.update(g + xi, state, x)
        x = x + dx
        np.testing.assert_allclose(
            record.mean["regret"][t], conversion.sums(state)["regret"].mean(), rtol=1e-9, atol=1e-14
        )
    np.testing.assert_allclose(record.sums["W"], conversion.sums(state)["W"][:, 0], rtol=1e-12)


def test_the_noise_of_an_objective_may_depend_on_the_round():
    whole, parts = (run("f8", ("sgd",), range(2), 1510, block=b)["sgd"] for b in (50, 700))
    np.testing.assert_array_equal(whole.mean["gap"], parts.mean["gap"])


def test_the_last_checkpoint_is_the_iterate_before_the_last_update():
    record = run("f4", ("sgd",), range(2), 3)["sgd"]
    longer = run("f4", ("sgd",), range(2), 4)["sgd"]
    np.testing.assert_array_equal(record.sums["final_gap"], longer.at("gap", 4))
    assert record.mean["average"][0] == record.mean["instant"][0]


def test_blocks_methods_and_ranges_do_not_enter():
    whole = run("f1", tuple(METHODS), range(5), 40)
    for method in ("hedge", "sgd"):
        alone = merge([run("f1", (method,), range(a, b), 40, block=7)[method] for a, b in ((2, 5), (0, 2))])
        assert alone.replications.tolist() == [0, 1, 2, 3, 4]
        for metric in alone.mean:
            np.testing.assert_allclose(alone.mean[metric], whole[method].mean[metric], rtol=1e-12)
            np.testing.assert_allclose(alone.M2[metric], whole[method].M2[metric], rtol=1e-9, atol=1e-22)
            np.testing.assert_allclose(alone.values[metric], whole[method].values[metric], rtol=1e-12, atol=1e-18)
        for name, values in alone.sums.items():
            np.testing.assert_allclose(values, whole[method].sums[name], rtol=1e-12, atol=1e-18)


def test_runs_of_different_lengths_share_their_beginning():
    short, long = (run("f2", ("hedge",), range(2), T)["hedge"] for T in (10, 60))
    np.testing.assert_array_equal(short.mean["gap"], long.mean["gap"][:10])


ON_JAX = [pytest.param(name, "jax", marks=pytest.mark.slow if name != "f3" else ()) for name in OBJECTIVES]


@pytest.mark.parametrize(("name", "backend"), [*((name, "torch") for name in OBJECTIVES), *ON_JAX])
def test_libraries_agree(name, backend):
    methods = ("frozen", "projector") if name == "f2" else ("sgd", "hedge", "learned", "blind")
    expected = run(name, methods, range(3), 100)
    found = run(name, methods, range(3), 100, backend=backend)
    for method in methods:
        for metric, values in expected[method].values.items():
            np.testing.assert_allclose(found[method].values[metric], values, rtol=1e-9, atol=1e-13)


def test_single_precision_is_near():
    double, single = (run("f3", ("hedge",), range(3), 200, dtype=d)["hedge"] for d in backends.DTYPES)
    assert single.mean["gap"].dtype == np.float64
    np.testing.assert_allclose(single.mean["gap"], double.mean["gap"], rtol=1e-3)


def test_checkpoints_hold_the_iteration_of_the_paper_and_the_last():
    assert checkpoints(3000).tolist() == [1, 10, 100, 300, 1000, 2000, 3000]
    assert checkpoints(20000)[-1] == 20000
    assert checkpoints(7).tolist() == [1, 7]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"objective": "f9"}, "`objective` must be one of"),
        ({"methods": ("adam",)}, "`method` must be one of"),
        ({"start": 3, "stop": 3}, "`stop` must be larger"),
        ({"iterations": 0}, "`iterations` must be a whole number, at least 1"),
        ({"iterations": 20001}, "at most the declared horizon 20000; got 20001"),
    ],
)
def test_a_cell_is_checked(arguments, sentence):
    good = {"objective": "f1", "methods": ("sgd",), "start": 0, "stop": 1}
    with pytest.raises(ValueError, match=sentence):
        ReproductionCell(**(good | arguments))


def test_an_unknown_library_is_a_sentence():
    with pytest.raises(ValueError, match="`dtype` must be one of float64, float32; got 'float16'"):
        run("f1", ("sgd",), range(1), 1, dtype="float16")
