"""What `Hedged` says of itself, where it is written, and how a model is grouped."""

import csv
import math
import warnings

import numpy as np
import pytest
import torch
from torch.utils.tensorboard import SummaryWriter
from training import build, parameters, stored, tensors, train

from o2nc.conversions.practical import RATE
from o2nc.torch import Converted, Hedged, groups, log
from o2nc.torch.report import Report
from sentences import check

ALL = ("momentum", "adam", "polar", "sign")


# Reports.


@pytest.mark.parametrize("scope", ["shared", "group", "tensor"])
def test_a_report_is_about_the_last_step(scope):
    params = parameters()
    opt = Hedged(
        [{"params": params[:3], "lr": 0.05, "name": "first"}, {"params": params[3:]}], 0.02, ALL, weights=scope
    )
    train(opt, 4)
    before = [p.detach().clone() for p in params]
    train(opt, 1, start=4)
    report = opt.report()
    assert (report["step"], report["certificate"]) == (5, None)
    assert report["reason"].startswith("practical")
    assert [group["name"] for group in report["groups"]] == ["first", "1"]
    for group, rows in zip(report["groups"], (slice(0, 3), slice(3, 4)), strict=True):
        w = np.array([torch.softmax(-RATE * math.sqrt(math.log(4)) * s["C"] / s["R"], -1) for s in states(opt)[rows]])
        np.testing.assert_allclose(list(group["weights"].values()), w.mean(0), rtol=0, atol=1e-12)
        lr = 0.05 if group["name"] == "first" else 0.02
        assert group["rate"] == pytest.approx(lr * states(opt)[0]["scale.log"].exp().item(), rel=1e-12)
        assert group["entropy"] == pytest.approx(-(w * np.log(w)).sum(-1).mean(), abs=1e-12)
        regret = np.mean([s["regret"].numpy() for s in states(opt)[rows]], axis=0)
        np.testing.assert_allclose(list(group["regret"].values()), regret, rtol=0, atol=1e-12)
        moved = torch.cat([(p.detach() - q).flatten() for p, q in zip(params[rows], before[rows], strict=True)])
        assert group["effective_step"] == pytest.approx(moved.square().mean().sqrt().item(), rel=1e-10)
        assert ("least" in group) == ("most" in group) == (scope == "tensor")
        if scope == "tensor":
            np.testing.assert_allclose(list(group["least"].values()), w.min(0), rtol=0, atol=1e-12)
            np.testing.assert_allclose(list(group["most"].values()), w.max(0), rtol=0, atol=1e-12)


def states(opt):
    return [opt.state[p] for group in opt.param_groups for p in group["params"]]


def test_a_report_before_the_first_step_and_after_the_rate_has_changed():
    opt = Hedged(parameters(), 0.02)
    (group,) = opt.report()["groups"]
    assert group["weights"] == dict.fromkeys(("muon", "soap"), 1 / 2)
    assert (group["entropy"], group["effective_step"]) == (pytest.approx(math.log(2)), 0.0)
    assert group["rate"] == 0.02
    train(opt, 2)
    before = opt.report().flat()
    opt.param_groups[0]["lr"] = 0.1
    after = opt.report().flat()
    assert after.pop("groups/0/rate") == pytest.approx(5 * before.pop("groups/0/rate"), rel=1e-12)  # of the next step
    assert after == before
    assert opt.state_dict()["state"].keys() == {0, 1, 2, 3}


def test_the_learned_factor_is_there_when_a_schedule_has_ended():
    opt = Hedged(parameters(), 0.02)
    train(opt, 5)
    before = opt.report()["groups"][0]
    assert before["rate"] == pytest.approx(0.02 * before["scale"], rel=1e-12)
    opt.param_groups[0]["lr"] = 0.0
    after = opt.report()["groups"][0]
    assert (after["rate"], after["scale"]) == (0.0, before["scale"])
    assert before["scale"] != 1


def test_reports_change_nothing():
    one, two = (Hedged(parameters(torch.bfloat16), 0.02, ALL, weight_decay=0.1) for _ in range(2))
    for t in range(4):
        one.report()
        train(one, 1, start=t)
        train(two, 1, start=t)
    assert [p.tolist() for p in one.state] == [p.tolist() for p in two.state]


def test_a_report_prints_as_a_table():
    opt = Hedged(parameters(), 0.02)
    train(opt, 3)
    head, *rows, step, certificate, reason = str(opt.report()).splitlines()
    assert head.split() == [
        "group",
        "expert",
        "weight",
        "regret",
        "error",
        "entropy",
        "scale",
        "rate",
        "effective",
        "step",
    ]
    assert [row.split()[:2] for row in rows] == [["0", name] for name in ("muon", "soap")]
    start = head.index("weight")
    assert all(row[start - 1] == " " != row[start] for row in rows)
    (group,) = opt.report()["groups"]
    weights = list(group["weights"].values())
    assert [float(row[start:].split()[0]) for row in rows] == pytest.approx(weights, abs=5e-4)
    assert [float(row[head.index("rate") :].split()[0]) for row in rows] == pytest.approx([group["rate"]] * 2, rel=5e-3)
    assert [float(row[head.index("scale") :].split()[0]) for row in rows] == pytest.approx(
        [group["scale"]] * 2, rel=5e-3
    )
    assert (step.split(), certificate.split()) == (["step", "3"], ["certificate", "none"])
    assert "practical" in reason
    assert str(Converted(parameters(), build("sgd")).report()).splitlines()[0].split() == ["t", "0"]


def test_a_report_says_which_directions_tensors_really_got():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
    opt = Hedged(groups(model))
    found = {group["name"]: group["directions"] for group in opt.report()["groups"]}
    assert found["matrices"] == {"muon": "muon", "soap": "soap"}
    assert found["heads"] == found["vectors"] == {"muon": "adam", "soap": "adam"}
    rows = [line.split()[:2] for line in str(opt.report()).splitlines()[1:-3]]
    assert rows == [["matrices", "muon"], ["matrices", "soap"], ["heads", "adam"], ["vectors", "adam"]]
    (mixed,) = Hedged(model.parameters()).report()["groups"]
    assert mixed["directions"] == {"muon": "muon, adam", "soap": "soap, adam"}


# Logs.


def test_a_log_for_functions():
    opt, seen = Hedged(parameters(), 0.02, nonfinite="skip"), []
    handle = log(opt, seen.append, every=2)
    train(opt, 2)
    opt.zero_grad()
    opt.step()  # does nothing, and is not there twice
    opt.param_groups[0]["params"][0].grad = torch.full((), math.nan, dtype=torch.float64)
    opt.step()
    train(opt, 3)
    assert [record["step"] for record in seen] == [2, 4]
    assert seen[1].keys() == opt.report().flat().keys()
    keys = ("weights/muon", "entropy", "regret/soap", "scale", "rate", "effective_step")
    assert {f"groups/0/{key}" for key in keys} <= set(seen[0])
    handle.remove()
    train(opt, 3)
    assert len(seen) == 2


@pytest.mark.parametrize("name", ["hedged", "converted"])
def test_a_log_in_a_file_survives_a_resume(name, tmp_path):
    make = lambda: Hedged(parameters(), 0.02) if name == "hedged" else Converted(parameters(), build("descent"))
    path = tmp_path / "log.csv"
    opt, other = make(), make()
    log(opt, path)
    train(opt, 2)
    expected = opt.report().flat()
    other.load_state_dict(stored(opt.state_dict()))
    for group, source in zip(other.param_groups, opt.param_groups, strict=True):
        for p, q in zip(group["params"], source["params"], strict=True):
            p.data.copy_(q.data)
    log(other, str(path))
    train(other, 2, start=2)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    key = "step" if name == "hedged" else "t"
    assert [float(row[key]) for row in rows] == [1, 2, 3, 4]
    assert rows[1] == {key: "" if value is None else str(value) for key, value in expected.items()}
    log(third := Hedged(parameters(), 0.02, ALL), path)
    check(lambda: train(third, 1), ValueError, "must have the columns of this run", "it has")


@pytest.mark.parametrize("left", [b"3,0.", b"3,0.02\r"])
def test_half_a_row_of_a_killed_run_goes_when_it_is_resumed(left, tmp_path):
    """Otherwise the next row would stand behind it. The file of another run is left as it is."""
    path, opt = tmp_path / "log.csv", Hedged(parameters(), 0.02)
    log(opt, path)
    train(opt, 2)
    whole = path.read_bytes()
    path.write_bytes(whole + left)
    log(other := Hedged(parameters(), 0.02, ALL), path)
    check(lambda: train(other, 1), ValueError, "must have the columns of this run")
    assert path.read_bytes() == whole + left
    log(again := Hedged(parameters(), 0.02), path)
    train(again, 1)
    assert path.read_bytes().startswith(whole + b"1,")
    assert path.read_bytes().count(b"\n") == 4


def test_a_log_for_tensorboard(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    opt = Hedged(parameters(), 0.02)
    with SummaryWriter(tmp_path) as to:
        log(opt, to)
        train(opt, 3)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    found = events.Scalars("groups/0/weights/soap")
    assert [event.step for event in found] == [1, 2, 3]
    assert found[-1].value == pytest.approx(opt.report()["groups"][0]["weights"]["soap"], rel=1e-6)
    assert "reason" not in events.Tags()["scalars"]


WRONG = {
    "optimizer": (lambda: log(torch.optim.SGD(parameters()), print), TypeError, "`opt` must be", "got a SGD"),
    "every": (lambda: log(Hedged(parameters()), print, every=0), ValueError, "`every` must be", "got 0"),
    "path": (lambda: log(Hedged(parameters()), "log.txt"), TypeError, "ends in '.csv'", "got 'log.txt'"),
    "nothing": (lambda: log(Hedged(parameters()), None), TypeError, "`to` must have `add_scalar`", "got a NoneType"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    check(*WRONG[name])


# A learner that does not move.


def once(m):
    return 0.5 * m


def twice(m):
    return 0.5 * m


def still(lr=0.1, steps=20, experts=(once, twice), **options):
    """A vector."""
    p = torch.nn.Parameter(torch.ones(3))
    opt = Hedged([p], lr, experts, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(steps):
            (p.grad,) = tensors([np.random.default_rng(t).normal(size=3)], torch.float32)
            opt.step()
    return [str(warning.message) for warning in caught]


def test_a_learner_that_has_not_moved_is_named_once(monkeypatch):
    monkeypatch.setattr("o2nc.torch.hedged.PATIENCE", 20)
    (message,) = still(steps=25)
    assert message.startswith("After 20 steps the weights of once, twice are still those of the start.")
    assert still(steps=19) == []
    assert still(lr=0.0) == []
    assert still(experts=("adam",)) == []
    assert still(experts=("adam", "polar")) == still(experts=("muon", "soap")) == []  # adam is all there is to weigh
    assert still(experts=("adam", "momentum")) == []


def test_a_report_is_a_dict():
    report = Report(a={"b": [1, {"c": 2}]}, d=None)
    assert report.flat() == {"a/b/0": 1, "a/b/1/c": 2, "d": None}
