"""The scale that `Hedged` learns, beside what trainers do: clipping, scalers, schedulers, freezing, checkpoints."""

import math

import numpy as np
import pytest
import torch
from training import NAMED, SCHEDULERS, assert_same, draws, fit, net, parameters, snapshot, stored, train

from o2nc.conversions.practical import START
from o2nc.torch import Hedged, groups
from reference_practical import Practical

LR = 0.02


def gradients(x, t):
    """Of a quadratic whose curvatures differ a thousandfold, with noise."""
    rng = np.random.default_rng([9, t])
    return [np.geomspace(0.01, 10, a.size).reshape(a.shape) * a + 0.3 * rng.normal(size=a.shape) for a in x]


def rate(opt, group=0):
    return opt.report()["groups"][group]["rate"]


def give(params, given):
    for p, g in zip(params, given, strict=True):
        p.grad = None if g is None else torch.tensor(g, dtype=p.dtype)


def assert_reference(opt, params, reference, lr=LR):
    for p, x in zip(params, reference.x, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), x, rtol=0, atol=1e-12)
    assert rate(opt) == pytest.approx(lr * math.exp(reference.log_sigma), rel=1e-12)


def test_without_a_rate_it_starts_at_a_known_one():
    opt = Hedged([{"params": parameters()[:2]}, {"params": parameters()[2:], "lr": 0.5}])
    assert [group["lr"] for group in opt.param_groups] == [START, 0.5]
    assert [rate(opt, k) for k in range(2)] == [START, 0.5]


@pytest.mark.parametrize("start", [1e-6, 1e-2, 1e2])
def test_it_finds_its_way_from_any_start(start):
    """A quadratic in 20 dimensions, from 1 to below a twentieth.

    At a fixed rate the first start does not move, and the last swings. The run is chaotic: the last digits of the start
    decide where between 0.001 and 0.02 it ends.
    """

    def distance(scale):
        x = torch.nn.Parameter(torch.ones(20, dtype=torch.float64))
        opt = Hedged([x], start, ("momentum", "adam"), scale=scale)
        for _ in range(800):
            x.grad = torch.linspace(0.5, 1.0, 20, dtype=torch.float64) * x.detach()
            opt.step()
        return x.detach().abs().max().item()

    assert distance("learned") < 0.05
    if start != 1e-2:
        assert distance("fixed") > 0.9


def test_clipped_gradients_are_the_gradients():
    params, clipped = parameters(), 0
    opt, reference = Hedged(params, LR, NAMED), Practical(draws(1), NAMED)
    for t in range(12):
        given = gradients(reference.x, t)
        norm = math.sqrt(sum(np.sum(g * g) for g in given))
        factor = min(1.0, 13.0 / (norm + 1e-6))
        clipped += factor < 1
        give(params, given)
        torch.nn.utils.clip_grad_norm_(params, 13.0)
        opt.step()
        reference.step([factor * g for g in given], LR)
        assert_reference(opt, params, reference)
    assert 0 < clipped < 12


def test_a_scaler_that_unscales_clips_and_skips():
    """Losses times a power of two are the same run bit by bit; where they overflow, nothing is learned."""
    opt, other = (Hedged(parameters(torch.float32), LR, NAMED) for _ in range(2))
    params, others = (each.param_groups[0]["params"] for each in (opt, other))
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    for t, factor in enumerate([1.0, 1.0, torch.inf, 1.0, 1.0]):
        before, opt_rate = snapshot(opt), rate(opt)
        opt.zero_grad()
        given = draws(100 + t)
        total = sum((p * torch.as_tensor(g, dtype=p.dtype)).sum() for p, g in zip(params, given, strict=True))
        scaler.scale(total * factor).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(params, 2.0)
        scaler.step(opt)
        scaler.update()
        if factor != 1.0:
            assert_same(snapshot(opt), before)
            assert rate(opt) == opt_rate
            continue
        give(others, given)
        torch.nn.utils.clip_grad_norm_(others, 2.0)
        other.step()
    assert_same(snapshot(opt), snapshot(other))
    assert rate(opt) != LR


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_steps_that_are_skipped_teach_nothing(value):
    opt, other = (Hedged(parameters(), nonfinite="skip") for _ in range(2))
    for each in (opt, other):
        train(each, 4)
    before = rate(opt)
    assert before != START
    for p in opt.param_groups[0]["params"]:
        p.grad = torch.full_like(p, value)
    opt.step()
    assert rate(opt) == before
    for each in (opt, other):
        train(each, 4, start=4)
    assert opt.skipped == 1
    opt.param_groups[0]["skipped"] = 0
    assert_same(snapshot(opt), snapshot(other))


def test_a_parameter_that_is_unfrozen_joins_the_scale_that_was_learned():
    params = parameters()
    opt, reference = Hedged(params, LR, NAMED), Practical(draws(1), NAMED)
    params[2].requires_grad_(False)
    for t in range(12):
        if t == 6:
            assert params[2] not in opt.state
            assert abs(math.log(rate(opt) / LR)) > 1e-2
            params[2].requires_grad_(True)
        given = [g if p.requires_grad else None for p, g in zip(params, gradients(reference.x, t), strict=True)]
        give(params, given)
        opt.step()
        reference.step(given, LR)
        assert_reference(opt, params, reference)


def test_accumulated_gradients_teach_what_one_batch_does():
    model, other = net(), net()
    one, two = (Hedged(each.parameters(), experts=("muon", "adam")) for each in (model, other))
    fit(model, one, 6)
    fit(other, two, 6, chunks=2)
    assert rate(one) != pytest.approx(START, rel=1e-2)
    assert rate(two) == pytest.approx(rate(one), rel=1e-11)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["LambdaLR", "ExponentialLR", "CosineAnnealingLR", "OneCycleLR", "SequentialLR"])
def test_a_scheduler_multiplies_what_is_learned(name):
    params = parameters()
    opt, reference, rates = Hedged(params, LR, NAMED), Practical(draws(1), NAMED), set()
    scheduler = SCHEDULERS[name](opt)
    for t in range(4):
        given, lr = gradients(reference.x, t), opt.param_groups[0]["lr"]
        rates.add(lr)
        give(params, given)
        opt.step()
        scheduler.step()
        reference.step(given, lr)
        assert_reference(opt, params, reference, opt.param_groups[0]["lr"])
    assert len(rates) > 1


def test_groups_that_learn_have_one_scale_and_others_none():
    params, experts = parameters(), ("momentum", "adam")
    groups = [{"params": params[k : k + 1], "scale": "fixed" if k == 2 else "learned"} for k in range(4)]
    opt = Hedged(groups, LR, experts, weights="group")
    learned = Practical([a for k, a in enumerate(draws(1)) if k != 2], experts, [0, 1, 2])
    fixed = Practical(draws(1)[2:3], experts, learned=False)
    for t in range(10):
        first, second, last = gradients(learned.x, t)
        (third,) = gradients(fixed.x, 100 + t)
        give(params, [first, second, third, last])
        opt.step()
        learned.step([first, second, last], LR)
        fixed.step([third], LR)
        for p, x in zip(params, [*learned.x[:2], *fixed.x, *learned.x[2:]], strict=True):
            np.testing.assert_allclose(p.detach().numpy(), x, rtol=0, atol=1e-12)
    expected = LR * math.exp(learned.log_sigma)
    assert abs(learned.log_sigma) > 1e-2
    assert [rate(opt, k) for k in range(4)] == pytest.approx([expected, expected, LR, expected], rel=1e-12)


def test_a_fixed_scale_stays():
    opt = Hedged(parameters(), LR, scale="fixed")
    train(opt, 5)
    assert rate(opt) == LR


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_what_was_learned_resumes_bit_by_bit(dtype):
    whole, first = (Hedged(parameters(dtype), LR) for _ in range(2))
    train(whole, 6)
    train(first, 3)
    saved = stored(first.state_dict())
    for key in ("log", "mean", "root"):
        assert len({entry[f"scale.{key}"].item() for entry in saved["state"].values()}) == 1
    assert saved["state"][0]["scale.log"].item() == pytest.approx(math.log(rate(first) / LR), abs=1e-12) != 0
    second = Hedged([torch.nn.Parameter(p.detach().clone()) for p in first.param_groups[0]["params"]])
    second.load_state_dict(saved)
    assert rate(second) == rate(first)
    train(second, 3, start=3)
    assert_same(snapshot(second), snapshot(whole))


def test_a_checkpoint_of_another_scale_is_refused():
    opt = Hedged(parameters(), LR)
    train(opt, 2)
    other = Hedged(parameters(), LR, scale="fixed")
    with pytest.raises(ValueError, match="scale of group 0 was learned and is fixed here"):
        other.load_state_dict(stored(opt.state_dict()))


@pytest.mark.parametrize("batch", [16, 64])
def test_a_classifier_that_separates_its_data_does_not_run_away(batch):
    """Every step still helps a little there, ever less; without a schedule the scale must not grow for ever."""
    torch.manual_seed(0)
    inputs = torch.randn(128, 8)
    labels = (inputs[:, 0] > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    opt = Hedged(groups(model))
    for _ in range(800):
        rows = torch.randint(0, 128, (batch,))
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
        opt.step()
    assert torch.nn.functional.cross_entropy(model(inputs), labels).item() < 1e-3
    assert opt.report()["groups"][0]["rate"] < 0.3
