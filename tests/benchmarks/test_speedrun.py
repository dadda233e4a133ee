"""The speedrun: what is run, how steps to the target are counted, and a race of a few steps with a tiny model."""

import json
import math
from functools import partial

import numpy as np
import pytest
import speedrun
import torch
from ladder.race import (
    Race,
    deviation,
    p_value,
    rank_correlation,
    steps_to_target,
    target,
    wanted,
)
from networks import run as runs
from networks.gpt import Stream, gpt
from networks.methods import METHODS
from networks.run import Cell, train
from networks.tasks import cross_entropy
from scipy.stats import norm

RACE = Race()
TINY = partial(gpt, width=8, layers=1, context=8, steps=4, characters=8000)
NEEDED = {"adamw": 280, "muon": 224, "soap": 168, "hedged": 140, "learned": 1000}  # steps to a loss of 2
BEST = {"adamw": 0.004, "muon": 0.016, "soap": 0.002, "hedged": 0.008}


def made_up(cell):
    """A loss that falls by 0.01 a step, is larger at other rates, and differs by seed."""
    wrong = abs(math.log(cell.lr / BEST.get(cell.method, 0.01)))
    return 2 + 0.01 * (NEEDED[cell.method] - cell.steps) + wrong + 0.01 * (cell.seed - 3)


def finish(race=RACE, value=made_up):
    """The results of a race with value(cell) in the place of training, and the cells of every stage."""
    results, stages = {}, []
    while cells := wanted(results, race):
        assert len(set(cells)) == len(cells)
        stages.append(cells)
        results |= {cell: {"validation": value(cell), "seconds": cell.steps / 10} for cell in cells}
    return results, stages


def test_rates_are_chosen_with_seed_0_which_is_in_no_result():
    results, stages = finish()
    searched = [cell for cell in results if cell.seed == 0]
    assert {cell.steps for cell in searched} == {RACE.reference}
    assert {cell.method for cell in searched} == set(BEST)  # "learned" has no rate
    assert set(stages[0]) >= {RACE.cell(method, RACE.first, 0, RACE.reference) for method in BEST}
    played = {(cell.method, cell.lr) for cell in results if cell.seed}
    assert played == {*BEST.items(), ("learned", 0.01)}
    assert sum(cell.seed > 0 for cell in results) == len(RACE.methods) * len(RACE.ladder) * len(RACE.seeds)
    assert {cell.weight_decay for cell in results} == {0.1}


def test_nothing_is_run_before_the_rate_is_known():
    cells = wanted({}, RACE)
    assert {cell.method for cell in cells if cell.seed} == {"learned"}
    results, _ = finish()
    assert wanted(results, RACE) == []
    cell = RACE.cell("soap", BEST["soap"], 2, 196)
    assert wanted({key: found for key, found in results.items() if key != cell}, RACE) == [cell]


def test_steps_are_those_of_the_first_length_that_is_surely_below():
    results, _ = finish()
    assert target(results, RACE) == pytest.approx(2)
    seeds = 0.01 * np.arange(1, 6)
    assert deviation(results, RACE) == pytest.approx(np.std(seeds, ddof=1))
    found = {method: steps_to_target(results, RACE, method) for method in RACE.methods}
    assert found == {"adamw": 308, "muon": 252, "soap": 196, "hedged": 168, "learned": math.inf}
    assert rank_correlation(results, RACE) == pytest.approx(1)


def test_the_order_may_come_out_otherwise():
    needed = {"adamw": 168, "muon": 224, "soap": 280}
    value = lambda cell: made_up(cell) - 0.01 * (NEEDED[cell.method] - needed.get(cell.method, 280))
    results, _ = finish(value=value)
    assert rank_correlation(results, RACE) == pytest.approx(-1)
    flat, _ = finish(value=lambda cell: 2 + 0.01 * cell.seed)
    assert math.isnan(rank_correlation(flat, RACE))
    assert steps_to_target(flat, RACE, "soap") == math.inf  # equal to the target is not below it


def test_a_run_that_diverged_reaches_nothing():
    results, _ = finish(value=lambda cell: math.nan if cell.method == "soap" else made_up(cell))
    assert steps_to_target(results, RACE, "soap") == math.inf
    assert math.isfinite(deviation(results, RACE))
    assert steps_to_target(results, RACE, "muon") == 252


@pytest.mark.parametrize("gap", [-0.03, -0.001, 0.0, 0.02])
def test_the_test_is_that_of_a_normal_mean(gap):
    assert p_value(2 + gap, 2.0, 0.01) == pytest.approx(norm.cdf(gap / 0.01))


def test_without_spread_the_mean_decides():
    assert [p_value(mean, 2.0, 0.0) for mean in (1.9, 2.0, 2.1)] == [0.0, 1.0, 1.0]
    assert p_value(math.inf, 2.0, 0.1) == 1.0


def test_the_text_is_read_once_in_the_same_order():
    first, second = (gpt(seed) for seed in (1, 2))
    assert any(not torch.equal(p, q) for p, q in zip(first.model.parameters(), second.model.parameters(), strict=True))
    x, y = (torch.cat(part) for part in zip(*first.batches(), strict=True))
    other = torch.cat([part for part, _ in second.batches()])
    assert torch.equal(x, other)
    assert torch.equal(x, first.stream[0][: 280 * 8])
    assert torch.equal(x[:, 1:], y[:, :-1])
    held_out = {tuple(row) for row in first.validation[0].tolist()}
    same = sum(tuple(row) in held_out for row in x.tolist())
    assert same < 0.02 * len(x)  # some pieces of the library are copies of others
    assert 200_000 < sum(p.numel() for p in first.model.parameters()) < 400_000
    assert len(first.stream[0]) >= max(RACE.ladder) * first.batch


def test_a_text_that_is_too_short_is_refused():
    data = (torch.zeros(6, 1), torch.zeros(6, 1))
    with pytest.raises(ValueError, match=r"^`steps` must be at most 3; 4 steps need 8 rows\.$"):
        Stream(torch.nn.Linear(1, 1), data, data, cross_entropy, batch=2, steps=4, seed=0, stream=data)


def test_a_cell_fixes_the_number_of_steps(monkeypatch):
    monkeypatch.setitem(runs.ALL, "tiny", TINY)
    seen = []
    monkeypatch.setattr(runs, "factor", lambda t, steps: seen.append(steps) or 1.0)
    record = train(Cell("tiny", "adamw", 1e-3, 0, 0.1, 5), points=5)
    assert [t for t, _, _ in record["curve"]] == [1, 2, 3, 4]
    assert set(seen) == {5}


def test_a_race_of_a_tiny_model(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(runs.ALL, "tiny", TINY)
    race = Race("tiny", ("adamw", "soap"), (2, 4), 2, (1e-3, 1e-2), 1e-3, (1, 2), 0.0)
    out, page = tmp_path / "runs.jsonl", tmp_path / "speedrun.md"
    page.write_text("# Title\n\n<!-- speedrun -->\n\n<!-- end of speedrun -->\n")

    def here(path, cells, workers):
        with path.open("a") as file:
            file.writelines(json.dumps(train(cell)) + "\n" for cell in cells)

    monkeypatch.setattr(speedrun, "run", here)
    options = ["--out", str(out), "--docs", str(tmp_path)]
    speedrun.main([*options, "--workers", "1"], race)
    assert len(out.read_text().splitlines()) == 2 * (2 + 2 * 2)
    text = capsys.readouterr().out
    assert METHODS["soap"].title in text
    assert text.strip() in page.read_text()
    assert (tmp_path / "assets" / "speedrun.png").stat().st_size > 0
    found = json.loads((tmp_path / "runs.json").read_text())
    by_hand = [json.loads(line) for line in out.read_text().splitlines()]
    lr = found["methods"][0]["lr"]
    mine = [r for r in by_hand if (r["method"], r["lr"], r["steps"]) == ("adamw", lr, 2) and r["seed"]]
    assert found["target"] == pytest.approx(np.mean([r["validation"] for r in mine]))
    monkeypatch.setattr(speedrun, "run", None)  # all is there: a second call runs nothing
    speedrun.main([*options, "--workers", "1"], race)
    assert capsys.readouterr().out == text
