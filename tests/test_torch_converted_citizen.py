"""`Converted` among the other parts of PyTorch: schedulers, hooks, closures, checkpoints, precision, wrappers."""

import copy
import pickle

import pytest
import torch
from torch.distributed.checkpoint import state_dict as distributed
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from o2nc.torch import Converted
from sentences import check
from training import (
    CASES,
    SCHEDULERS,
    assert_same,
    build,
    draws,
    fit,
    net,
    parameters,
    snapshot,
    stored,
    tensors,
    train,
)

# Resuming.


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_resume_is_bit_exact(kind, name):
    whole = Converted(parameters(), build(kind, name), seed=2)
    train(whole, 5)
    first = Converted(parameters(), build(kind, name), seed=2)
    train(first, 3)
    params = [torch.nn.Parameter(p.detach().clone()) for p in first.param_groups[0]["params"]]
    second = Converted(params, build(kind, name), seed=0)  # the seed comes with the state
    second.load_state_dict(stored(first.state_dict()))
    train(second, 2, start=3)
    assert_same(snapshot(second), snapshot(whole))


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "sgd"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))])
@pytest.mark.parametrize("rounds", [0, 2])
def test_copies_go_on_alone(kind, copied, rounds):
    opt = Converted(parameters(), build(kind), lr=torch.tensor(0.5), nonfinite="skip", seed=2)
    train(opt, rounds)
    other = copied(opt)
    assert_same(snapshot(other), snapshot(opt))
    assert other.nonfinite == "skip"
    before = snapshot(opt)
    train(other, 2, start=rounds)
    assert_same(snapshot(opt), before)
    train(opt, 2, start=rounds)
    assert_same(snapshot(other), snapshot(opt))


def test_a_checkpoint_before_the_first_step():
    opt, other = (Converted(parameters(), build("nonsmooth"), seed=seed) for seed in (6, 0))
    train(other, 2)
    other.load_state_dict(stored(opt.state_dict()))
    assert other.t == 0
    for p, a in zip(other.param_groups[0]["params"], parameters(), strict=True):
        p.data.copy_(a.data)
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(other), snapshot(opt))


def test_a_checkpoint_that_does_not_fit_says_why_and_changes_nothing():
    opt = Converted(parameters(), build("descent"))
    train(opt, 2)
    state = stored(opt.state_dict())
    cases = {
        "conversion was SmoothConversion and is NonsmoothConversion here": Converted(parameters(), build("nonsmooth")),
        "conversion.oracle.gamma was None and is 0.5 here": Converted(parameters(), build("descent", "hedge constant")),
        "conversion.kappa was 1.0 and is 0.0 here": Converted(parameters(), build("smooth")),
        "groups of [2] parameters; got [4]": Converted(parameters()[:2], build("descent", "constant")),
        "version 1; got None": Converted(parameters(), build("adam")),
        "'state.m' of shape (5,) for parameter 1; got (3,)": Converted(
            [torch.nn.Parameter(torch.ones(5)) if p.shape == (3,) else p for p in parameters()],
            build("descent", "constant"),
        ),
        "it lacks that of [1]": Converted(parameters(), build("descent")),
        "for parameter 2; got": Converted(parameters(), build("descent")),
    }
    for sentence, other in cases.items():
        given = copy.deepcopy(state)
        if "lacks" in sentence:
            del given["state"][1]
        elif "version 1" in sentence:
            given = torch.optim.Adam(parameters()).state_dict()
        elif "parameter 2" in sentence:
            del given["state"][2]["state.m"]
        elif "parameter 1;" in sentence:
            plain = Converted(parameters(), build("descent", "constant"))
            train(plain, 1)
            given = plain.state_dict()
        before = snapshot(other)
        check(lambda other=other, given=given: other.load_state_dict(given), ValueError, sentence)
        assert_same(snapshot(other), before)
        assert not other._optimizer_load_state_dict_pre_hooks


def test_hooks_of_the_user_see_the_state_dict():
    opt, other = (Converted(parameters(), build("descent")) for _ in range(2))
    train(opt, 1)
    seen = []
    other.register_load_state_dict_pre_hook(
        lambda _, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.25}]}
    )
    other.register_load_state_dict_post_hook(lambda _: seen.append("loaded"))
    other.load_state_dict(opt.state_dict())
    assert (other.param_groups[0]["lr"], other.t, seen) == (0.25, 1, ["loaded"])


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "sgd"])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_distributed_checkpoints(kind, flat):
    """torch.distributed.checkpoint keys state by parameter name and makes state by a step with zeros."""
    options = distributed.StateDictOptions(flatten_optimizer_state_dict=flat)
    model, whole = net(), net()
    conversion = lambda: build(kind, "constant")
    opt = Converted(model.parameters(), conversion(), seed=3)
    fit(model, opt, 2)
    saved = stored(distributed.get_optimizer_state_dict(model, opt, options=options))
    new = net()
    other = Converted(new.parameters(), conversion())
    assert distributed.get_optimizer_state_dict(new, other, options=options).keys() == saved.keys()
    assert other.t == 0
    distributed.set_optimizer_state_dict(new, other, saved, options=options)
    new.load_state_dict(model.state_dict())
    fit(new, other, 2, start=2)
    reference = Converted(whole.parameters(), conversion(), seed=3)
    fit(whole, reference, 4)
    assert_same(new.state_dict(), whole.state_dict())
    assert_same(dict(enumerate(other.state.values())), dict(enumerate(reference.state.values())))


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "sgd", "adam"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_first_step_of_zeros_changes_nothing(kind, dtype):
    opt, other = (Converted(parameters(dtype), build(kind, "constant"), fresh_samples=True) for _ in range(2))
    params = opt.param_groups[0]["params"]
    before = [p.detach().clone() for p in params]
    for p in params:
        p.grad = torch.zeros_like(p)
    opt.param_groups[0]["lr"] = 0.0
    opt.step()
    assert_same([p.detach() for p in params], before)
    assert opt.t == 0
    assert len(opt.state) == len(params)
    pointers = [a.data_ptr() for p in params for a in opt.state[p].values()]
    assert len(pointers) == len(set(pointers))  # checkpoints are read into this memory
    opt.param_groups[0]["lr"] = 1.0
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(opt), snapshot(other))


# Schedulers, closures, hooks, groups.


def test_every_scheduler_of_torch_is_tried():
    bases = {"LRScheduler", "_LRScheduler", "Optimizer", "Counter"}
    classes = {name for name, thing in vars(lr_scheduler).items() if isinstance(thing, type)}
    assert {name for name in classes if name.endswith(("LR", "Plateau", "Restarts", "Scheduler"))} - bases == set(
        SCHEDULERS
    )


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name, tensor):
    """dx of SGD is -0.1 s, so each step shows the rate that it was made with."""
    x = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    opt = Converted([x], build("sgd"), lr=torch.tensor(1.0) if tensor else 1.0)
    scheduler, rates = SCHEDULERS[name](opt), set()
    for _ in range(4):
        lr, before = float(opt.param_groups[0]["lr"]), x.item()
        rates.add(lr)
        x.grad = torch.ones_like(x)
        opt.step()
        assert x.item() == pytest.approx(before - 0.1 * lr, abs=1e-12)
        scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    assert rates != {1.0}
    again = SCHEDULERS[name](Converted([x], build("sgd"), lr=1.0))
    again.load_state_dict(scheduler.state_dict())


@pytest.mark.parametrize("kind", ["descent", "nonsmooth"])
def test_a_closure_is_called_once_with_gradients_on(kind):
    model, plain = net(), net()
    opt, other = (
        Converted(model.parameters(), build(kind, "constant")),
        Converted(plain.parameters(), build(kind, "constant")),
    )
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


def test_autograd_mode_is_restored_after_an_exception():
    opt = Converted(parameters(), build("descent"))
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            with pytest.raises(ZeroDivisionError):
                opt.step(lambda: 1 / 0)
            assert torch.is_grad_enabled() == mode
            opt.param_groups[0]["params"][0].grad = torch.full((), torch.nan, dtype=torch.float64)
            with pytest.raises(ValueError, match="finite"):
                opt.step()
            assert torch.is_grad_enabled() == mode


def test_step_hooks():
    opt, seen = Converted(parameters(), build("descent")), []
    opt.register_step_pre_hook(lambda o, *_: seen.append(("before", o.t)))
    opt.register_step_post_hook(lambda o, *_: seen.append(("after", o.t)))
    train(opt, 1)
    assert seen == [("before", 0), ("after", 1)]


def test_groups_can_be_added_before_the_first_step():
    params, alone = parameters(), parameters()
    opt = Converted(params[:2], build("nonsmooth", "constant"), lr=0.0)
    for p in params[:2]:
        p.grad = torch.zeros_like(p)
    opt.step()  # makes state for two parameters
    opt.param_groups[0]["lr"] = 0.5
    opt.eval()
    opt.add_param_group({"params": (p for p in params[2:]), "lr": 0.25})
    opt.train()
    assert [group["lr"] for group in opt.param_groups] == [0.5, 0.25]
    train(opt, 2)
    groups = [{"params": alone[:2], "lr": 0.5}, {"params": alone[2:], "lr": 0.25}]
    other = Converted(groups, build("nonsmooth", "constant"))
    train(other, 2)
    assert_same(snapshot(opt), snapshot(other))
    more = {"params": parameters()}
    check(lambda: opt.add_param_group(more), ValueError, "before the first step; 2 rounds were made")
    assert len(opt.param_groups) == 2


def test_named_parameters():
    model = net()
    opt = Converted(model.named_parameters(), build("descent", "constant"))
    fit(model, opt, 1)
    assert opt.state_dict()["param_groups"][0]["param_names"] == [name for name, _ in model.named_parameters()]


# Gradients.


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "adam"])
def test_a_missing_gradient_is_zero(kind):
    opt, other = (Converted(parameters(), build(kind, "constant")) for _ in range(2))
    for t in range(3):
        for each, missing in ((opt, None), (other, torch.zeros(3, dtype=torch.float64))):
            for k, (p, g) in enumerate(zip(each.param_groups[0]["params"], tensors(draws(t)), strict=True)):
                p.grad = missing if k == 1 else g
            each.step()
    assert_same(snapshot(opt), snapshot(other))


def test_a_step_without_any_gradient_does_nothing():
    opt = Converted(parameters(), build("nonsmooth"), fresh_samples=True)
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)
    train(opt, 2)
    opt.zero_grad()
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "adam", "sgd"])
def test_gradients_are_not_modified_and_not_shared(kind):
    opt, other = (Converted(parameters(), build(kind), maximize=True) for _ in range(2))
    params = opt.param_groups[0]["params"]
    for t in range(3):
        for p, g in zip(params, tensors(draws(100 + t, scale=3.0)), strict=True):
            p.grad = g.clone()
        kept = [(p.grad, p.grad.clone(), p.grad._version) for p in params]
        opt.step()
        for p, (grad, value, version) in zip(params, kept, strict=True):
            assert p.grad is grad
            assert grad._version == version
            assert torch.equal(grad, value)
        opt.zero_grad(set_to_none=False)
    train(other, 3)
    assert_same(snapshot(opt), snapshot(other))


def test_accumulated_gradients_are_one_sample():
    model, other = net(), net()
    fit(model, Converted(model.parameters(), build("descent", "constant")), 3)
    fit(other, Converted(other.parameters(), build("descent", "constant")), 3, chunks=2)
    for name, p in model.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["descent", "nonsmooth"])
def test_steps_that_a_scaler_skips_leave_all_untouched(kind):
    opt, other = (Converted(parameters(torch.float32), build(kind)) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    params = opt.param_groups[0]["params"]
    for t, factor in enumerate([1.0, torch.inf, 1.0]):
        before = snapshot(opt)
        opt.zero_grad()
        total = sum((p * torch.as_tensor(g, dtype=p.dtype)).sum() for p, g in zip(params, draws(100 + t), strict=True))
        scaler.scale(total * factor).backward()
        scaler.step(opt)
        scaler.update()
        if factor != 1.0:
            assert_same(snapshot(opt), before)
    assert opt.t == 2
    for t in (0, 2):
        for p, g in zip(other.param_groups[0]["params"], draws(100 + t), strict=True):
            p.grad = torch.as_tensor(g, dtype=p.dtype)
        other.step()
    assert_same(snapshot(opt), snapshot(other))


# Parameters.


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "adam"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_parameters_are_roundings_of_a_point_in_float32(kind, dtype):
    """The run in float32 with the gradients in narrow precision, and its points rounded."""
    opt = Converted(parameters(dtype), build(kind), lr=1e-3)
    wide = [torch.nn.Parameter(p.detach().float()) for p in opt.param_groups[0]["params"]]
    other = Converted(wide, build(kind), lr=1e-3)
    for t in range(8):
        for p, q, g in zip(opt.param_groups[0]["params"], wide, draws(t), strict=True):
            p.grad = torch.as_tensor(g, dtype=dtype)
            q.grad = p.grad.float()
        opt.step()
        other.step()
        for p, q in zip(opt.param_groups[0]["params"], wide, strict=True):
            assert torch.equal(p.detach(), q.detach().to(dtype))
            assert_same(opt.state[p], {**other.state[q], "x": q.detach()} if kind != "nonsmooth" else other.state[q])
    resumed = Converted([torch.nn.Parameter(p.detach().clone()) for p in opt.state], build(kind), lr=1e-3)
    resumed.load_state_dict(stored(opt.state_dict()))
    train(opt, 2)
    train(resumed, 2)
    assert_same(snapshot(resumed), snapshot(opt))


def test_a_narrow_parameter_that_was_changed_is_noticed():
    opt = Converted(parameters(torch.bfloat16), build("adam"))
    train(opt, 1)
    opt.param_groups[0]["params"][1].data.zero_()
    check(opt.step, RuntimeError, "must hold the training point of round 1", "something else")
    opt.changed = "accept"
    opt.param_groups[0]["params"][1].grad = None
    train(opt, 1)


@pytest.mark.parametrize("source", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", [torch.float64, torch.float32, torch.bfloat16])
def test_state_goes_into_another_dtype(source, target):
    opt = Converted(parameters(source), build("adam"))
    train(opt, 3)
    params = [torch.nn.Parameter(p.detach().to(target)) for p in opt.state]
    other = Converted(params, build("adam"))
    other.load_state_dict(stored(opt.state_dict()))
    wide = torch.promote_types(target, torch.float32)
    for p, q in zip(params, opt.state, strict=True):
        assert_same(other.state[p]["state.m"], opt.state[q]["state.m"].to(wide))
        assert other.state[p]["step"].dtype == torch.int64
    train(other, 1, start=3)
    assert other.t == 4


def test_mixed_dtypes_share_the_widest():
    values = tensors(draws(1))
    params = [torch.nn.Parameter(a.to(d)) for a, d in zip(values, [torch.float64, *[torch.float32] * 3], strict=True)]
    opt = Converted(params, build("descent"))
    train(opt, 2)
    assert {a.dtype for p in params for a in opt.state[p].values()} == {torch.float64, torch.int64, torch.int32}
    assert ["x" in opt.state[p] for p in params] == [False, True, True, True]


@pytest.mark.parametrize("kind", ["descent", "nonsmooth"])
def test_parameters_that_are_not_contiguous(kind):
    plain = parameters()
    strided = [torch.nn.Parameter(p.detach().clone()) for p in plain]
    strided[2] = torch.nn.Parameter(plain[2].detach().t().contiguous().t())
    strided[3] = torch.nn.Parameter(plain[3].detach().clone(memory_format=torch.channels_last))
    assert not strided[2].is_contiguous()
    opt, other = Converted(strided, build(kind)), Converted(plain, build(kind))
    strides = [p.stride() for p in strided]
    train(opt, 3)
    train(other, 3)
    for p, q in zip(strided, plain, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-13)
    assert [p.stride() for p in strided] == strides


def test_tied_parameters_are_one_block():
    model = net()
    opt = Converted(model.parameters(), build("descent", "constant"))
    fit(model, opt, 2)
    assert len(opt.state) == 4
    assert model.one.weight is model.two.weight


def test_frozen_parameters_stay():
    model = net()
    model.conv.requires_grad_(False)
    before = copy.deepcopy(model.conv.state_dict())
    opt = Converted(model.parameters(), build("nonsmooth", "constant"))
    fit(model, opt, 3)
    assert_same(model.conv.state_dict(), before)
    with opt.output():
        for name, p in model.conv.state_dict().items():
            torch.testing.assert_close(p, before[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("average", [{}, {"multi_avg_fn": get_ema_multi_avg_fn(0.5)}])
def test_averages_of_the_model(average):
    model = net()
    opt, averaged = Converted(model.parameters(), build("nonsmooth", "constant")), AveragedModel(model, **average)
    fit(model, opt, 1)
    averaged.update_parameters(model)
    first = model.scale.item()
    fit(model, opt, 1, start=1)
    averaged.update_parameters(model)
    assert averaged.module.scale.item() == pytest.approx((first + model.scale.item()) / 2, abs=1e-12)


def test_a_moved_model_is_followed_before_the_first_step():
    model = net()
    opt = Converted(model.parameters(), build("descent", "constant"))
    model.float()
    fit(model, opt, 2)
    assert {a.dtype for entry in opt.state.values() for a in entry.values()} == {torch.float32, torch.int64}
