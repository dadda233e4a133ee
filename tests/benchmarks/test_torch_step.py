"""The benchmark of steps: its shapes, summaries, targets and stopwatch, and a quick run."""

import json
import math
import os
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
import torch_step
from language.muon import Muon
from step_cost import bookkeeping, memory, phases, results, shapes, sleep, targets, timing
from step_cost.figure import curves, draw
from step_cost.methods import FOREACH, FUSED, METHODS, MUON, WithAdamW, hedged
from step_cost.page import aims, markdown
from step_cost.timing import Cost

from o2nc.torch import Hedged

MOMENTUM_ADAM = "Hedged momentum+adam"


def test_models_have_the_sizes_that_are_told():
    entries = {title: sum(map(math.prod, each)) for title, each in shapes.models().items()}
    assert entries["GPT"] == pytest.approx(25e6, rel=0.02)
    assert len(shapes.models()["tiny"]) == 2000
    assert entries["table"] == 32_000 * 256
    assert entries["convolutions"] == pytest.approx(0.27e6, rel=0.03)  # ResNet-20 of He et al. (2016)


def test_rounds_alternate_and_stop_where_told():
    calls = []
    steps = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    found = timing.interleaved(steps, {"a": 3, "b": 1})
    assert calls == ["a", "b", "a", "a"]
    assert {name: len(each) for name, each in found.items()} == {"a": 3, "b": 1}


def test_a_median_is_of_steps_and_a_mean_of_whole_periods():
    costs = [Cost(x, 2 * x) for x in (1.0, 1.0, 10.0, 3.0, 1000.0)]
    assert timing.summary(costs) == Cost(3.0, 6.0)
    assert timing.summary(costs, period=2) == Cost(15 / 4, 15 / 2)  # the fifth begins a period that does not end
    assert [timing.often(7, seconds) for seconds in (1e-3, 0.1, 5.0)] == [70, 20, 7]


def test_matrices_go_to_muon_and_the_rest_to_adamw():
    params = timing.parameters([(4, 4), (3, 2, 2, 2), (64, 4), (4,)])
    before = [p.detach().clone() for p in params]
    opt = WithAdamW(Muon, params)
    assert [[tuple(p.shape) for p in part.param_groups[0]["params"]] for part in opt.parts] == [
        [(4, 4), (3, 8)], [(64, 4), (4,)],
    ]  # fmt: skip
    opt.step()
    assert all(not torch.equal(p, q) for p, q in zip(params, before, strict=True))


@pytest.mark.parametrize("winner", sleep.EXPERTS)
def test_a_settled_weight_stays_and_the_loser_sleeps(winner):
    opt = Hedged(timing.parameters([(4, 4)] * 3))
    opt.step()
    sleep.settle(opt, winner)
    for _ in range(3 * sleep.STEPS):
        opt.step()
        assert sleep.weight(opt, winner) > sleep.SURE


def test_methods_hold_their_weights_equal():
    opt = hedged("muon", "adam")(timing.parameters([(4, 4)] * 3))
    for _ in range(20):
        opt.step()
    assert opt.report()["groups"][0]["weights"] == {"muon": 0.5, "adam": 0.5}


def test_a_stopwatch_counts_no_second_twice():
    watch = phases.Stopwatch()
    inner = watch.around("inner", lambda: time.sleep(0.02))
    watch.around("outer", lambda: (inner(), time.sleep(0.01)))()
    assert watch.seconds["inner"] >= 0.02
    assert 0.01 <= watch.seconds["outer"] < watch.seconds["inner"]


def test_phases_of_a_step_are_its_time_and_leave_no_trace():
    before = {place: getattr(*place) for place in phases.PHASES.values()}
    inherited = "step" in vars(Hedged)
    opt = Hedged(timing.parameters([(8, 8)] * 4), experts=("muon", "adam"))
    found = phases.phases(opt, steps=3)
    some = {"check", "directions", "products", "numbers", "move", "learn"}
    assert {*phases.PHASES, "rest", "hooks"} >= {*found} >= some
    assert all(ms > 0 for ms in found.values())
    assert before == {place: getattr(*place) for place in phases.PHASES.values()}
    assert ("step" in vars(Hedged)) == inherited


def test_the_peak_of_memory():
    assert memory.peak([3, 5, -8, 6, 1]) == 8

    class Doubles:
        """A step that takes twice the parameters, and gives them back."""

        def __init__(self, params):
            self.n = sum(p.numel() for p in params)

        def step(self):
            a = torch.empty(self.n)
            del a
            b, c = torch.empty(self.n), torch.empty(self.n)
            del b, c

    assert memory.temporaries(timing_method(Doubles), [(8, 8)] * 4) == pytest.approx(2.0)


def timing_method(make):
    return METHODS[FOREACH]._replace(make=make)


def test_targets():
    costs = {FOREACH: Cost(2.0, 2.0), FUSED: Cost(1.0, 1.0), MOMENTUM_ADAM: Cost(3.0, 4.0)}
    (target,) = targets.of_curve({64: costs})  # no Muon was timed
    assert (target.found, target.cpu, target.is_met) == (1.5, 2.0, True)
    assert str(target).endswith("1.50 (CPU 2.00), target at most 1.5: met")
    with_muon = {**costs, MUON: Cost(10.0, 1.0), "Hedged muon+adam": Cost(13.0, 1.0)}
    assert [each.is_met for each in targets.of_curve({64: with_muon})] == [True, False]
    assert len(targets.of_curve({16: with_muon})) == 1
    compiled = {**costs, f"{MOMENTUM_ADAM} compiled": Cost(3.1, 1.0)}
    assert [(each.most, each.is_met) for each in targets.of_models({"GPT": compiled})] == [(3.0, False)]
    assert [each.is_met for each in targets.of_memory({FOREACH: 9.0, MOMENTUM_ADAM: 1.3})] == [False]


@pytest.mark.parametrize(("power", "is_linear"), [(1, True), (2, False)])
def test_whether_bookkeeping_is_linear(power, is_linear):
    times = {n: {name: 1e-4 * n**power for name in phases.BOOKKEEPING} | {"rest": 1.0} for n in bookkeeping.COUNTS}
    few, growth = targets.of_bookkeeping("shared", times)
    assert few.found == pytest.approx(3e-4 * 100**power)
    assert growth.found == pytest.approx(5.0 ** (power - 1))
    assert growth.is_met == is_linear


def test_results_of_other_threads_and_sections_stay(tmp_path):
    path, curve = tmp_path / "new" / "steps.json", {16: {FOREACH: Cost(2.0, 2.0), FUSED: Cost(1.0, 1.23456)}}
    results.store(path, 2, "curve", curve, repeats=7)
    results.store(path, 1, "models", {"GPT": curve[16]})
    found = results.load(path)
    assert results.curve(found, 2) == {16: {FOREACH: Cost(2.0, 2.0), FUSED: Cost(1.0, 1.235)}}
    assert found["2"]["curve"]["repeats"] == 7
    assert found["2"]["curve"]["versions"]["numpy"] == np.__version__
    assert curves(results.curve(found, 2)) == {FUSED: {16: 0.5}}
    assert markdown(found).splitlines()[2] == "| AdamW fused | 0.50 |"
    results.store(path, 2, "memory", {FOREACH: 1.0, "Hedged muon": 1.25})
    results.store(path, 1, "memory", {"Hedged muon": 1.15})
    rows = aims(results.load(path)).splitlines()
    assert rows[0] == "|  | aim | 1 thread | 2 threads |"
    assert rows[2:] == ["| tiny: temporaries of Hedged muon / parameters | 1.2 | 1.15 | **1.25** |"]
    draw(results.curve(found, 2), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 1000


@pytest.mark.slow
def test_quick_run(tmp_path):
    """In a process of its own: within pytest the compiler of torch may wait for its helpers for ever."""
    marks = "".join(f"<!-- {name} -->\n\n<!-- end of {name} -->\n" for name in ("aims", "steps"))
    (tmp_path / "torch-cost.md").write_text(marks)
    script, out = [sys.executable, torch_step.__file__, "--threads", "1"], tmp_path / "steps.json"
    quick = [*script, "--quick", "--repeats", "1", "--out", str(out), "--docs", str(tmp_path)]
    runs = (quick, [*script, "--profile", "8", "momentum+adam"])
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = [subprocess.run(each, env=environment, check=True, capture_output=True, text=True) for each in runs]
    found, text = json.loads(out.read_text())["1"], "".join(each.stdout for each in done)
    assert [*found] == [*torch_step.SECTIONS]
    assert [*found["curve"]["values"]["16"]] == [*METHODS]
    assert all(f"targets, {name}, 1 thread\n" in text for name in found)
    assert "stops to compile" not in text
    assert "momentum+adam on 20 tensors" in text
    assert (tmp_path / "assets" / "torch-step.png").exists()
    page = (tmp_path / "torch-cost.md").read_text()
    assert "| Hedged muon+soap |" in page
    assert "| width 16: Hedged momentum+adam / AdamW foreach | 1.5 |" in page
