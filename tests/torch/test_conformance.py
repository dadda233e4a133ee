"""What both optimizers do as PyTorch expects: closures, schedulers, hooks, groups, gradients, precision, errors."""

import copy
import math

import pytest
import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from training import MAKERS, SCHEDULERS, assert_same, build, draws, fit, net, parameters, snapshot, tensors, train

from o2nc.torch import Converted, Hedged
from sentences import check

every = pytest.mark.parametrize("name", MAKERS)


def of(opt):
    return [p for group in opt.param_groups for p in group["params"]]


def pair(name, *args, **options):
    """Two equal optimizers."""
    return (MAKERS[name](parameters(*args), **options) for _ in range(2))


def on(model, name, **options):
    return MAKERS[name](model.parameters(), oracle="constant", **options)


# Steps.


@every
def test_a_closure_is_called_once_with_gradients_on(name):
    model, plain = net(), net()
    opt, other = on(model, name), on(plain, name)
    x, calls = torch.ones(1, 12, dtype=torch.float64), []

    def closure():
        calls.append(torch.is_grad_enabled())
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    loss = opt.step(closure)
    plain(x).square().mean().backward()
    other.step()
    assert calls == [True]
    assert loss.item() == net()(x).square().mean().item()
    assert_same(model.state_dict(), plain.state_dict())


@every
def test_autograd_mode_is_restored_after_an_exception(name):
    opt = MAKERS[name](parameters())
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            with pytest.raises(ZeroDivisionError):
                opt.step(lambda: 1 / 0)
            assert torch.is_grad_enabled() == mode
            of(opt)[0].grad = torch.full((), math.nan, dtype=torch.float64)
            with pytest.raises(ValueError, match="finite"):
                opt.step()
            assert torch.is_grad_enabled() == mode


@every
def test_step_hooks(name):
    opt, seen = MAKERS[name](parameters()), []
    opt.register_step_pre_hook(lambda o, *_: seen.append(("before", o.t)))
    opt.register_step_post_hook(lambda o, *_: seen.append(("after", o.t)))
    train(opt, 1)
    assert seen == [("before", 0), ("after", 1)]


def test_every_scheduler_of_torch_is_tried():
    bases = {"LRScheduler", "_LRScheduler", "Optimizer", "Counter"}
    classes = {name for name, thing in vars(lr_scheduler).items() if isinstance(thing, type)}
    assert {name for name in classes if name.endswith(("LR", "Plateau", "Restarts", "Scheduler"))} - bases == set(
        SCHEDULERS
    )


UNIT = {  # one entry with the gradient 1 moves by lr times this
    "hedged": (lambda x, lr: Hedged([x], lr, ("momentum",), scale="fixed"), 1.0),
    "converted": (lambda x, lr: Converted([x], build("sgd"), lr), 0.1),
}


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("unit", UNIT)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name, unit, tensor):
    """Each step shows the rate that it was made with."""
    (make, length), x = UNIT[unit], torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    opt = make(x, torch.tensor(1.0, dtype=torch.float64) if tensor else 1.0)
    scheduler, rates = SCHEDULERS[name](opt), set()
    for _ in range(4):
        lr, before = float(opt.param_groups[0]["lr"]), x.item()
        rates.add(lr)
        x.grad = torch.ones_like(x)
        opt.step()
        assert x.item() == pytest.approx(before - length * lr, abs=1e-12)
        scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    assert rates != {1.0}
    assert isinstance(opt.param_groups[0]["lr"], torch.Tensor) == tensor
    SCHEDULERS[name](make(x, 1.0)).load_state_dict(scheduler.state_dict())


@every
def test_maximize_is_the_negative_objective(name):
    one, two = MAKERS[name](parameters()), MAKERS[name](parameters(), maximize=True)
    for t in range(5):
        for p, q, g in zip(of(one), of(two), draws(t), strict=True):
            p.grad, q.grad = torch.as_tensor(g), -torch.as_tensor(g)
        one.step()
        two.step()
    assert_same(snapshot(one)[0], snapshot(two)[0])
    assert_same(one.state_dict()["state"], two.state_dict()["state"])


@every
def test_named_parameters(name):
    model = net()
    opt = MAKERS[name](model.named_parameters(), oracle="constant")
    fit(model, opt, 1)
    assert opt.state_dict()["param_groups"][0]["param_names"] == [name for name, _ in model.named_parameters()]


@every
def test_a_group_is_not_changed_by_adding_it(name):
    group = {"params": parameters()[0]}
    MAKERS[name](parameters()[1:], oracle="constant").add_param_group(group)
    assert isinstance(group["params"], torch.Tensor)
    assert set(group) == {"params"}


# Gradients.


@every
def test_a_step_without_any_gradient_does_nothing(name):
    opt = MAKERS[name](parameters(), weight_decay=0.1)
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)
    train(opt, 2)
    opt.zero_grad()
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_gradients_are_not_modified_and_not_shared(name, dtype):
    opt, other = pair(name, dtype, maximize=True)
    for t in range(3):
        for p, g in zip(of(opt), tensors(draws(100 + t, scale=3.0), dtype), strict=True):
            p.grad = g.clone()
        kept = [(p.grad, p.grad.clone(), p.grad._version) for p in of(opt)]
        opt.step()
        for p, (grad, value, version) in zip(of(opt), kept, strict=True):
            assert p.grad is grad
            assert grad._version == version
            assert torch.equal(grad, value)
        opt.zero_grad(set_to_none=False)
    train(other, 3)
    assert_same(snapshot(opt), snapshot(other))


@every
def test_accumulated_gradients_are_one_sample(name):
    model, other = net(), net()
    fit(model, on(model, name), 3)
    fit(other, on(other, name), 3, chunks=2)
    for key, p in model.state_dict().items():
        torch.testing.assert_close(other.state_dict()[key], p, rtol=0, atol=1e-11)


@every
def test_steps_that_a_scaler_skips_leave_all_untouched(name):
    opt, other = pair(name, torch.float32)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for t, factor in enumerate([1.0, torch.inf, 1.0]):
        before = snapshot(opt)
        opt.zero_grad()
        total = sum((p * torch.as_tensor(g, dtype=p.dtype)).sum() for p, g in zip(of(opt), draws(100 + t), strict=True))
        scaler.scale(total * factor).backward()
        scaler.step(opt)
        scaler.update()
        if factor != 1.0:
            assert_same(snapshot(opt), before)
    assert opt.t == 2
    for t in (0, 2):
        for p, g in zip(of(other), draws(100 + t), strict=True):
            p.grad = torch.as_tensor(g, dtype=p.dtype)
        other.step()
    assert_same(snapshot(opt), snapshot(other))


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_gradients_that_are_not_finite(name, dtype, value):
    """None is a number whose square overflows in the dtype of the state."""
    if value is None:
        value = {torch.float64: 1e200, torch.float32: 1e25, torch.bfloat16: 1e25, torch.float16: math.nan}[dtype]
    opt = MAKERS[name](parameters(dtype), 0.01, weight_decay=0.1)
    train(opt, 2)
    before = snapshot(opt)
    of(opt)[2].grad[0, 1] = value
    check(opt.step, ValueError, "Gradients must be finite, and their squares", "Nothing was changed")
    assert_same(snapshot(opt), before)
    opt.nonfinite = "skip"
    opt.step()
    params, after = snapshot(opt)
    assert_same((params, after["state"]), (before[0], before[1]["state"]))
    train(opt, 1)
    assert opt.t == 3
    assert all(torch.isfinite(a).all() for entry in opt.state.values() for a in entry.values())


@every
def test_sparse_gradients_are_refused(name):
    table = torch.nn.Embedding(4, 2, sparse=True)
    opt = on(table, name)
    table(torch.tensor([1])).sum().backward()
    before = snapshot(opt)
    check(opt.step, TypeError, "Gradients must be dense", "sparse")
    assert_same(snapshot(opt), before)


# Parameters.


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_parameters_are_roundings_of_a_point_in_float32(name, dtype):
    """The run in float32 with the gradients in narrow precision, and its points rounded."""
    params = parameters(dtype)
    wide = [torch.nn.Parameter(p.detach().float()) for p in params]
    opt, other = MAKERS[name](params, 1e-3), MAKERS[name](wide, 1e-3)
    for t in range(8):
        for p, q, g in zip(params, wide, draws(t), strict=True):
            p.grad = torch.as_tensor(g, dtype=dtype)
            q.grad = p.grad.float()
        opt.step()
        other.step()
        for p, q in zip(params, wide, strict=True):
            assert torch.equal(p.detach(), q.detach().to(dtype))
            assert torch.equal(opt.state[p]["x"], q.detach())
            assert_same({**opt.state[p], "x": None}, {**other.state[q], "x": None})


@every
def test_tied_parameters_are_one(name):
    model = net()
    fit(model, opt := on(model, name), 2)
    assert len(opt.state) == 4
    assert model.one.weight is model.two.weight


@every
def test_frozen_parameters_stay(name):
    model = net()
    model.conv.requires_grad_(False)
    before = copy.deepcopy(model.conv.state_dict())
    fit(model, on(model, name), 3)
    assert_same(model.conv.state_dict(), before)


@every
@pytest.mark.parametrize("average", [{}, {"multi_avg_fn": get_ema_multi_avg_fn(0.5)}])
def test_averages_of_the_model(name, average):
    model = net()
    opt, averaged = on(model, name), AveragedModel(model, **average)
    fit(model, opt, 1)
    averaged.update_parameters(model)
    first = model.scale.item()
    fit(model, opt, 1, start=1)
    averaged.update_parameters(model)
    assert averaged.module.scale.item() == pytest.approx((first + model.scale.item()) / 2, abs=1e-12)


@every
def test_a_moved_model_is_followed_before_the_first_step(name):
    model = net()
    opt = on(model, name)
    opt.report()
    model.float()
    fit(model, opt, 2)
    vectors = {a.dtype for p in model.parameters() for a in opt.state[p].values() if a.shape == p.shape and p.ndim}
    assert vectors == {torch.float32}


# Wrong arguments.

P, Q = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))
WRONG = {
    "a module": (lambda make: make(torch.nn.Linear(1, 1)), TypeError, "`params` must be tensors", "got a Linear"),
    "a model of layers": (
        lambda make: make(torch.nn.Sequential(torch.nn.Linear(1, 1))),
        TypeError,
        "`params` must be tensors",
        "`groups(model)`; got a Sequential",
    ),
    "none": (lambda make: make(None), TypeError, "got a NoneType"),
    "no params": (lambda make: make([{"lr": 1.0}]), TypeError, "A group must be a dict with the key 'params'; got ["),
    "no dict": (lambda make: make([P]).add_param_group([Q]), TypeError, "A group must be a dict", "got a list"),
    "lr": (lambda make: make([P], lr=-0.5), ValueError, "`lr` must be finite and nonnegative; got -0.5"),
    "lr nan": (lambda make: make([P], lr=math.nan), ValueError, "`lr` must be finite", "got nan"),
    "lr text": (lambda make: make([P], lr="1"), TypeError, "`lr` must be a number; got '1'"),
    "lr tensor": (lambda make: make([P], lr=torch.ones(2)), ValueError, "`lr` must have one entry", "(2,)"),
    "lr negative tensor": (lambda make: make([P], lr=torch.tensor(-1.0)), ValueError, "`lr`", "got -1.0"),
    "weight decay": (lambda make: make([P], weight_decay=-1.0), ValueError, "`weight_decay`", "got -1.0"),
    "maximize": (lambda make: make([P], maximize="no"), TypeError, "`maximize` must be True or False; got 'no'"),
    "nonfinite": (lambda make: make([P], nonfinite="no"), ValueError, "`nonfinite` must be", "got 'no'"),
    "complex": (
        lambda make: make([torch.zeros(2, dtype=torch.complex64, requires_grad=True)]),
        TypeError,
        "`params` must have one of the dtypes",
        "got torch.complex64",
    ),
    "integers": (lambda make: make([torch.zeros(2, dtype=torch.int64)]), TypeError, "got torch.int64"),
}


@pytest.mark.parametrize("maker", ["hedged", "algorithm 1"])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong, maker):
    call, *expected = WRONG[wrong]
    check(lambda: call(MAKERS[maker]), *expected)


@every
def test_parameters_on_two_devices(name):
    params = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2, device="meta"))]
    opt = MAKERS[name](params, oracle="constant")
    params[0].grad = torch.ones(2)
    check(opt.step, ValueError, "All parameters must be on one device; got cpu, meta")
