"""`Shadow`: alone it is the optimizer itself; in a mixture it is judged by the rule; its state, and what it refuses."""

import copy
from functools import partial

import numpy as np
import pytest
import torch
from test_hedged import gradients
from torch import optim
from training import assert_same, draws, parameters, snapshot, stored, train

from o2nc.torch import Hedged, Shadow
from reference_practical import Practical
from sentences import check

CLASSES = {
    "AdamW": (optim.AdamW, {}),
    "AdamW amsgrad": (optim.AdamW, {"amsgrad": True, "lr": 0.02}),
    "NAdam": (optim.NAdam, {}),  # a product of factors, and a lr that is not Adam's
    "RMSprop": (optim.RMSprop, {"centered": True, "momentum": 0.5}),
    "Adagrad": (optim.Adagrad, {"lr_decay": 0.1}),  # has its state before the first step
    "SGD": (optim.SGD, {}),  # has no state
    "SGD momentum": (optim.SGD, {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    "Adadelta": (optim.Adadelta, {}),
    "Rprop": (optim.Rprop, {}),  # whose lr is only the first one
    "ASGD": (optim.ASGD, {}),
    "RAdam": (optim.RAdam, {}),
    "Adafactor": (optim.Adafactor, {}),  # depends on the shape
}
OTHERS = {  # from another package: numbers in the group, lists and None in the state
    "SOAP": {"precondition_frequency": 3},
    "Lion": {},
    "AdEMAMix": {},
}


class Counting(optim.Optimizer):
    """SGD whose steps shrink, with every kind of state: numbers, None, a string, nested lists; in its group too."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr, "k": 0})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["k"] += 1
            group["shrink"] = 0.7 ** group["k"]
            for p in group["params"]:
                state = self.state[p]
                state["sum"] = state.get("sum", 0.0) + 1 / group["k"]  # no dyadic number: float32 would round it
                state["odd"] = group["k"] % 2 == 1
                state["none"], state["word"] = None, "shrinking"
                state["pair"] = [p.grad.clone(), (group["k"], torch.tensor(1.0, dtype=torch.float64) / group["k"])]
                first = 1.0 if state["odd"] else -0.5
                p.add_(p.grad, alpha=-group["lr"] * (group["shrink"] + first) * state["sum"])


def both(cls, options, shapes=None, rounds=30, dtype=torch.float64):
    """The optimizer and `Hedged` with its shadow alone, with gradients at their own points."""
    own, shadowed = ([p for p in parameters(dtype) if shapes is None or p.ndim in shapes] for _ in range(2))
    optimizer = cls(own, **options)
    lr = optimizer.param_groups[0]["lr"]
    opt = Hedged(shadowed, lr, (Shadow(cls, **options),), scale="fixed")
    start = [p.detach().clone() for p in own]
    for t in range(rounds):
        for params, each in ((own, optimizer), (shadowed, opt)):
            for p, g in zip(params, gradients([p.detach().double().numpy() for p in params], t), strict=True):
                p.grad = torch.as_tensor(g, dtype=dtype)
            each.step()
    return own, shadowed, start


@pytest.mark.parametrize("name", CLASSES)
def test_alone_it_is_the_optimizer_itself(name):
    own, shadowed, start = both(*CLASSES[name])
    for a, b, x in zip(own, shadowed, start, strict=True):
        assert not torch.equal(a, x)  # it has moved
        torch.testing.assert_close(b, a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", OTHERS)
def test_alone_it_is_the_optimizer_of_another_package(name):
    package = pytest.importorskip("pytorch_optimizer")
    own, shadowed, start = both(getattr(package, name), OTHERS[name])
    for a, b, x in zip(own, shadowed, start, strict=True):
        assert not torch.equal(a, x)
        torch.testing.assert_close(b, a, rtol=0, atol=1e-12)


def test_every_kind_of_state_survives():
    own, shadowed, _ = both(Counting, {}, rounds=9)
    for a, b in zip(own, shadowed, strict=True):
        torch.testing.assert_close(b, a, rtol=0, atol=1e-12)


def test_matrices_only_with_adam_elsewhere():
    options = {"lr": 0.02, "weight_decay": 0.0}
    own, shadowed, _ = both(optim.Muon, options, shapes=(2,), rounds=5, dtype=torch.float32)
    torch.testing.assert_close(shadowed[0], own[0], rtol=0, atol=1e-6)
    params, adams = parameters(), parameters()
    opt = Hedged(params, 0.02, (Shadow(optim.Muon, matrices=True, **options),), scale="fixed")
    adam = Hedged(adams, 0.02, ("adam",), scale="fixed")
    for each in (opt, adam):
        train(each, 4)
    for p, q in zip(params, adams, strict=True):
        assert torch.equal(p, q) == (p.ndim < 2)
    assert opt.state[params[3]]["Muon.state.momentum_buffer"].shape == (2, 6)  # (first axis, the rest)
    assert "root" in opt.state[params[1]]
    assert "Muon.state.momentum_buffer" not in opt.state[params[1]]


class HeavyBall:
    """SGD with Nesterov momentum and weight decay, in plain loops."""

    def __init__(self):
        self.b = {}  # the momentum, by tensor

    def direction(self, i, x, s):
        s = s + 0.1 * x
        self.b[i] = 0.9 * self.b[i] + s if i in self.b else s
        return s + 0.9 * self.b[i]


HEAVY_BALL = partial(optim.SGD, lr=0.5, momentum=0.9, nesterov=True, weight_decay=0.1)


class ToldOfMore(Practical):
    """The rule with an expert that sees the point and the gradient instead of the tracker."""

    def direction(self, i, expert, s):
        return expert.direction(i, self.x[i], s) if isinstance(expert, HeavyBall) else super().direction(i, expert, s)


def missing(t, k):
    return (t + k) % 4 == 3 or (k == 1 and t == 0)


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("weights", ["shared", "tensor"])
def test_in_a_mixture_the_rule_judges_it(weights, foreach):
    params = parameters()[1:]  # on a scalar all directions are one, and weights come from what is rounded
    opt = Hedged(params, 0.02, ("adam", HEAVY_BALL), weights=weights, foreach=foreach)
    reference = ToldOfMore(draws(1)[1:], ("adam", HeavyBall()), scopes=range(3) if weights == "tensor" else None)
    for t in range(12):
        given = [None if missing(t, k) else g for k, g in enumerate(gradients(reference.x, t))]
        for p, g in zip(params, given, strict=True):
            p.grad = None if g is None else torch.as_tensor(g)
        opt.step()
        reference.step(given, 0.02)
        for p, x in zip(params, reference.x, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), x, rtol=0, atol=1e-12)
    expected = np.mean([reference.w[k] for k in reference.scopes], axis=0)
    found = list(opt.report()["groups"][0]["weights"].values())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert np.ptp(expected) > 1e-3  # it has learned something


def test_first_gradients_that_are_zero_count_for_nothing():
    params, late = parameters(), parameters()
    opt, other = (Hedged(each, 0.02, ("adam", optim.NAdam)) for each in (params, late))
    for _ in range(3):
        for p in params:
            p.grad = torch.zeros_like(p)
        opt.step()
    for each in (opt, other):
        train(each, 4)
    for p, q in zip(params, late, strict=True):
        assert torch.equal(p, q)


MIXTURE = ("muon", optim.NAdam, Shadow(Counting, name="counting"), partial(optim.RMSprop, alpha=0.9))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_a_run_goes_on_bit_by_bit(rounds, dtype):
    params = parameters(dtype)
    opt = Hedged(params, 0.02, MIXTURE)
    train(opt, rounds)
    saved, points = stored(opt.state_dict()), [p.detach().clone() for p in params]
    train(opt, 4, start=rounds)
    others = [torch.nn.Parameter(p) for p in points]
    resumed = Hedged(others, 0.02, MIXTURE)
    resumed.load_state_dict(saved)
    train(resumed, 4, start=rounds)
    assert_same(snapshot(resumed), snapshot(opt))


def test_numbers_keep_their_precision():
    params = parameters(torch.float32)
    opt = Hedged(params, 0.02, (Counting,))
    train(opt, 3)
    entry = opt.state[params[1]]
    assert entry["Counting.state.sum"].item() == 1 + 1 / 2 + 1 / 3
    assert entry["Counting.group.k"].item() == 3
    assert entry["Counting.group.k"].dtype == torch.int64
    assert entry["Counting.state.pair.1.1"].dtype == torch.float64
    assert not any("none" in key or "word" in key for key in entry)


def test_the_state_follows_a_model_that_is_cast():
    params = parameters(torch.float32)
    opt = Hedged(params, 0.02, (optim.NAdam,))
    train(opt, 2)
    for p in params:
        p.data = p.data.double()
    train(opt, 2, start=2)
    entry = opt.state[params[1]]
    assert entry["NAdam.state.exp_avg"].dtype == torch.float64
    assert entry["NAdam.state.step"].item() == 4


def test_copies_go_on_alike():
    opt = Hedged(parameters(), 0.02, MIXTURE)
    train(opt, 3)
    other = copy.deepcopy(opt)
    for each in (opt, other):
        train(each, 2, start=3)
    assert_same(snapshot(other), snapshot(opt))


def test_ascent_is_descent_on_the_negative():
    params, others = parameters(), parameters()
    train(Hedged(params, 0.02, (optim.NAdam, "adam"), maximize=True), 3)
    opt = Hedged(others, 0.02, (optim.NAdam, "adam"))
    for t in range(3):
        for p, g in zip(others, draws(100 + t, scale=3.0), strict=True):
            p.grad = -torch.as_tensor(g)
        opt.step()
    for p, q in zip(params, others, strict=True):
        assert torch.equal(p, q)


def test_gradients_and_random_numbers_are_left_alone():
    params = parameters()
    before = torch.get_rng_state()
    opt = Hedged(params, 0.02, (partial(optim.SGD, weight_decay=0.1, momentum=0.9), "adam"))
    assert torch.equal(torch.get_rng_state(), before)
    train(opt, 1)
    for p, g in zip(params, draws(100, scale=3.0), strict=True):
        assert torch.equal(p.grad, torch.as_tensor(g).reshape(p.shape))


class Moody(optim.SGD):
    """Keeps something new in its third step, or fails there."""

    fails = False

    def step(self, closure=None):
        super().step()
        for p in self.param_groups[0]["params"]:
            k = self.state[p]["k"] = self.state[p].get("k", 0) + 1
            if k == 3 and self.fails:
                raise RuntimeError("Not today.")
            if k == 3:
                self.state[p]["more"] = 1.0


class Failing(Moody):
    fails = True


@pytest.mark.parametrize(
    ("cls", "kind", "said"),
    [(Moody, ValueError, "the form of its state has changed."), (Failing, RuntimeError, "Not today.")],
)
def test_a_step_that_fails_changes_nothing(cls, kind, said):
    opt = Hedged(parameters(), 0.02, (optim.NAdam, cls))
    train(opt, 2)
    before = snapshot(opt)
    check(lambda: train(opt, 1, start=2), kind, said)
    assert_same(snapshot(opt), before)


class Elsewhere(optim.SGD):
    """Counts in an attribute."""

    count = 0

    def step(self, closure=None):
        self.count += 1
        super().step()


class Sets(optim.SGD):
    """Keeps what is no number."""

    def step(self, closure=None):
        super().step()
        self.state[self.param_groups[0]["params"][0]]["seen"] = {1}


class Two(optim.SGD):
    """Has two points."""

    def train(self):
        """The one."""

    def eval(self):
        """The other."""


WRONG = {
    "closure": (lambda: Shadow(optim.LBFGS), ValueError, "must step without a closure; LBFGS needs one."),
    "no class": (lambda: Shadow("adam"), TypeError, "must be a class that derives from", "got one of str."),
    "another class": (lambda: Shadow(dict), TypeError, "got dict."),
    "the base": (lambda: Shadow(optim.Optimizer), TypeError, "got Optimizer."),
    "option": (lambda: Shadow(optim.AdamW, betaz=1), ValueError, "'AdamW'", "unexpected keyword argument 'betaz'."),
    "value": (lambda: Shadow(optim.AdamW, eps=-1.0), ValueError, "'AdamW'", "it said: Invalid epsilon value: -1.0."),
    "lr": (lambda: Shadow(optim.SGD, lr=0.0), ValueError, "`Shadow(lr=...)` must be finite and positive; got 0.0."),
    "ascent": (lambda: Shadow(optim.SGD, maximize=True), ValueError, "`Shadow(maximize=...)` must be False"),
    "name": (lambda: Shadow(optim.SGD, name=""), TypeError, "`Shadow(name=...)` must be a string", "got ''."),
    "matrices": (lambda: Shadow(optim.SGD, matrices=1), TypeError, "`Shadow(matrices=...)`", "or False; got 1."),
    "two points": (lambda: Shadow(Two), ValueError, "must have one point; Two has `train` and `eval`, for two."),
    "attribute": (lambda: Shadow(Elsewhere), ValueError, "'Elsewhere'", "found its attribute 'count'."),
    "set": (lambda: Shadow(Sets), ValueError, "'Sets'", "`state.seen` must be a dense real tensor", "got one of set."),
    "vectors": (
        lambda: Hedged(parameters(), experts=(optim.Muon,)), ValueError,
        "'Muon'", "of shape ()", "only supports 2D parameters", "`Shadow(Muon, matrices=True)`",
    ),
    "an optimizer": (
        lambda: Hedged(parameters(), experts=("adam", optim.SGD(parameters()))), TypeError,
        "must be a class", "got one of SGD.",
    ),
    "twice": (
        lambda: Hedged(parameters(), experts=(optim.SGD, Shadow(optim.SGD, momentum=0.9))), ValueError,
        "`experts` must have different names; got ['SGD', 'SGD'].",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_refusals_are_sentences(name):
    check(*WRONG[name])


@pytest.mark.parametrize("cls", [optim.RMSprop, Shadow(optim.RMSprop, name="NAdam")])
def test_a_checkpoint_of_another_class_is_refused(cls):
    opt, other = (Hedged(parameters(), 0.02, ("adam", each)) for each in (optim.NAdam, cls))
    for each in (opt, other):
        train(each, 2)
    before = snapshot(other)
    check(lambda: other.load_state_dict(stored(opt.state_dict())), ValueError, "`state_dict` must", "NAdam")
    assert_same(snapshot(other), before)
