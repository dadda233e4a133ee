"""A step of `Hedged` is made whole, or not at all: whatever fails, parameters, state and report stay bit by bit."""

import math

import pytest
import torch
from training import assert_same, build, parameters, snapshot, train

from o2nc.directions import Muon, Polar, Soap, registry
from o2nc.torch import Converted, Hedged, Shadow
from o2nc.torch.optimizer import REPEATED

SHAPES = ((3, 4), (2,), (5, 3), (3, 4), (6, 2))  # two of one shape are stacked
NAMES = [name for name, entry in registry.items() if "needs" not in entry.facts]
PART = "o2nc.torch.state.PART"


class Told(Exception):
    """What a direction raises."""


def model(dtype=torch.float32):
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]


def give(params, t):
    generator = torch.Generator().manual_seed(t)
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator).to(p.dtype)


class Broken:
    """A function of the tracker that fails at its n-th call after it was armed; ``value`` is raised, or returned."""

    __name__ = "broken"

    def __init__(self, value):
        self.value, self.left = value, math.inf

    def __call__(self, m):
        self.left -= 1
        return spoilt(m, self.value) if self.left == 0 else 0.5 * m


def spoilt(d, value):
    if isinstance(value, Exception):
        raise value
    d = d.clone()
    d.view(-1)[-1] = value
    return d


def broken_function(value, monkeypatch):
    function = Broken(value)
    return function, lambda n: setattr(function, "left", n), len(SHAPES)


def broken_shadow(value, monkeypatch):
    class Inner(torch.optim.SGD):
        left = math.inf

        def step(self, closure=None):
            super().step()
            type(self).left -= 1
            if type(self).left == 0:
                p = self.param_groups[0]["params"][0]
                p.data = spoilt(p.data, value)

    return Shadow(Inner, momentum=0.9), lambda n: setattr(Inner, "left", n), len(SHAPES)


def broken_method(kind, module, function):
    """A named direction whose numbers fail, where `Hedged` computes them."""

    def make(value, monkeypatch):
        calls, whole = Broken(value), __import__(module, fromlist=[function])
        original = getattr(whole, function)

        def told(direction, *rest):
            d = original(direction, *rest)
            calls.left -= type(direction) is kind
            return spoilt(d, value) if type(direction) is kind and calls.left == 0 else d

        monkeypatch.setattr(whole, function, told)
        return kind(), lambda n: setattr(calls, "left", n), 3  # matrices, of which two are stacked

    return make


BROKEN = {
    "a function": broken_function,
    "a shadow": broken_shadow,
    "muon": broken_method(Muon, "o2nc.torch.stored", "direct"),
    "polar": broken_method(Polar, "o2nc.torch.stored", "direct"),
    "soap": broken_method(Soap, "o2nc.torch.stored", "direct"),
}


@pytest.mark.parametrize("value", [Told(), math.nan, math.inf, 1e30], ids=str)
@pytest.mark.parametrize("name", BROKEN)
def test_an_expert_that_fails_anywhere_changes_nothing(name, value, monkeypatch):
    """In every part of the model, which is cut into as many as there are stacks."""
    monkeypatch.setattr(PART, 10**6)
    monkeypatch.setattr("o2nc.torch.state.SMALL", 1)
    expert, arm, calls = BROKEN[name](value, monkeypatch)
    params = model()
    opt = Hedged(params, 0.1, ("adam", "soap" if name == "muon" else "muon", expert), weight_decay=0.1)
    for t in range(3):
        give(params, t)
        opt.step()
    for n in range(1, calls + 1):
        before, report, versions = snapshot(opt), opt.report(), [p._version for p in params]
        give(params, 3)
        arm(n)
        kind = Told if isinstance(value, Told) else ValueError
        with pytest.raises(kind, match=None if kind is Told else r"must return numbers that are finite.*of shape \(\d"):
            opt.step()
        assert_same(snapshot(opt), before)
        assert opt.report() == report
        assert versions == [p._version for p in params]
    arm(math.inf)
    opt.step()
    assert not torch.equal(params[0], before[0][0])


@pytest.mark.parametrize("name", BROKEN)
def test_the_first_step_leaves_no_state(name, monkeypatch):
    expert, arm, _ = BROKEN[name](math.nan, monkeypatch)
    params = model()
    opt = Hedged(params, 0.1, ("adam", expert), nonfinite="skip")
    give(params, 0)
    arm(len(SHAPES) + 1 if name == "a function" else 1)  # the state begins with a call of a function
    opt.step()
    assert (opt.skipped, opt.t, len(opt.state)) == (1, 0, 0)
    arm(math.inf)
    opt.step()
    assert (opt.skipped, opt.t) == (1, 1)


@pytest.mark.parametrize("mode", ["raise", "skip"])
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e25, 1e-30, 0.0], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_finite_in_finite_out_or_a_sentence_and_nothing_changed(name, dtype, value, mode):
    params = model(dtype)
    opt = Hedged(params, 0.1, tuple(dict.fromkeys(("momentum", name))), nonfinite=mode, weight_decay=0.1)
    for t in range(4):
        give(params, t)
        if t == 2:
            params[2].grad.view(-1)[3] = value
        before, skipped, objection = snapshot(opt), opt.skipped, ""
        try:
            opt.step()
        except ValueError as error:
            objection = str(error)
        assert objection.startswith("Gradients must be finite" if objection else "")
        assert not objection or mode == "raise"
        if objection or opt.skipped > skipped:
            assert_same(snapshot(opt)[0], before[0])
            assert_same(snapshot(opt)[1]["state"], before[1]["state"])
        assert all(bool(p.isfinite().all()) for p in params)
        assert all(bool(a.isfinite().all()) for entry in opt.state.values() for a in entry.values())
    assert opt.skipped == (mode == "skip") * (4 - opt.t)


def test_a_direction_of_a_tracker_that_is_zero():
    """m / |m| is no number there."""
    p = torch.nn.Parameter(torch.ones(3))
    opt = Hedged([p], 0.1, ("momentum", lambda m: m / m.norm()), betas=(0.0, 0.9))
    p.grad = torch.ones(3)
    opt.step()
    before = snapshot(opt)
    p.grad = torch.zeros(3)
    with pytest.raises(ValueError, match="must return numbers that are finite"):
        opt.step()
    assert_same(snapshot(opt), before)


# Steps that are left out.

OPTIMIZERS = {
    "hedged": lambda params, **options: Hedged(params, **options),
    "converted": lambda params, **options: Converted(params, build("descent"), **options),
}


def spoil(opt):
    for p in opt.param_groups[0]["params"]:
        p.grad = torch.full_like(p, math.nan)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_skipped_steps_are_counted_and_survive_checkpoints(name):
    opt = OPTIMIZERS[name](parameters(), nonfinite="skip")
    assert opt.report()["skipped"] == 0
    for t in range(3):
        train(opt, 1, start=t)
        spoil(opt)
        opt.step()
    assert opt.report()["skipped"] == opt.skipped == 3
    other = OPTIMIZERS[name](parameters(), nonfinite="skip")
    other.load_state_dict(opt.state_dict())
    assert other.report()["skipped"] == 3
    for p, q in zip(*([*each.param_groups[0]["params"]] for each in (opt, other)), strict=True):
        q.data.copy_(p.data)
    spoil(other)
    other.step()
    assert (other.skipped, opt.skipped) == (4, 3)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_several_in_a_row_are_warned_of_once(name, recwarn):
    opt = OPTIMIZERS[name](parameters(), nonfinite="skip")
    train(opt, 1)
    for _ in range(REPEATED - 1):
        spoil(opt)
        opt.step()
    train(opt, 1, start=1)  # ends the row
    assert len(recwarn) == 0
    for _ in range(REPEATED + 3):
        spoil(opt)
        opt.step()
    (warning,) = recwarn
    assert warning.category is RuntimeWarning
    many = f"The last {REPEATED} steps were left out, {2 * REPEATED - 1} in all. Gradients must be finite"
    assert str(warning.message).startswith(many)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_weight_that_is_not_finite_is_named(name):
    opt = OPTIMIZERS[name](parameters())
    train(opt, 2)
    params = opt.param_groups[0]["params"]
    with torch.no_grad():
        params[2][0, 1] = math.inf
    spoil(opt)
    before = snapshot(opt)
    with pytest.raises(ValueError, match=r"a parameter of shape \(2, 3\) is not finite before step 3") as error:
        opt.step()
    assert "Gradients" not in str(error.value)
    assert_same(snapshot(opt), before)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_weight_that_is_not_finite_is_warned_of_at_once(name):
    opt = OPTIMIZERS[name](parameters(), nonfinite="skip")
    train(opt, 1)
    with torch.no_grad():
        opt.param_groups[0]["params"][1][0] = math.nan
    spoil(opt)
    with pytest.warns(RuntimeWarning, match=r"a parameter of shape \(3,\) is not finite before step 2"):
        opt.step()
    assert opt.skipped == 1


# Weight decay.


def far():
    """`Linear(20, 1)` with targets that decay does not let it reach."""
    torch.manual_seed(0)
    x = torch.randn(64, 20)
    return torch.nn.Linear(20, 1), x, 3e5 + 1e4 * torch.randn(64, 1)


def test_a_learned_rate_times_weight_decay_stays_below_one():
    linear, x, y = far()
    opt = Hedged(linear.parameters(), weight_decay=0.01)
    for _ in range(400):
        opt.zero_grad()
        loss = (linear(x) - y).square().mean()
        loss.backward()
        opt.step()
        assert opt.report()["groups"][0]["rate"] * 0.01 <= 0.5 * (1 + 1e-9)
    assert loss < 1e11
    report = opt.report()
    assert report["groups"][0]["rate"] * 0.01 == pytest.approx(0.5, rel=1e-9)
    assert 50 < report["capped"] < 400
    assert "capped" in str(report)


def test_groups_without_decay_learn_a_scale_that_others_bound():
    params = parameters()
    opt = Hedged([{"params": params[:2], "weight_decay": 8.0, "lr": 0.1}, {"params": params[2:]}], 0.01)
    train(opt, 3)
    assert opt.report()["groups"][1]["scale"] <= 1.0  # a rate of one's own is left as it is


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_rate_of_ones_own_that_forgets_the_weights_is_refused(name):
    make = OPTIMIZERS[name]
    with pytest.raises(ValueError, match=r"`lr` times `weight_decay` must be less than 1.*got 4.0 times 0.25"):
        make(parameters(), lr=4.0, weight_decay=0.25)
    with pytest.raises(ValueError, match="`lr` times `weight_decay`"):
        make([{"params": parameters(), "weight_decay": 2.0}], lr=0.5)
    opt = make(parameters(), lr=0.5, weight_decay=0.5)
    train(opt, 1)
    before = snapshot(opt)[0]
    opt.param_groups[0]["lr"] = 2.0  # as a scheduler does
    with pytest.raises(ValueError, match="`lr` times `weight_decay`"):
        train(opt, 1)
    assert_same(snapshot(opt)[0], before)


def test_misspelt_options_get_the_nearest_name():
    for given, near in {
        "learning_rate": "lr",
        "wd": "weight_decay",
        "expert": "experts",
        "non_finite": "nonfinite",
    }.items():
        with pytest.raises(TypeError, match=f"`Hedged` must have known .* argument '{given}', and .* '{near}'"):
            Hedged(parameters(), **{given: 1})
    with pytest.raises(TypeError, match="argument 'learning_rate', and the nearest is 'lr'"):
        Converted(parameters(), build("descent"), learning_rate=1.0)
    with pytest.raises(ValueError, match="got 'learning_rate', and the nearest is 'lr'"):
        Hedged([{"params": parameters(), "learning_rate": 1.0}])
