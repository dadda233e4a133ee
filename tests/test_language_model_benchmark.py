"""How the benchmark of the language model chooses learning rates and reads its curves."""

import json

import pytest
from pretraining.run import PILOT, RATES, RUN, Cell, best_rate, load, neighbours, next_pilot
from pretraining.table import interpolated, last, markdown


def searched(losses):
    """The rates that are tried, in order, if these are the losses by rate."""
    results, tried = {}, []
    while cell := next_pilot(results, "adamw"):
        results[cell] = [{"held_out": losses[cell.lr]}]
        tried.append(cell.lr)
    return tried, best_rate(results, "adamw")


def test_pilots_go_on_until_the_best_rate_has_worse_neighbours():
    valley = lambda best: {lr: abs(k - RATES.index(best)) for k, lr in enumerate(RATES)}
    assert searched(valley(0.01)) == ([0.003, 0.01, 0.03], 0.01)
    assert searched(valley(0.003)) == ([0.003, 0.01, 0.001], 0.003)
    assert searched(valley(0.0003)) == ([0.003, 0.01, 0.001, 0.0003], 0.0003)
    assert searched(valley(0.1)) == ([0.003, 0.01, 0.03, 0.1], 0.1)


def test_full_runs_at_the_rates_next_to_the_best():
    results = {Cell("muon", lr, PILOT.seed, PILOT.steps): [{"held_out": lr}] for lr in RATES}
    assert neighbours(results, ["muon"]) == [Cell("muon", 0.001, 0, RUN.steps)]
    results[Cell("muon", 0.01, PILOT.seed, PILOT.steps)] = [{"held_out": 0.0}]
    assert [cell.lr for cell in neighbours(results, ["muon"])] == [0.03, 0.003]


def test_between_two_evaluations_the_loss_is_interpolated():
    curve = [{"cpu_seconds": t, "held_out": y} for t, y in ((10.0, 3.0), (20.0, 2.0), (30.0, 1.8))]
    assert interpolated(curve, 15.0) == pytest.approx(2.5)
    assert interpolated(curve, 30.0) == pytest.approx(1.8)


def test_a_file_of_results_is_read_back(tmp_path):
    cell = Cell("hedged", 0.01, 0, RUN.steps)
    record = {"step": RUN.steps, "train": 2.0, "held_out": 2.1, "cpu_seconds": 100.0, "seconds": 120.0}
    first = {**record, "held_out": 3.0, "cpu_seconds": 50.0}
    pilot = Cell("hedged", 0.01, PILOT.seed, PILOT.steps)
    given = {pilot: [record], cell: [first, record], cell._replace(lr=0.03): [first, first]}
    lines = [json.dumps({**key._asdict(), "curve": curve}) for key, curve in given.items()]
    (tmp_path / "out").write_text("\n".join(lines) + "\n")
    results = load(tmp_path / "out")
    assert results == given
    assert last(results, "hedged", "held_out") == {0: 2.1}
    assert "| Hedged | 0.01 | 1 | 2.0000 |  | 2.1000 |  | 100 | 120 |" in markdown(results)
    assert "| Hedged | **2.1000** | 3.0000 |" in markdown(results)
    assert cell.options.steps == RUN.steps != PILOT.steps
