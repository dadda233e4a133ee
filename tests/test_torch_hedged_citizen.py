"""`Hedged` among the other parts of PyTorch: checkpoints, schedulers, hooks, closures, scalers, wrappers, compilers."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint
from torch.distributed.checkpoint import state_dict as distributed
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from o2nc.directions import Function, Mask, Polar
from o2nc.torch import Hedged, groups
from sentences import check
from training import (
    SCHEDULERS,
    assert_same,
    draws,
    fit,
    net,
    parameters,
    snapshot,
    stored,
    tensors,
    train,
)

ALL = ("momentum", "adam", "polar", "sign")


def halved(u):
    return u / 2


def half(p):
    """A mask: every other entry."""
    return (torch.arange(p.numel()) % 2).reshape(p.shape)


EXPERTS = {
    **{name: (name,) for name in ALL},
    "default": ("momentum", "adam", "polar"),
    "all": (*ALL, Mask(half), halved),
    "objects": (Polar(steps=3), Function(torch.tanh)),
}
SCOPES = ("shared", "group", "tensor")


def grouped(dtype=torch.float64):
    """Two groups, the second with another rate."""
    params = parameters(dtype)
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.05, "weight_decay": 0.1}]


def same(opt):
    """Copies of the parameters of an optimizer, in its groups."""
    groups = [[torch.nn.Parameter(p.detach().clone()) for p in group["params"]] for group in opt.param_groups]
    return [{"params": params} for params in groups]


# Resuming.


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("name", EXPERTS)
def test_resume_is_bit_exact(name, scope):
    """Everything but the experts and their learners comes with the state."""
    options = {"experts": EXPERTS[name], "weights": scope}
    whole, first = (Hedged(grouped(), 0.02, **options, betas=(0.8, 0.9), rho=0.9) for _ in range(2))
    train(whole, 6)
    train(first, 3)
    second = Hedged(same(first), **options)
    second.load_state_dict(stored(first.state_dict()))
    train(second, 3, start=3)
    assert_same(snapshot(second), snapshot(whole))
    assert second.report() == whole.report()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("foreach", [True, False])
def test_resume_in_other_dtypes(dtype, foreach):
    whole, first = (Hedged(grouped(dtype), 1e-3, ALL, foreach=foreach) for _ in range(2))
    train(whole, 6)
    train(first, 3)
    second = Hedged(same(first), experts=ALL, foreach=foreach)
    second.load_state_dict(stored(first.state_dict()))
    assert {a.dtype for entry in second.state.values() for a in entry.values()} == {torch.float32, torch.float64}
    train(second, 3, start=3)
    assert_same(snapshot(second), snapshot(whole))


@pytest.mark.parametrize("source", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", [torch.float64, torch.float32, torch.bfloat16])
def test_state_goes_into_another_dtype(source, target):
    opt = Hedged(grouped(source), 1e-3, (*ALL, Mask(half)))
    train(opt, 3)
    other = Hedged(grouped(target), experts=(*ALL, Mask(half)))
    other.load_state_dict(stored(opt.state_dict()))
    wide = torch.promote_types(target, torch.float32)
    for p, q in zip(other.state, opt.state, strict=True):
        here, there = other.state[p], opt.state[q]
        assert ("x" in here) == (target == torch.bfloat16)
        for key in there.keys() - {"x"}:
            assert_same(here[key], there[key].to(wide if there[key].shape == q.shape and q.ndim else here[key].dtype))
    assert {other.state[p]["m"].dtype for p in other.state} == {wide}
    train(other, 1, start=3)
    assert other.t == 4


def test_what_is_loaded_is_a_copy():
    opt, other = (Hedged(grouped(), 0.02, ALL) for _ in range(2))
    train(opt, 2)
    state = opt.state_dict()
    before = copy.deepcopy(state)
    other.load_state_dict(state)
    train(other, 2, start=2)
    assert_same(state, before)


def test_a_checkpoint_before_the_first_step():
    opt, other = (Hedged(grouped(), lr, ALL) for lr in (0.02, 0.5))
    state = stored(opt.state_dict())
    train(other, 2)
    other.load_state_dict(state)
    assert (other.t, len(other.state), other.param_groups[0]["lr"]) == (0, 0, 0.02)
    for p, a in zip((p for group in other.param_groups for p in group["params"]), parameters(), strict=True):
        p.data.copy_(a.data)
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(other), snapshot(opt))


def test_parameters_without_state_stay_without():
    """Those that had no gradient yet."""
    first, whole = (Hedged(grouped(), 0.02, ALL) for _ in range(2))
    for opt in (first, whole):
        p = opt.param_groups[0]["params"][1]
        p.grad = torch.ones_like(p)
        opt.step()
    second = Hedged(same(first), experts=ALL)
    second.load_state_dict(stored(first.state_dict()))
    assert [p in second.state for group in second.param_groups for p in group["params"]] == [False, True, False, False]
    train(second, 2)
    train(whole, 2)
    assert_same(snapshot(second), snapshot(whole))


def altered(state, number, **changes):
    state = copy.deepcopy(state)
    state["state"][number] = {key: a for key, a in {**state["state"][number], **changes}.items() if a is not None}
    return state


def test_a_checkpoint_that_does_not_fit_says_why_and_changes_nothing():
    opt = Hedged(grouped(), 0.02, ALL)
    train(opt, 2)
    state = stored(opt.state_dict())
    newer = {**state, "param_groups": [{**group, "version": 2} for group in state["param_groups"]]}
    adam = torch.optim.AdamW(grouped()).state_dict()
    wide = [*grouped()[:1], {"params": [torch.nn.Parameter(torch.ones(2, 3)), torch.nn.Parameter(torch.ones(5, 3))]}]
    like = lambda **options: Hedged(grouped(), 0.02, **{"experts": ALL, **options})
    cases = [
        ("groups of [2] parameters; got [2, 2]", Hedged(parameters()[:2]), state),
        ("of `Hedged`, version 1; got 2", like(), newer),
        ("of `Hedged`, version 1; got None", like(), adam),
        (f"experts of group 0 was {ALL} and is ('adam',) here", like(experts=("adam",)), state),
        ("weights of group 0 was shared and is tensor here", like(weights="tensor"), state),
        ("'m' of shape (5, 3) for parameter 3; got (2, 1, 3, 2)", Hedged(wide, experts=ALL), state),
        ("'C' of shape (4,) for parameter 1; got (2,)", like(), altered(state, 1, C=torch.zeros(2))),
        ("for parameter 2; got ['C', 'V', 'd.polar'", like(), altered(state, 2, m=None)),
        ("for parameter 2; got", like(matrices=False), state),
        ("for parameter 0; got", like(), altered(state, 0, more=torch.zeros(()))),
    ]
    for sentence, other, given in cases:
        for stepped in (False, True):
            if stepped:
                for group in other.param_groups:
                    for p in group["params"]:
                        p.grad = torch.ones_like(p)
                other.step()
            before = snapshot(other)
            check(lambda other=other, given=given: other.load_state_dict(given), ValueError, sentence)
            assert_same(snapshot(other), before)
        assert not other._optimizer_load_state_dict_pre_hooks
        assert not other._optimizer_load_state_dict_post_hooks


def test_hooks_of_the_user_see_the_state():
    opt, other = (Hedged(parameters(), experts=ALL) for _ in range(2))
    train(opt, 1)
    seen = []
    other.register_load_state_dict_pre_hook(
        lambda _, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.25}]}
    )
    other.register_load_state_dict_post_hook(lambda o: seen.append((o.t, len(o.state))))
    other.load_state_dict(opt.state_dict())
    assert (other.param_groups[0]["lr"], seen) == (0.25, [(1, 4)])


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))])
@pytest.mark.parametrize("rounds", [0, 2])
def test_copies_go_on_alone(scope, copied, rounds):
    opt = Hedged(grouped(), torch.tensor(0.02), EXPERTS["all"], weights=scope, nonfinite="skip", foreach=False)
    train(opt, rounds)
    other = copied(opt)
    assert_same(snapshot(other), snapshot(opt))
    assert (other.nonfinite, other.foreach, other.compile) == ("skip", False, False)
    before = snapshot(opt)
    train(other, 2, start=rounds)
    assert_same(snapshot(opt), before)
    train(opt, 2, start=rounds)
    assert_same(snapshot(other), snapshot(opt))


def test_masks_by_parameter_are_copied_too():
    params = parameters()
    opt = Hedged(params, 0.02, ("adam", Mask({p: half(p) for p in params})))
    other = copy.deepcopy(opt)
    train(opt, 2)
    train(other, 2)
    assert_same(snapshot(other), snapshot(opt))


def test_cleared_state_is_a_new_start():
    """``opt.state`` is the only store."""
    for clear in (lambda opt: opt.state.clear(), lambda opt: setattr(opt, "state", type(opt.state)(dict))):
        opt, other = Hedged(parameters(), 0.02, ALL), Hedged(parameters(), 0.02, ALL)
        train(opt, 3)
        clear(opt)
        for p, a in zip(opt.param_groups[0]["params"], parameters(), strict=True):
            p.data = a.data.clone()  # in other memory
        train(opt, 3)
        train(other, 3)
        assert_same(snapshot(opt), snapshot(other))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_distributed_checkpoints(scope, flat):
    """torch.distributed.checkpoint keys state by parameter name and makes state by a step with zeros."""
    options = distributed.StateDictOptions(flatten_optimizer_state_dict=flat)
    build = lambda model, lr=0.02: Hedged(model.parameters(), lr, EXPERTS["all"], weights=scope, weight_decay=0.1)
    model, whole, new = net(), net(), net()
    opt, reference, other = build(model), build(whole), build(new, 0.5)
    fit(model, opt, 2)
    saved = stored(distributed.get_optimizer_state_dict(model, opt, options=options))
    before = copy.deepcopy(new.state_dict())
    assert distributed.get_optimizer_state_dict(new, other, options=options).keys() == saved.keys()
    assert other.t == 0
    assert_same(new.state_dict(), before)
    distributed.set_optimizer_state_dict(new, other, saved, options=options)
    new.load_state_dict(model.state_dict())
    fit(new, other, 2, start=2)
    fit(whole, reference, 4)
    assert_same(new.state_dict(), whole.state_dict())
    assert_same(dict(enumerate(other.state.values())), dict(enumerate(reference.state.values())))


@pytest.mark.filterwarnings("ignore")
def test_distributed_checkpoints_in_files(tmp_path):
    """Which are read into the state that is there."""
    model, new = net(), net()
    opt, other = (Hedged(groups(each, weight_decay=0.1), 0.02) for each in (model, new))
    fit(model, opt, 3)
    state = dict(zip(("model", "opt"), distributed.get_state_dict(model, opt), strict=True))
    torch.distributed.checkpoint.save(state, checkpoint_id=tmp_path, no_dist=True)
    state = dict(zip(("model", "opt"), distributed.get_state_dict(new, other), strict=True))
    torch.distributed.checkpoint.load(state, checkpoint_id=tmp_path, no_dist=True)
    distributed.set_state_dict(new, other, model_state_dict=state["model"], optim_state_dict=state["opt"])
    fit(model, opt, 2, start=3)
    fit(new, other, 2, start=3)
    assert_same(new.state_dict(), model.state_dict())
    assert other.report() == opt.report()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_first_step_of_zeros_changes_nothing(dtype):
    opt, other = (Hedged(parameters(dtype), 0.02, EXPERTS["all"], weight_decay=0.1) for _ in range(2))
    params = opt.param_groups[0]["params"]
    before = [p.detach().clone() for p in params]
    for p in params:
        p.grad = torch.zeros_like(p)
    opt.param_groups[0]["lr"] = 0.0
    opt.step()
    assert_same([p.detach() for p in params], before)
    assert (opt.t, len(opt.state)) == (0, 4)
    opt.param_groups[0]["lr"] = 0.02
    train(opt, 3)
    train(other, 3)
    assert_same(snapshot(opt), snapshot(other))


# Schedulers, closures, hooks, groups.


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(name, tensor):
    """With a constant gradient of one entry momentum plays 1, so each step shows the rate that it was made with."""
    x = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    opt = Hedged([x], torch.tensor(1.0, dtype=torch.float64) if tensor else 1.0, ("momentum",))
    scheduler, rates = SCHEDULERS[name](opt), set()
    for _ in range(4):
        lr, before = float(opt.param_groups[0]["lr"]), x.item()
        rates.add(lr)
        x.grad = torch.ones_like(x)
        opt.step()
        assert x.item() == pytest.approx(before - lr, abs=1e-12)
        scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))
    assert rates != {1.0}
    assert isinstance(opt.param_groups[0]["lr"], torch.Tensor) == tensor


def test_a_closure_is_called_once_with_gradients_on():
    model, plain = net(), net()
    opt, other = Hedged(model.parameters(), 0.02), Hedged(plain.parameters(), 0.02)
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


def raising(u):
    if u.any():
        raise ZeroDivisionError
    return u


def test_autograd_mode_is_restored_after_an_exception():
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            opt = Hedged(parameters(), experts=(raising,))
            params = opt.param_groups[0]["params"]
            with pytest.raises(ZeroDivisionError):
                opt.step(lambda: 1 / 0)
            assert torch.is_grad_enabled() == mode
            params[0].grad = torch.full((), math.nan, dtype=torch.float64)
            with pytest.raises(ValueError, match="finite"):
                opt.step()
            assert torch.is_grad_enabled() == mode
            params[0].grad = torch.ones((), dtype=torch.float64)
            with pytest.raises(ZeroDivisionError):
                opt.step()
            assert torch.is_grad_enabled() == mode


def test_step_hooks():
    opt, seen = Hedged(parameters()), []
    opt.register_step_pre_hook(lambda o, *_: seen.append(("before", o.t)))
    opt.register_step_post_hook(lambda o, *_: seen.append(("after", o.t)))
    train(opt, 1)
    assert seen == [("before", 0), ("after", 1)]


@pytest.mark.parametrize("scope", SCOPES)
def test_groups_can_be_added_at_any_time(scope):
    """A parameter that joins late is as one whose gradients were missing."""
    opt, other = (Hedged(parameters()[:2], 0.02, ALL, weights=scope) for _ in range(2))
    more, others = (parameters()[2:] for _ in range(2))
    other.add_param_group({"params": (p for p in others), "lr": 0.05})
    for t in range(6):
        if t == 3:
            opt.add_param_group({"params": more, "lr": 0.05})
        for each, last in ((opt, more), (other, others)):
            for p, g in zip((*each.param_groups[0]["params"], *last), tensors(draws(t)), strict=True):
                p.grad = None if t < 3 and any(p is q for q in last) else g
            each.step()
    assert_same(snapshot(opt), snapshot(other))


def test_a_group_is_not_changed_by_adding_it():
    group = {"params": parameters()[0]}
    Hedged(parameters()[1:]).add_param_group(group)
    assert isinstance(group["params"], torch.Tensor)
    assert set(group) == {"params"}


def test_named_parameters():
    model = net()
    opt = Hedged(model.named_parameters(), 0.02)
    fit(model, opt, 1)
    assert opt.state_dict()["param_groups"][0]["param_names"] == [name for name, _ in model.named_parameters()]


# Gradients.


def test_a_step_without_any_gradient_does_nothing():
    opt = Hedged(parameters(), 0.02, ALL, weight_decay=0.1)
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)
    train(opt, 2)
    opt.zero_grad()
    before = snapshot(opt)
    opt.step()
    assert_same(snapshot(opt), before)


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_gradients_are_not_modified_and_not_shared(dtype, foreach):
    opt, other = (Hedged(parameters(dtype), 0.02, EXPERTS["all"], maximize=True, foreach=foreach) for _ in range(2))
    params = opt.param_groups[0]["params"]
    for t in range(3):
        for p, g in zip(params, tensors(draws(100 + t, scale=3.0), dtype), strict=True):
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
    fit(model, Hedged(model.parameters(), 0.02), 3)
    fit(other, Hedged(other.parameters(), 0.02), 3, chunks=2)
    for name, p in model.state_dict().items():
        torch.testing.assert_close(other.state_dict()[name], p, rtol=0, atol=1e-11)


def test_steps_that_a_scaler_skips_leave_all_untouched():
    opt, other = (Hedged(parameters(torch.float32), 0.02, ALL) for _ in range(2))
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


@pytest.mark.parametrize("size", [4, 2**16])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_parameters_that_are_not_contiguous(dtype, size, monkeypatch):
    """Their state is; also where tensors are cut, into buckets of 4 entries."""
    monkeypatch.setattr("o2nc.torch.step.SIZE", size)
    plain = parameters(dtype)
    strided = [torch.nn.Parameter(p.detach().clone()) for p in plain]
    strided[2] = torch.nn.Parameter(plain[2].detach().t().contiguous().t())
    strided[3] = torch.nn.Parameter(plain[3].detach().clone(memory_format=torch.channels_last))
    assert not strided[2].is_contiguous()
    mask = lambda p: half(p).double().t().contiguous().t() if p.ndim == 2 else half(p)
    opt, other = (Hedged(params, 0.02, (*ALL, Mask(mask))) for params in (strided, plain))
    strides = [p.stride() for p in strided]
    train(opt, 3)
    train(other, 3)
    for p, q in zip(strided, plain, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-13)
    assert [p.stride() for p in strided] == strides
    assert all(opt.state[p]["m"].is_contiguous() for p in strided)


def test_parameters_whose_memory_is_replaced_are_followed():
    """As `torch.nn.utils.vector_to_parameters` does."""
    opt, other = (Hedged(parameters(), 0.02, ALL) for _ in range(2))
    for t in range(3):
        train(opt, 1, start=t)
        train(other, 1, start=t)
        params = opt.param_groups[0]["params"]
        torch.nn.utils.vector_to_parameters(torch.nn.utils.parameters_to_vector(params), params)
    assert_same(snapshot(opt), snapshot(other))


def test_tied_parameters_are_one():
    model = net()
    fit(model, opt := Hedged(model.parameters(), 0.02), 2)
    assert len(opt.state) == 4
    assert model.one.weight is model.two.weight


def test_frozen_parameters_stay():
    model = net()
    model.conv.requires_grad_(False)
    before = copy.deepcopy(model.conv.state_dict())
    fit(model, Hedged(model.parameters(), 0.02, weight_decay=0.1), 3)
    assert_same(model.conv.state_dict(), before)


def test_mixed_dtypes():
    """Float64, float32 and bfloat16 in one group and one learner."""
    dtypes = [torch.float64, torch.float32, torch.bfloat16, torch.float32]
    params = [torch.nn.Parameter(a.to(dtype)) for a, dtype in zip(tensors(draws(1)), dtypes, strict=True)]
    opt = Hedged(params, 0.02, ALL)
    train(opt, 3)
    widths = [opt.state[p]["m"].dtype for p in params]
    assert widths == [torch.float64, torch.float32, torch.float32, torch.float32]
    assert ["x" in opt.state[p] for p in params] == [False, False, True, False]
    assert len({tuple(opt.state[p]["C"].tolist()) for p in params}) == 1


def test_a_moved_model_is_followed_before_the_first_step():
    model = net()
    opt = Hedged(model.parameters(), 0.02)
    opt.report()
    model.float()
    fit(model, opt, 2)
    assert {opt.state[p]["m"].dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("average", [{}, {"multi_avg_fn": get_ema_multi_avg_fn(0.5)}])
def test_averages_of_the_model(average):
    model = net()
    opt, averaged = Hedged(model.parameters(), 0.02), AveragedModel(model, **average)
    fit(model, opt, 1)
    averaged.update_parameters(model)
    first = model.scale.item()
    fit(model, opt, 1, start=1)
    averaged.update_parameters(model)
    assert averaged.module.scale.item() == pytest.approx((first + model.scale.item()) / 2, abs=1e-12)


# Compilers.


@pytest.mark.filterwarnings("ignore")
def test_compiled_work_is_the_same_and_is_compiled_once():
    """Under a scheduler that changes lr and b1, and with weights that change."""
    torch._dynamo.reset()
    one, two = (Hedged(parameters(torch.float32), 0.02, ("momentum", "adam"), compile=c) for c in (False, True))
    schedulers = [torch.optim.lr_scheduler.OneCycleLR(opt, 0.02, total_steps=9) for opt in (one, two)]
    for t in range(5):
        with torch.compiler.set_stance("fail_on_recompile" if t > 2 else "default"):
            for opt, scheduler in zip((one, two), schedulers, strict=True):
                train(opt, 1, start=t)
                scheduler.step()
    for p, q in zip(one.state, two.state, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.state[p]["C"], two.state[q]["C"], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_step_is_the_same_and_is_compiled_once():
    torch._dynamo.reset()
    one, two = (Hedged(parameters(), 0.02, ALL) for _ in range(2))
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(opt, 0.9) for opt in (one, two)]
    step = torch.compile(two.step, backend="eager")
    for t in range(4):
        train(one, 1, start=t)
        for p, g in zip(two.param_groups[0]["params"], tensors(draws(100 + t, scale=3.0)), strict=True):
            p.grad = g
        with torch.compiler.set_stance("fail_on_recompile" if t > 1 else "default"):
            step()
        for scheduler in schedulers:
            scheduler.step()
    assert_same(snapshot(one), snapshot(two))
