"""How the benchmark of the language model chooses learning rates and reads its curves."""

import json

import pytest
from pretraining.run import FIRST, RATES, RUN, Cell, load, runs
from pretraining.table import interpolated, last, markdown
from rates import next_rate


def searched(losses):
    """The rates that are tried, in order, if these are the losses by rate."""
    found = {}
    while lr := next_rate(found, RATES, FIRST):
        found[lr] = losses[lr]
    return list(found)


def test_rates_are_searched_until_the_best_has_worse_neighbours():
    valley = lambda best: {lr: abs(k - RATES.index(best)) for k, lr in enumerate(RATES)}
    assert searched(valley(0.01)) == [0.003, 0.01, 0.03]
    assert searched(valley(0.003)) == [0.003, 0.01, 0.001]
    assert searched(valley(0.0003)) == [0.003, 0.01, 0.001, 0.0003]
    assert searched(valley(0.1)) == [0.003, 0.01, 0.03, 0.1]


def test_the_first_seed_chooses_the_rate_of_all():
    results = {Cell("muon", lr, RUN.seed, RUN.steps): [{"held_out": abs(lr - 0.03)}] for lr in RATES}
    results[Cell("muon", 0.01, 1, RUN.steps)] = [{"held_out": -1.0}]
    assert runs(results, ["muon"], [0, 1]) == [Cell("muon", 0.03, seed, RUN.steps) for seed in (0, 1)]


def test_between_two_evaluations_the_loss_is_interpolated():
    curve = [{"cpu_seconds": t, "held_out": y} for t, y in ((10.0, 3.0), (20.0, 2.0), (30.0, 1.8))]
    assert interpolated(curve, 15.0) == pytest.approx(2.5)
    assert interpolated(curve, 30.0) == pytest.approx(1.8)


def test_a_file_of_results_is_read_back(tmp_path):
    cell = Cell("hedged", 0.01, 0, RUN.steps)
    record = {"step": RUN.steps, "train": 2.0, "held_out": 2.1, "cpu_seconds": 100.0, "seconds": 120.0}
    first = {**record, "held_out": 3.0, "cpu_seconds": 50.0}
    given = {cell: [first, record], cell._replace(lr=0.03): [first, first]}
    lines = [json.dumps({**key._asdict(), "curve": curve}) for key, curve in given.items()]
    (tmp_path / "out").write_text("\n".join(lines) + "\n")
    results = load(tmp_path / "out")
    assert results == given
    assert last(results, "hedged", "held_out") == {0: 2.1}
    assert "| Hedged | 0.01 | 1 | 2.0000 |  | 2.1000 |  | 100 | 120 |" in markdown(results)
    assert "| Hedged | **2.1000** | 3.0000 |" in markdown(results)
    assert cell.options.lr == 0.01
