"""How the protocol chooses weight decays and counts cells, on results that are made up."""

import json
import math

import protocol
import pytest
from networks.methods import METHODS, RATES
from networks.protocol import (
    FLOOR,
    best_cell,
    diverged,
    foresight,
    objective,
    ratios,
    summary,
    until,
    wanted,
    weight_decay,
)
from networks.run import Cell, load, train

TASK = "tumours"  # both weight decays may be chosen


def record(train, initial=1.0):
    return {"train": train, "initial": initial, "curve": [], "seconds": 1.0}


def finish(value, tasks=(TASK,), methods=("adamw",), seeds=(0, 1, 2)):
    """Run the protocol with value(cell) in the place of training; the results, and the cells of every stage."""
    results, stages = {}, []
    while cells := wanted(results, tasks, methods, [*seeds]):
        stages.append(cells)
        results |= {cell: record(value(cell)) for cell in cells}
    return results, stages


def test_objectives_are_cut_at_both_ends():
    assert objective(record(0.5)) == 0.5
    assert objective(record(1e-9)) == objective(record(2e-4)) == FLOOR
    assert objective(record(2e-3, initial=10.0)) == 10 * FLOOR
    assert objective(record(7.0)) == objective(record(math.inf)) == objective(record(math.nan)) == 1.0


def test_weight_decay_is_tried_at_the_best_rate_of_seed_0():
    def value(cell):
        return abs(cell.lr - 0.01) + (0.1 if cell.weight_decay == 0 else 0.05)

    results, stages = finish(value)
    assert stages[0] == [Cell(TASK, "adamw", lr, 0, 0.0) for lr in RATES]
    assert stages[1] == [Cell(TASK, "adamw", 0.01, 0, 0.1)]
    expected = {Cell(TASK, "adamw", lr, seed, 0.1) for lr in RATES for seed in range(3)}
    assert set(stages[2]) == expected - set(stages[1])
    assert len(stages) == 3
    assert weight_decay(results, TASK, "adamw") == 0.1
    assert best_cell(results, TASK, "adamw") == (pytest.approx(0.05), 0.01)


def test_what_a_run_says_of_its_experts_is_compared_with_each_alone():
    """Muon is better below the rate 0.01; the regrets say so in all runs but those at 0.001."""
    values = {"hedged": 0.3, "muon alone": 0.4, "soap alone": 0.5}
    results, _ = finish(lambda cell: values[cell.method] - 20 * cell.lr * (cell.method == "soap alone"), methods=values)
    for cell, found in results.items():
        lead = {0.001: 5.0, 0.003: -1.0, 0.01: 2.0, 0.02: 3.0}[cell.lr]
        found |= {"regret": {"muon": 0.0, "soap": 2 * lead}, "error": {"muon": 0.0, "soap": 2.0}}
    assert foresight({}, [TASK])[0] == 0
    runs, correlation, right = foresight(results, [TASK])
    assert (runs, right) == (12, 0.75)
    assert correlation == pytest.approx(-0.2)  # ranks 4 1 2 3 against 1 2 3 4


def test_without_gain_there_is_no_weight_decay():
    results, stages = finish(lambda cell: 0.5 + cell.lr)
    assert weight_decay(results, TASK, "adamw") == 0.0
    assert sum(map(len, stages)) == len(RATES) * 3 + 1


def test_a_task_may_fix_its_weight_decay():
    results, stages = finish(lambda cell: 0.5, tasks=("vision transformer", "autoencoder"))
    assert {(cell.task, cell.weight_decay) for cell in results} == {("vision transformer", 0.1), ("autoencoder", 0.0)}
    assert len(stages) == 2


def test_ratios_are_to_the_best_expert_of_the_cell():
    values = {"hedged": 0.3, "soap alone": 0.2, "muon alone": 0.4, "sgd10": math.inf}
    methods = list(values)

    def value(cell):
        return values[cell.method] * (2 if cell.method == "soap alone" and cell.lr == 0.02 else 1) + 0.01 * cell.seed

    results, _ = finish(value, methods=methods)
    found = ratios(results, [TASK], "hedged", methods[1:])
    assert found == pytest.approx({(TASK, lr): 0.31 / (0.41 if lr == 0.02 else 0.21) for lr in RATES})
    assert set(found) == {(TASK, lr) for lr in METHODS["hedged"].rates}
    assert diverged(results, [TASK], "sgd10") == 3 * len(RATES)
    assert diverged(results, [TASK], "hedged") == 0
    missing = {cell: r for cell, r in results.items() if (cell.method, cell.lr) != ("muon alone", 0.01)}
    assert (TASK, 0.01) not in ratios(missing, [TASK], "hedged", methods[1:])


def test_the_summary_of_ratios():
    cells, mean, near, worst = summary([0.5, 1.10, 1.11, 2.0])
    assert cells == 4
    assert mean == pytest.approx((0.5 * 1.10 * 1.11 * 2.0) ** 0.25)
    assert near == 0.5
    assert worst == 2.0


def test_old_lines_are_without_weight_decay(tmp_path):
    (tmp_path / "old.jsonl").write_text('{"task": "mlp", "method": "adam", "lr": 0.1, "seed": 2, "train": 1.0}\n')
    assert list(load(tmp_path / "old.jsonl")) == [Cell("mlp", "adam", 0.1, 2, 0.0)]


@pytest.mark.slow
def test_a_run_measures_what_it_says():
    plain, watched = (train(Cell(TASK, "schedule-free", 0.003, 0, 0.1), points) for points in (0, 10))
    assert watched["train"] == pytest.approx(plain["train"], rel=1e-3)  # looking does not change the run
    assert [t for t, _, _ in watched["curve"]] == list(range(15, 150, 15))
    assert plain["curve"] == []
    assert watched["initial"] > watched["curve"][0][2] > watched["train"]
    seconds = [s for _, s, _ in watched["curve"]]
    assert seconds == sorted(seconds)
    assert seconds[-1] <= watched["seconds"]


def test_the_command_prints_what_is_there(tmp_path, capsys):
    methods = ["hedged", "muon alone", "soap alone"]
    results, _ = finish(lambda cell: 0.2 if cell.method == "hedged" else 0.1 + cell.lr, methods=methods)
    lines = [json.dumps({**cell._asdict(), **found}) for cell, found in results.items()]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    protocol.main(["--tasks", TASK, "--methods", *methods, "--out", str(tmp_path / "runs.jsonl")])
    out = capsys.readouterr().out
    assert "| Hedged | 0.2 (lr 0.001) |" in out
    expected = [0.2 / (0.1 + lr) for lr in RATES]
    mean = math.prod(expected) ** (1 / len(RATES))
    assert f"| Hedged | 4 | 0 | {mean:.3f} | 0% | {max(expected):.3f} |" in out


def test_only_the_seeds_that_were_asked_for_are_printed(tmp_path, capsys):
    results, _ = finish(lambda cell: 0.3 if cell.seed else 0.2, methods=["hedged"])
    lines = [json.dumps({**cell._asdict(), **found}) for cell, found in results.items()]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    for seeds, value in ((["0"], "0.2"), (["0", "1"], "0.25")):
        out = str(tmp_path / "runs.jsonl")
        protocol.main(["--tasks", TASK, "--methods", "hedged", "--out", out, "--seeds", *seeds])
        assert f"| Hedged | {value} (lr 0.001) |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        protocol.main(["--seeds", "1"])
    assert "`--seeds` must have 0" in capsys.readouterr().err


def test_the_time_to_an_objective_is_that_of_the_best_cell():
    def run(seed, curve, train):
        found = record(train) | {"curve": curve, "seconds": 3.0 + seed}
        return {Cell(TASK, "hedged", 0.01, seed, 0.0): found}

    results, _ = finish(lambda cell: 0.8 if (cell.lr, cell.weight_decay) == (0.01, 0.0) else 0.9, methods=["hedged"])
    results = {cell: found for cell, found in results.items() if cell.seed == 0}
    results |= run(0, [(50, 1.0, 0.5), (100, 2.0, 0.3)], 0.1) | run(1, [(50, 1.5, 0.9), (100, 2.5, 0.5)], 0.2)
    assert best_cell(results, TASK, "hedged") == (pytest.approx(0.15), 0.01)
    assert until(results, TASK, "hedged", 0.7) == (50, 1.25)
    assert until(results, TASK, "hedged", 0.4) == (100, 2.25)
    assert until(results, TASK, "hedged", 0.16) == (150, 3.5)
    assert until(results, TASK, "hedged", 0.14) == (math.inf, math.inf)
