"""What others do to parameters and gradients of a certified run is noticed, and nothing else is."""

import copy
import gc
import io
import weakref

import pytest
import torch

from o2nc import Nonsmooth, NonsmoothConversion, SegmentConversion, Smooth, SmoothConversion
from o2nc.oracles import OGD, Constant
from o2nc.rivals import HeavyBall
from o2nc.sets import Box
from o2nc.torch import Converted

ROUNDS = 12
SMOOTH = Smooth(gap=9.0, beta=1.0, sigma=0.1, T=ROUNDS)
CONVERSIONS = {
    "smooth": lambda: SmoothConversion(Constant(), SMOOTH),
    "learning": lambda: SmoothConversion(OGD(Box()), SMOOTH),
    "segment": lambda: SegmentConversion(Constant(), SMOOTH, r=None),
    "nonsmooth": lambda: NonsmoothConversion(Constant(), Nonsmooth(L=2.0, M=8.0, sigma=0.1, lam=0.5, T=ROUNDS)),
}
every_conversion = pytest.mark.parametrize("name", CONVERSIONS)


def started(name="smooth", dtype=torch.float64, **options):
    params = [torch.nn.Parameter(torch.full((2, 3), 1.5, dtype=dtype)), torch.nn.Parameter(torch.ones(4, dtype=dtype))]
    return params, Converted(params, CONVERSIONS[name](), fresh_samples=True, **options)


def backward(params, share=1.0):
    (share * sum((1 - torch.cos(p)).sum() for p in params)).backward()


def one_round(params, opt, between=lambda params: None, share=1.0):
    opt.zero_grad()
    backward(params, share)
    between(params)
    opt.step()


@torch.no_grad()
def clamp(params):
    params[0].clamp_(min=1.4999)


def replace(params):
    params[1].data = params[1].data * 0.5


def one_digit(params):
    params[0].data[0, 0] *= 1 + 1e-6


MOVES = {"clamp": clamp, "data": replace, "one digit": one_digit}


@every_conversion
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("when", ["before backward", "before the step"])
def test_parameters_that_were_moved_are_an_error(name, move, when):
    params, opt = started(name)
    one_round(params, opt)
    one_round(params, opt)
    one_round(params, opt)
    if when == "before backward":
        MOVES[move](params)
    with pytest.raises(RuntimeError, match="must hold the training point of round 3, which this optimizer left there"):
        one_round(params, opt, MOVES[move] if when == "before the step" else lambda params: None)


@every_conversion
@pytest.mark.parametrize("move", MOVES)
def test_or_they_take_the_certificate_away(name, move):
    params, opt = started(name, changed="accept")
    for t in range(ROUNDS):
        one_round(params, opt)
        if t == 2:
            MOVES[move](params)
    assert opt.certificate() is None
    assert opt.reason == "the parameters were changed from outside after round 3"


def test_the_run_of_the_issue_is_refused():
    x = torch.nn.Parameter(torch.tensor([1.5], dtype=torch.float64))
    constants = Smooth(gap=2, beta=1, sigma=0.1, T=2000)
    opt = Converted([x], SmoothConversion(Constant(), constants), fresh_samples=True)

    def run():
        for _ in range(2000):
            one_round([x], opt)
            with torch.no_grad():
                x.clamp_(min=1.2)

    with pytest.raises(RuntimeError, match="changed from outside"):
        run()


def clip(params):
    torch.nn.utils.clip_grad_norm_(params, 1e-3)


def clip_values(params):
    torch.nn.utils.clip_grad_value_(params, 1e-3)


def scale(params):
    torch._foreach_mul_([p.grad for p in params], 0.5)


def signs(params):
    params[0].grad.mul_(torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]], dtype=params[0].dtype))


def through_data(params):
    params[1].grad.data.mul_(2.0)


def put(params):
    params[0].grad = params[0].grad * 0.5


def drop(params):
    params[0].grad = None


def through_numpy(params):
    params[0].grad.numpy()[0, 0] = 0.0


def unscale(params):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(torch.ones(()))
    scaler.unscale_(torch.optim.SGD(params))


CHANGES = {f.__name__: f for f in (clip, clip_values, scale, signs, through_data, put, drop, through_numpy, unscale)}


@every_conversion
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("t", [1, 3])
def test_gradients_that_were_changed_take_the_certificate_away(name, change, t):
    params, opt = started(name)
    for k in range(1, ROUNDS + 1):
        one_round(params, opt, CHANGES[change] if k == t else lambda params: None)
    assert opt.certificate() is None
    assert opt.reason == f"the gradients of round {t} were changed between backward and step"


@pytest.mark.parametrize("t", [1, 4])
def test_gradients_that_were_taken_elsewhere_take_the_certificate_away(t):
    params, opt = started()
    for k in range(1, ROUNDS + 1):
        opt.zero_grad()
        kept = [p.detach().clone() for p in params]
        if k == t:
            [p.data.add_(0.1) for p in params]
        backward(params)
        [p.data.copy_(x) for p, x in zip(params, kept, strict=True)]
        opt.step()
    assert opt.reason == f"the gradients of round {t} were taken at another point than that which the optimizer left"


def micro_batches(params, opt):
    opt.zero_grad()
    for _ in range(4):
        backward(params, 0.25)
    opt.step()


def kept_zeros(params, opt):
    opt.zero_grad(set_to_none=False)
    backward(params)
    opt.step()


def zeroed_by_the_model(params, opt):
    torch.nn.ParameterList(params).zero_grad()
    backward(params)
    opt.step()


def looked_at(params, opt):
    """A diagnosis, with a backward pass of its own, at points that are put back."""
    with torch.no_grad():
        kept = [p.clone() for p in params]
        [p.add_(1.0) for p in params]
    backward(params, 3.0)
    with torch.no_grad():
        [p.copy_(x) for p, x in zip(params, kept, strict=True)]
    one_round(params, opt)


def by_a_closure(params, opt):
    def closure():
        opt.zero_grad()
        backward(params)

    opt.step(closure)


def by_hand(params, opt):
    opt.zero_grad()
    loss = sum((1 - torch.cos(p)).sum() for p in params)
    for p, g in zip(params, torch.autograd.grad(loss, params), strict=True):
        p.grad = g
    opt.step()


def wide_clip(params, opt):
    one_round(params, opt, lambda params: torch.nn.utils.clip_grad_norm_(params, 1e6))


def frozen(params, opt):
    opt.zero_grad()
    (1 - torch.cos(params[0])).sum().backward()
    opt.step()


def loaded(params, opt):
    """The model and the optimizer go through a checkpoint."""
    file = io.BytesIO()
    torch.save({"x": [p.detach() for p in params], "opt": opt.state_dict()}, file)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    with torch.no_grad():
        [p.copy_(x) for p, x in zip(params, saved["x"], strict=True)]
    opt.load_state_dict(saved["opt"])
    one_round(params, opt)


def evaluated(params, opt):
    with opt.output():
        backward(params)
    torch.nn.ParameterList(params).zero_grad()
    one_round(params, opt)


HONEST = {
    f.__name__: f
    for f in (
        micro_batches, kept_zeros, zeroed_by_the_model, looked_at, by_a_closure, by_hand, wide_clip, frozen, loaded,
        evaluated, one_round,
    )
}  # fmt: skip


@every_conversion
@pytest.mark.parametrize("honest", HONEST)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_honest_run_keeps_its_certificate(name, honest, dtype):
    params, opt = started(name, dtype)
    for _ in range(ROUNDS):
        HONEST[honest](params, opt)
    assert opt.reason == ""
    assert opt.certificate().label == "plug-in"


@every_conversion
def test_two_optimizers_may_share_the_gradients(name):
    params, opt = started(name)
    others = [Converted([p], CONVERSIONS[name](), fresh_samples=True, changed="accept") for p in params]
    for _ in range(ROUNDS):
        opt.zero_grad()
        backward(params)
        opt.step()
    assert opt.reason == ""
    for other in others:
        other.step()
        assert "were taken at another point" in other.reason  # they are where the first one has moved them


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: torch.load(saved(pair), weights_only=False)])
def test_a_copy_is_followed_too(copied):
    params, opt = started()
    one_round(params, opt)
    params, opt = copied((params, opt))
    one_round(params, opt)
    assert opt.reason == ""
    one_round(params, opt, clip)
    assert opt.reason == "the gradients of round 3 were changed between backward and step"


def saved(pair):
    file = io.BytesIO()
    torch.save(pair, file)
    file.seek(0)
    return file


def test_a_parameter_that_thaws_is_followed():
    params, opt = started()
    params[1].requires_grad_(False)
    opt.__setstate__(opt.__getstate__())
    opt.zero_grad()
    backward(params[:1])
    opt.step()
    params[1].requires_grad_(True)
    opt.zero_grad()
    backward(params[:1])
    opt.step()
    one_round(params, opt, lambda params: params[1].grad.mul_(2))
    assert opt.reason == "the gradients of round 3 were changed between backward and step"


def test_hooks_go_with_the_optimizer():
    params, opt = started()
    backward(params)
    gone = weakref.ref(opt)
    del opt
    assert gone() is None
    assert not params[0]._post_accumulate_grad_hooks
    gc.collect()


@pytest.mark.parametrize(
    ("conversion", "fresh"), [(HeavyBall(eta=0.1), True), (CONVERSIONS["smooth"](), False)], ids=["rival", "undeclared"]
)
def test_a_run_without_a_certificate_pays_nothing_and_is_left_alone(conversion, fresh):
    params = started()[0]
    opt = Converted(params, conversion, fresh_samples=fresh)
    assert not params[0]._post_accumulate_grad_hooks
    for _ in range(3):
        one_round(params, opt, clip)
        clamp(params)
    assert all("x" not in entry for entry in opt.state.values())


def test_a_checkpoint_without_the_point_goes_on_without_a_certificate():
    params, opt = started()
    one_round(params, opt)
    old = opt.state_dict()
    old = {**old, "state": {k: {key: a for key, a in e.items() if key != "x"} for k, e in old["state"].items()}}
    opt.load_state_dict(old)
    for _ in range(ROUNDS - 1):
        one_round(params, opt)
    assert opt.reason == "the state that was loaded has no point of round 1, and the parameters may be another"
