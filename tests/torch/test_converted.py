"""`Converted`: the numbers of the core, certificates and their reasons, reports, and wrong arguments."""

import math

import numpy as np
import pytest
import torch
from training import (
    CASES,
    NONSMOOTH,
    arrays,
    assert_same,
    build,
    draws,
    parameters,
    snapshot,
    tensors,
    train,
)

import o2nc
from o2nc import Blocks, Nonsmooth, NonsmoothConversion, SegmentConversion, Smooth, SmoothConversion
from o2nc.certificates import theorem1, theorem1_segment, theorem2
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import Constant, Hedge, ShortMemoryHedge
from o2nc.rivals import SGD, HeavyBall, OnlineScaled
from o2nc.states import ByBlock, leaves
from o2nc.torch import Converted
from o2nc.torch.checkpoint import coin
from sentences import check


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_the_numbers_are_those_of_the_core(kind, name):
    """The core on NumPy, with the coins in order, against the optimizer on tensors."""
    conversion, params = build(kind, name, arrays), parameters()
    opt = Converted(params, build(kind, name), seed=3)
    coins = np.random.Generator(np.random.Philox(np.random.SeedSequence([3, 1])))
    x, first = Blocks(tuple(arrays(draws(1)))), float(coins.random())
    state = conversion.init(x, tau=NONSMOOTH.tau(first)) if kind == "nonsmooth" else conversion.init(x)
    for t in range(6):
        r = None if kind == "end" else float(coins.random())
        dx, state = conversion.update(Blocks(tuple(arrays(draws(100 + t, scale=3.0)))), state, x, r=r)
        x = x + dx
        train(opt, 1, start=t)
        for p, a in zip(params, x.arrays, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), a, rtol=0, atol=1e-12)
    for path, leaf in leaves(state, kept=(Blocks, ByBlock)):
        for i, p in enumerate(params):
            own = leaf.parts[i] if isinstance(leaf, ByBlock) else leaf.arrays[i] if isinstance(leaf, Blocks) else leaf
            for key, expected in leaves(own, path):
                np.testing.assert_allclose(opt.state[p][key].numpy(), expected, rtol=0, atol=1e-12, err_msg=key)


def test_a_run_is_that_of_minimize():
    """Algorithm 2 on a nonsmooth function: the same seed gives the same points, the same output and certificate."""
    constants = Nonsmooth(L=2.0, M=4.0, sigma=0.0, lam=0.5, T=40)
    oracle = Hedge([Identity(), Diagonal(Blocks((torch.full((2, 2), 0.5), torch.tensor([0.0, 1.0, 1.0]))))])
    x1 = Blocks((torch.ones(2, 2, dtype=torch.float64), -torch.ones(3, dtype=torch.float64)))
    result = o2nc.minimize(
        lambda x, rng: Blocks(tuple(torch.sign(a) for a in x.arrays)), x1, oracle=oracle, constants=constants, seed=5
    )
    params = [torch.nn.Parameter(a.clone()) for a in x1.arrays]
    opt = Converted(params, NonsmoothConversion(oracle, constants), fresh_samples=True, seed=5)
    for _ in range(40):
        opt.zero_grad()
        sum(p.abs().sum() for p in params).backward()
        opt.step()
    for p, last in zip(params, result.last.arrays, strict=True):
        torch.testing.assert_close(p.detach(), last, rtol=0, atol=1e-12)
    assert opt.certificate().bound == pytest.approx(result.certificate.bound, abs=1e-12)
    opt.eval()
    for p, output in zip(params, result.x.arrays, strict=True):
        torch.testing.assert_close(p.detach(), output, rtol=0, atol=1e-12)


def test_coins_are_numbered():
    coins = np.random.Generator(np.random.Philox(np.random.SeedSequence([2, 1])))
    assert [coin(2, k) for k in range(11)] == list(coins.random(11))


def test_lr_and_weight_decay_of_each_group():
    """x <- (1 - lr w) x + lr dx, with dx of the joint vector."""
    params, alone = parameters(), parameters()
    groups = [{"params": params[:1], "lr": 0.5, "weight_decay": 0.1}, {"params": params[1:]}]
    opt = Converted(groups, build("adam"), lr=torch.tensor(2.0))
    train(opt, 1)
    train(Converted(alone, build("adam")), 1)
    for k, (p, q, x) in enumerate(zip(params, alone, parameters(), strict=True)):
        lr, w = (0.5, 0.1) if k == 0 else (2.0, 0.0)
        torch.testing.assert_close(p, (1 - lr * w) * x + lr * (q - x), rtol=0, atol=1e-12)


# Certificates.


def quick(T=3):
    return Smooth.paper(M=800.0, beta=1.0, sigma=4.0, T=T)


LARGE = Nonsmooth(L=40.0, M=8.0, sigma=4.0, lam=0.05, T=3, a=0.1, eta=0.1, rho=1.0)
PROVED = {
    "smooth": (SmoothConversion(Constant(), quick()), lambda R: theorem1(quick(), R)),
    "segment": (SegmentConversion(Constant(), quick(), r=None), lambda R: theorem1_segment(quick(), R, r=None)),
    "nonsmooth": (NonsmoothConversion(Constant(), LARGE), lambda R: theorem2(LARGE, R)),
}


@pytest.mark.parametrize("kind", PROVED)
def test_a_certificate(kind):
    conversion, theorem = PROVED[kind]
    opt = Converted(parameters(), conversion, fresh_samples=True)
    assert opt.certificate().label == "a-priori"
    T = conversion.constants.T
    train(opt, T - 1)
    assert (opt.certificate().label, opt.reason) == ("a-priori", "")
    train(opt, 1)
    certificate = opt.certificate()
    assert (certificate.label, certificate.replications, opt.reason) == ("plug-in", 1, "")
    assert certificate.bound == theorem(opt.report()["regret"]).bound
    train(opt, 1)
    assert opt.certificate() is None
    assert f"T = {T}" in opt.reason


def test_an_oracle_without_a_bound_is_certified_at_the_end_only():
    opt = Converted(parameters(), SmoothConversion(ShortMemoryHedge([Identity()]), quick(2)), fresh_samples=True)
    train(opt, 1)
    assert opt.certificate() is None
    assert opt.reason == "the oracle states no regret bound"
    train(opt, 1)
    assert opt.certificate().label == "plug-in"


class Endless(SGD):
    """Draws an output, but has no horizon."""

    needs = frozenset({"tau"})


class Long:
    """An operator that is no contraction, by an oracle that says nothing of it."""

    def __matmul__(self, v):
        return 2.0 * v


def set_rate(opt, value):
    for group in opt.param_groups:
        group["lr"] = value


def raise_once(opt):
    set_rate(opt, 0.5)
    train(opt, 1)
    set_rate(opt, 1.0)


def skip_once(opt):
    opt.param_groups[0]["params"][0].grad = torch.full((), math.nan, dtype=torch.float64)
    opt.step()


VOID = {  # options, what happens in the second round, and a part of the reason
    "lr": ({"lr": 0.5}, None, "`lr` must be 1 in every step; it was [0.5]"),
    "lr for one step": ({}, raise_once, "`lr` must be 1 in every step; it was [0.5] in round 2"),
    "lr is a tensor": ({"lr": torch.tensor(2.0)}, None, "`lr` must be 1"),
    "scheduler": ({}, lambda opt: torch.optim.lr_scheduler.ConstantLR(opt, factor=1.0), "a scheduler sets `lr`"),
    "weight decay": ({"weight_decay": 0.1}, None, "no weight decay"),
    "not declared": ({"fresh_samples": False}, None, "`fresh_samples=True` was not declared"),
    "left out": ({"nonfinite": "skip"}, skip_once, "of round 2 were not finite and were left out"),
}


@pytest.mark.parametrize("name", VOID)
def test_no_certificate_and_the_reason(name):
    options, event, reason = VOID[name]
    options = {"fresh_samples": True, **options}
    opt = Converted(parameters(), SmoothConversion(Constant(), quick(4)), **options)
    train(opt, 1)
    if event:
        assert opt.certificate() is not None
        event(opt)
        if name != "left out":
            train(opt, 1)
    assert opt.certificate() is None
    assert reason in opt.reason
    # for good: also after the cause is gone, and in another optimizer that loads this state
    for group in opt.param_groups:
        group.pop("initial_lr", None)
    set_rate(opt, 1.0)
    train(opt, 4 - opt.t)
    assert opt.certificate() is None
    other = Converted(parameters(), SmoothConversion(Constant(), quick(4)), fresh_samples=True)
    other.load_state_dict(opt.state_dict())
    assert other.certificate() is None
    assert reason in other.reason == opt.reason


def test_more_reasons():
    conversion = SmoothConversion(Constant(), quick())
    assert "Adam" in Converted(parameters(), build("adam"), fresh_samples=True).reason
    narrow = Converted(parameters(torch.bfloat16), conversion, fresh_samples=True)
    assert narrow.reason == "samples were taken at points rounded to ['torch.bfloat16']"
    params = parameters()
    mixed = [{"params": params[:1], "maximize": True}, {"params": params[1:]}]
    assert "some groups are maximised" in Converted(mixed, conversion, fresh_samples=True).reason
    small = Converted(
        parameters(), SmoothConversion(Constant(), Smooth.paper(M=1e-6, beta=1.0, sigma=0.0, T=3)), fresh_samples=True
    )
    train(small, 3)
    assert "the tracker was projected in 100% of the rounds" in small.reason
    long = Converted(parameters(), SmoothConversion(Constant(Long()), quick()), fresh_samples=True)
    train(long, 2)  # the first step is 0
    assert long.reason == "the oracle played an operator of norm above 1 in 1 rounds"


def test_report():
    opt = Converted(parameters(), PROVED["nonsmooth"][0], fresh_samples=True)
    assert set(opt.report()) == {"t", "held", "certificate", "bound", "reason"}
    train(opt, 2)
    opt.eval()
    report = opt.report()
    assert all(type(value) in (float, str) for value in report.values())
    entry = opt.state[opt.param_groups[0]["params"][0]]
    assert (report["t"], report["held"], report["reason"]) == (2.0, "output", "")
    assert report["regret"] == float(entry["state.run.regret"])
    assert report["clipped"] == float(entry["state.run.clipped"]) / 2
    assert report["certificate"].endswith("(a-priori)")
    assert report["bound"] == opt.certificate().bound
    practical = Converted(parameters(), HeavyBall(eta=0.1)).report()
    assert practical == {
        "t": 0.0, "held": "training", "certificate": "none", "bound": math.inf,
        "reason": "there is no certificate of HeavyBall",
    }  # fmt: skip


# Parameters and gradients.


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


@pytest.mark.parametrize("kind", ["descent", "nonsmooth", "adam"])
def test_a_missing_gradient_is_zero(kind):
    opt, other = (Converted(parameters(), build(kind, "constant")) for _ in range(2))
    for t in range(3):
        for each, missing in ((opt, None), (other, torch.zeros(3, dtype=torch.float64))):
            for k, (p, g) in enumerate(zip(each.param_groups[0]["params"], tensors(draws(t)), strict=True)):
                p.grad = missing if k == 1 else g
            each.step()
    assert_same(snapshot(opt), snapshot(other))


def test_a_narrow_parameter_that_was_changed_is_noticed():
    opt = Converted(parameters(torch.bfloat16), build("adam"))
    train(opt, 1)
    opt.param_groups[0]["params"][1].data.zero_()
    check(opt.step, RuntimeError, "must hold the training point of round 1", "something else")
    opt.changed = "accept"
    opt.param_groups[0]["params"][1].grad = None
    train(opt, 1)


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


# Wrong arguments.

P = torch.nn.Parameter(torch.zeros(2))
ADAM = build("adam")
WRONG = {
    "no conversion": (lambda: Converted([P], 0.1), TypeError, "`conversion` must be an `o2nc.conv", "got 0.1"),
    "a class": (lambda: Converted([P], HeavyBall), TypeError, "`conversion` must be an `o2nc.conversions.Conversion`"),
    "an oracle": (lambda: Converted([P], Constant()), TypeError, "`conversion` must be an `o2nc.conv", "Constant"),
    "values": (
        lambda: Converted([P], OnlineScaled(alpha=1.0)),
        ValueError,
        "OnlineScaled needs the value of the objective",
        "which `Converted` cannot give",
    ),
    "no horizon": (
        lambda: Converted([P], Endless(eta=0.1)),
        ValueError,
        "must know the number T of its rounds",
        "Endless",
    ),
    "fresh samples": (lambda: Converted([P], ADAM, fresh_samples=1), TypeError, "`fresh_samples` must be True or"),
    "changed": (lambda: Converted([P], ADAM, changed="no"), ValueError, "`changed` must be", "got 'no'"),
    "seed": (lambda: Converted([P], ADAM, seed=-1), ValueError, "`seed` must be", "got -1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    check(*WRONG[name])
