"""Updates under torch.compile(fullgraph=True) and on the meta device, and the compiled work of `Hedged`."""

import numpy as np
import pytest
import torch
from training import NAMED, assert_same, draws, parameters, snapshot, tensors, train

from o2nc import Nonsmooth, NonsmoothConversion, Smooth, SmoothConversion
from o2nc.operators import Dense, Identity, Projector
from o2nc.oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    BinaryEntropic,
    CoinBetting,
    Compared,
    Constant,
    Entropic,
    FrankWolfe,
    FullAdaGrad,
    Hedge,
    full_adagrad,
)
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall
from o2nc.torch import Hedged

pytestmark = pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")


def experts(device="cpu"):
    mask = torch.asarray([True, False, True, False], device=device)
    return Hull((Identity(), Projector.from_mask(mask), Dense(torch.eye(4, dtype=torch.float64, device=device))))


ORACLES = {
    "constant": lambda device: Constant(),
    "hedge": lambda device: Hedge(experts(device), gamma=0.1),
    "hedge-rates": lambda device: Hedge(experts(device), gamma=[0.2, 0.1]),
    "hedge-self-tuned": lambda device: Hedge(experts(device), prior=[0.5, 0.25, 0.25]),
    "ogd-box": lambda device: OGD(Box()),
    "ogd-ball": lambda device: OGD(SpectralBall(), eta=0.1),
    "omd-entropic": lambda device: OMD(Box(), 0.1, Entropic()),
    "ftrl-hull": lambda device: FTRL(experts(device), 0.1, Entropic()),
    "ftrl-contractions": lambda device: FTRL(PositiveContractions(), 0.1),
    "omd-binary": lambda device: OMD(PositiveContractions(), 0.1, BinaryEntropic()),
    "coin-betting": lambda device: CoinBetting(SpectralBall()),
    "frank-wolfe": lambda device: FrankWolfe(SpectralBall(), eta=0.1),
    "adagrad-box": lambda device: AdaGrad(Box()),
    "adagrad-hull": lambda device: AdaGrad(experts(device)),
    "compared": lambda device: Compared(OGD(Box()), [Identity()]),
}
CONVERSIONS = {
    "smooth": lambda oracle: SmoothConversion(oracle, Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=100)),
    "nonsmooth": lambda oracle: NonsmoothConversion(oracle, Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=0.1, T=100)),
}


def leaves(state):
    return [a for part in state for a in (leaves(part) if isinstance(part, tuple) else [part])]


EVERY = [*((name, "smooth") for name in ORACLES), ("hedge", "nonsmooth")]
QUICK = (("hedge", "smooth"), ("hedge", "nonsmooth"), ("adagrad-box", "smooth"))  # the others are in make test-all


@pytest.mark.parametrize(
    ("name", "kind"), [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in EVERY]
)
def test_an_update_compiles_whole(name, kind):
    torch._dynamo.reset()
    conversion = CONVERSIONS[kind](ORACLES[name]("cpu"))
    compiled = torch.compile(
        lambda s, state, x, r: conversion.update(s, state, x, r=r), fullgraph=True, backend="eager"
    )
    rng = np.random.default_rng(0)
    draw = lambda: (torch.asarray(rng.normal(size=(3, 4))), torch.asarray(rng.random((3, 1))))
    x = torch.asarray(rng.normal(size=(3, 4)))
    s, r = draw()
    one = two = conversion.update(s, conversion.init(x), x, r=r)[1]  # arrays of a first state may be one another
    for t in range(3):
        s, r = draw()
        dx, one = conversion.update(s, one, x, r=r)
        with torch.compiler.set_stance("default" if t == 0 else "fail_on_recompile"):  # one graph for all rounds
            dy, two = compiled(s, two, x, r)
        torch.testing.assert_close(dy, dx, rtol=0, atol=1e-12)
    for a, b in zip(leaves(one), leaves(two), strict=True):
        torch.testing.assert_close(b, a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", CONVERSIONS)
@pytest.mark.parametrize("name", [*ORACLES, "full-adagrad"])
def test_shapes_and_dtypes_on_the_meta_device(name, kind, monkeypatch):
    """No value is looked at, and every leaf stays on the device."""
    monkeypatch.setattr(full_adagrad, "ROUNDS", 2)  # of 300 that are alike
    build = ORACLES.get(name, lambda device: FullAdaGrad(Box()))
    conversion = CONVERSIONS[kind](build("meta"))
    x = torch.empty((3, 4), dtype=torch.float64, device="meta")
    state = conversion.init(x)
    dx, after = conversion.update(x, state, x, r=torch.empty((3, 1), dtype=torch.float64, device="meta"))
    assert dx.shape == x.shape
    assert [(a.shape, a.dtype) for a in leaves(after)] == [(a.shape, a.dtype) for a in leaves(state)]
    assert {a.device.type for a in leaves(after)} | {dx.device.type} == {"meta"}


@pytest.mark.slow
@pytest.mark.parametrize("sight", [2.0, None])
@pytest.mark.filterwarnings("ignore")
def test_compiled_work_is_the_same_and_is_compiled_once(sight):
    """Under a scheduler that changes lr and b1, and with weights that change."""
    torch._dynamo.reset()
    options = {"experts": ("momentum", "adam"), "sight": sight}
    one, two = (Hedged(parameters(torch.float32), 0.02, **options, compile=c) for c in (False, True))
    schedulers = [torch.optim.lr_scheduler.OneCycleLR(opt, 0.02, total_steps=9) for opt in (one, two)]
    for t in range(5):
        with torch.compiler.set_stance("fail_on_recompile" if t > 2 else "default"):
            for opt, scheduler in zip((one, two), schedulers, strict=True):
                train(opt, 1, start=t)
                scheduler.step()
    for p, q in zip(one.state, two.state, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.state[p]["C"], two.state[q]["C"], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("experts", [("momentum", "adam"), ("muon", "sign")])
@pytest.mark.filterwarnings("ignore")
def test_compiled_work_on_lines_and_batches_is_the_same(experts, monkeypatch):
    """Of 6 large tensors of one shape, 4 are one call; small ones are stacked; one has no line that is long enough."""
    torch._dynamo.reset()
    monkeypatch.setattr("o2nc.torch.stacks.LINE", 12)
    monkeypatch.setattr("o2nc.torch.stacks.SHORT", 4)
    monkeypatch.setattr("o2nc.torch.state.LARGE", 20)
    shapes, rng = [(4, 6)] * 6 + [(2, 9)] * 3 + [(23,), (3,)], np.random.default_rng(0)
    first = [rng.normal(size=shape) for shape in shapes]
    models = [[torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in first] for _ in range(2)]
    opts = [Hedged(params, 0.02, experts, compile=c) for params, c in zip(models, (False, True), strict=True)]
    for t in range(4):
        draws = [rng.normal(size=shape) for shape in shapes]
        for params, opt in zip(models, opts, strict=True):
            for k, (p, draw) in enumerate(zip(params, draws, strict=True)):
                p.grad = None if (k, t) == (3, 2) else torch.tensor(draw, dtype=torch.float32)
            opt.step()
    where = opts[1].table.layout(tuple(range(len(shapes)))).parts
    if experts == ("momentum", "adam"):
        assert [b.stop - b.start for part in where for b in part.batches][:3] == [4, 1, 1]
        assert {b.m.shape for part in where for b in part.buckets} == {(2, 12), (6, 9), (1, 23), (1, 3)}
    for p, q in zip(*models, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(opts[0].state[p]["m"], opts[1].state[q]["m"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(opts[0].state[p]["C"], opts[1].state[q]["C"], rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_step_is_the_same_and_is_compiled_once():
    torch._dynamo.reset()
    one, two = (Hedged(parameters(), 0.02, NAMED) for _ in range(2))
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


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_torch_sees_that_parameters_were_changed_before_a_backward_pass(compile):
    p = torch.nn.Parameter(torch.ones(3))
    opt = Hedged([p], experts=("momentum", "adam"), compile=compile)
    loss = (p**2).sum()
    p.grad = torch.ones(3)
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
