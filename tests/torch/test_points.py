"""The two points of Algorithm 2: parameters hold one, `eval` and `train` swap them, and forgetting is noticed."""

import copy

import pytest
import torch
from training import assert_same, build, fit, net, parameters, snapshot, stored, train

from o2nc import Nonsmooth
from o2nc.rivals import ExponentiatedConversion, RegularizedOMD, ShiftingConversion
from o2nc.torch import Converted
from sentences import check


def started(dtype=torch.float64, rounds=3, **options):
    params = parameters(dtype)
    opt = Converted(params, build("nonsmooth"), seed=4, **options)
    train(opt, rounds)
    return params, opt


def values(params):
    return [p.detach().clone() for p in params]


def outputs(opt):
    return [a.to(p.dtype) for p, a in zip(opt.state, opt._output().arrays, strict=True)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_eval_and_train_swap_and_can_be_repeated(dtype):
    params, opt = started(dtype)
    y = values(params)
    for _ in range(2):
        for _ in range(2):
            opt.eval()
            assert opt.held == "output"
            assert_same(values(params), outputs(opt))
            assert not any(torch.equal(p, q) for p, q in zip(params, y, strict=True))
        for _ in range(2):
            opt.train()
            assert opt.held == "training"
            assert_same(values(params), y)


def test_training_goes_on_as_if_nothing_was_evaluated():
    (params, opt), (_, other) = started(), started()
    opt.eval()
    opt.train()
    with opt.output(), opt.output():
        assert_same(values(params), outputs(opt))
    train(opt, 3, start=3)
    train(other, 3, start=3)
    assert_same(snapshot(opt), snapshot(other))


def test_the_context_restores_what_was_held():
    params, opt = started()
    y = values(params)
    with pytest.raises(KeyError), opt.output():
        raise KeyError
    assert opt.held == "training"
    assert_same(values(params), y)
    opt.eval()
    with opt.output():
        pass
    assert opt.held == "output"


def test_before_the_first_round_both_points_are_the_start():
    params = parameters()
    opt = Converted(params, build("nonsmooth"))
    opt.eval()
    assert opt.held == "output"
    assert_same(values(params), values(parameters()))
    for p in params:
        p.grad = torch.zeros_like(p)
    check(opt.step, RuntimeError, "hold the output point", "`train()`")
    opt.train()
    train(opt, 1)
    assert opt.t == 1


@pytest.mark.parametrize("kind", ["smooth", "end", "sgd"])
def test_one_point_conversions_have_nothing_to_swap(kind):
    opt = Converted(parameters(), build(kind))
    train(opt, 2)
    before = snapshot(opt)
    opt.eval()
    with opt.output():
        assert opt.held == "training"
    assert_same(snapshot(opt), before)
    train(opt, 1)
    opt.train()


# Forgetting.


def test_a_step_at_the_output_point_is_refused():
    _, opt = started()
    opt.eval()
    before = snapshot(opt)
    called = []
    check(lambda: opt.step(lambda: called.append(1)), RuntimeError, "hold the output point", "`train()` must be called")
    assert not called
    assert_same(snapshot(opt), before)


CHANGES = {
    "in place": lambda p: p.add_(1e-6),
    "through data": lambda p: p.data.mul_(1.5),
    "other data": lambda p: setattr(p, "data", p.data + 1.0),
    "permuted": lambda p: p.copy_(p.flip(0)),
    "loaded": lambda p: p.copy_(torch.zeros_like(p)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("method", ["step", "eval"])
def test_a_change_from_outside_is_noticed(name, method):
    params, opt = started()
    with torch.no_grad():
        CHANGES[name](params[2])
    before = snapshot(opt)
    check(
        getattr(opt, method), RuntimeError, "must hold the training point of round 3", "something else", "`changed='acc"
    )
    assert_same(snapshot(opt), before)


def test_a_change_of_the_output_point_is_noticed():
    params, opt = started()
    opt.eval()
    params[1].data.zero_()
    check(opt.train, RuntimeError, "must hold the output point of round 3", "something else")


def test_a_change_can_be_accepted():
    params, opt = started(changed="accept", fresh_samples=True)
    reference, other = started(changed="accept")
    for p in (params[2], reference[2]):
        p.data.mul_(1.5)
    for p, entry in other.state.items():  # what the state would be, had the optimizer moved there itself
        entry["x"] = p.detach().clone()
    train(opt, 2, start=3)
    train(other, 2, start=3)
    assert_same(values(params), values(reference))
    assert_same(opt.state_dict()["state"], other.state_dict()["state"])
    assert opt.certificate() is None
    opt.eval()
    opt.train()
    assert_same(values(params), values(reference))


def test_an_output_that_was_changed_is_left():
    params, opt = started(changed="accept", fresh_samples=True)
    y, output = values(params), outputs(opt)
    opt.eval()
    params[2].data.mul_(1.5)
    opt.train()
    assert_same(values(params), y)
    assert "changed from outside" in opt.reason
    opt.eval()
    assert_same(values(params), output)


def test_frozen_parameters_are_their_own_output():
    model = net()
    model.conv.requires_grad_(False)
    before = copy.deepcopy(model.conv.state_dict())
    opt = Converted(model.parameters(), build("nonsmooth", "constant"))
    fit(model, opt, 3)
    with opt.output():
        for name, p in model.conv.state_dict().items():
            torch.testing.assert_close(p, before[name], rtol=0, atol=1e-12)


def test_what_was_evaluated_by_hand_is_named():
    """The output point was put into the model without the optimizer."""
    params, opt = started()
    for p, output in zip(params, outputs(opt), strict=True):
        p.data.copy_(output)
    check(opt.step, RuntimeError, "they hold the output point")


# Checkpoints.


@pytest.mark.parametrize("order", ["model first", "optimizer first"])
@pytest.mark.parametrize("held", ["training", "output"])
def test_a_checkpoint_knows_the_point_that_is_held(held, order):
    params, opt = started()
    others, other = started(rounds=0)
    if held == "output":
        opt.eval()
    model, state = stored(values(params)), stored(opt.state_dict())
    for what in ["m", "o"] if order == "model first" else ["o", "m"]:
        if what == "o":
            other.load_state_dict(state)
        else:
            for p, a in zip(others, model, strict=True):
                p.data.copy_(a)
    assert other.held == held
    assert_same(snapshot(other), snapshot(opt))
    if held == "output":
        check(other.step, RuntimeError, "hold the output point")
    for each in (opt, other):
        each.train()
        train(each, 3, start=3)
    assert_same(snapshot(other), snapshot(opt))


def test_model_and_optimizer_of_different_checkpoints():
    """The model was saved at the output point, the optimizer before or after."""
    params, opt = started()
    state = opt.state_dict()
    with opt.output():
        model = values(params)
    others, other = started(rounds=0)
    other.load_state_dict(state)
    for p, a in zip(others, model, strict=True):
        p.data.copy_(a)
    check(
        lambda: train(other, 1), RuntimeError, "must hold the training point of round 3", "they hold the output point"
    )
    with opt.output():
        state = opt.state_dict()
    others, other = started(rounds=0)
    other.load_state_dict(state)
    check(other.train, RuntimeError, "must hold the output point of round 3", "something else")


def test_a_state_dict_is_a_snapshot():
    _, opt = started()
    state = opt.state_dict()
    before = copy.deepcopy(state)
    opt.eval()
    opt.train()
    train(opt, 2, start=3)
    opt.eval()
    assert_same(state, before)


@pytest.mark.parametrize("source", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("target", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("held", ["training", "output"])
def test_a_checkpoint_goes_into_another_dtype(source, target, held):
    """The point in the state is the one that counts; a rounding of it in the model is recognised."""
    params, opt = started(source)
    if held == "output":
        opt.eval()
    others, other = started(target, rounds=0)
    other.load_state_dict(stored(opt.state_dict()))
    for p, q in zip(others, params, strict=True):
        p.data.copy_(q.data)
    wide = torch.promote_types(target, torch.float32)
    for p, q in zip(others, params, strict=True):
        assert_same(other.state[p]["x"], opt.state[q]["x"].to(wide))
        assert other.state[p]["state.average.t"].dtype == torch.int32
        assert int(other.state[p]["state.average.t"]) == 4
    other.train()
    train(other, 2, start=3)
    assert other.t == 5
    assert all(torch.equal(p.detach(), other.state[p]["x"].to(target)) for p in others)


@pytest.mark.parametrize("rival", ["shifting", "exponentiated"])
def test_the_rivals_have_an_output_too(rival):
    constants = Nonsmooth(L=1.0, M=1.0, sigma=0.1, lam=1.0, T=400)
    conversion = {
        "shifting": lambda: ShiftingConversion.tuned(constants),
        "exponentiated": lambda: ExponentiatedConversion(RegularizedOMD.tuned(constants), 400),
    }[rival]()
    params = parameters()
    opt = Converted(params, conversion, seed=4)
    train(opt, 5)
    (tau,) = (a for key, a in opt.state[params[0]].items() if key.endswith(".tau"))
    assert 1 <= int(tau) <= 400
    y = values(params)
    opt.eval()
    assert_same(values(params), outputs(opt))
    opt.train()
    assert_same(values(params), y)
