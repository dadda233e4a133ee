"""`Hedged`: the numbers of the rule in plain loops, its experts against other optimizers, precision, memory."""

import math

import numpy as np
import pytest
import torch
from training import assert_same, draws, parameters, snapshot, tensors, train

from o2nc.directions import Adam, Mask, Momentum, Polar, Sign
from o2nc.torch import Hedged
from reference_practical import Practical

ALL = ("momentum", "adam", "polar", "sign")


def halved(u):
    return u / 2


def masks(params):
    """Factors between 0 and 1, none for the second."""
    return {
        p: torch.as_tensor(np.abs(np.sin(a))) for k, (p, a) in enumerate(zip(params, draws(5), strict=True)) if k != 1
    }


def gradients(x, t):
    """Of a quadratic whose curvatures differ a thousandfold, with noise; as long as x, whatever its shape."""
    rng = np.random.default_rng([9, t])
    return [np.geomspace(0.01, 10, a.size).reshape(a.shape) * a + 0.3 * rng.normal(size=a.shape) for a in x]


def run(opt, reference, rounds, lr=0.02, decay=0.0, missing=lambda t, k: False, params=None):
    """Both with the same gradients, and equal after every step."""
    params = params or [p for group in opt.param_groups for p in group["params"]]
    for t in range(rounds):
        given = [None if missing(t, k) else g for k, g in enumerate(gradients(reference.x, t))]
        for p, g in zip(params, given, strict=True):
            p.grad = None if g is None else torch.as_tensor(g)
        opt.step()
        reference.step(given, lr, decay)
        for p, x in zip(params, reference.x, strict=True):
            np.testing.assert_allclose(p.detach().numpy(), x, rtol=0, atol=1e-12)


def assert_weights(opt, reference):
    """Where a tensor that has one entry is judged alone, all experts are the same and weights are rounding."""
    for k, (w, x) in enumerate(zip(opt.table.weights(), reference.x, strict=True)):
        if x.size > 1 or reference.scopes.count(reference.scopes[k]) > 1:
            np.testing.assert_allclose(w, reference.w[reference.scopes[k]], rtol=0, atol=1e-12)


CASES = {  # experts of `Hedged` and of the reference, which sees masks as lists
    **{name: ((name,), (name,)) for name in ALL},
    "all": (ALL, ALL),
    "objects": ((Momentum(), Adam(), Polar(), Sign()), ALL),
    "function": (("adam", halved), ("adam", halved)),
    "mask": (("momentum", "mask"), ("momentum", "mask")),
}


@pytest.mark.parametrize("sight", [2.0, None])
@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("scope", ["shared", "tensor"])
@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_the_rule(name, scope, foreach, sight):
    params, (experts, others) = parameters(), CASES[name]
    if name == "mask":
        factors = masks(params)
        experts = ("momentum", Mask(factors))
        others = ("momentum", [factors[p].numpy() if p in factors else 1.0 for p in params])
    opt = Hedged(params, 0.02, experts, weights=scope, foreach=foreach, weight_decay=0.1, sight=sight)
    reference = Practical(draws(1), others, scopes=[0, 1, 2, 3] if scope == "tensor" else None, sight=sight)
    run(opt, reference, 12, decay=0.1)
    assert_weights(opt, reference)
    rate = opt.report()["groups"][0]["rate"]
    assert rate == pytest.approx(0.02 * math.exp(reference.log_sigma), rel=1e-12)
    assert abs(reference.log_sigma) > 1e-2  # it has learned something
    if len(experts) > 1:
        assert min(np.ptp(reference.w[k]) for k in reference.scopes[2:]) > 1e-3


@pytest.mark.parametrize("scope", ["shared", "group", "tensor"])
def test_groups_with_their_own_options(scope):
    params = parameters()
    groups = [
        {"params": params[:2], "lr": 0.05, "weight_decay": 0.2},
        {"params": params[2:], "lr": torch.tensor(0.01, dtype=torch.float64), "matrices": False},
    ]
    opt = Hedged(groups, experts=ALL, weights=scope, betas=(0.8, 0.95), eps=1e-3, rho=0.9, c=3.0)
    scopes = {"shared": [0] * 4, "group": [0, 0, 1, 1], "tensor": [0, 1, 2, 3]}[scope]
    reference = Practical(draws(1), ALL, scopes, [False] * 4, betas=(0.8, 0.95), eps=1e-3, rho=0.9, c=3.0)
    run(opt, reference, 12, lr=[0.05, 0.05, 0.01, 0.01], decay=[0.2, 0.2, 0.0, 0.0])
    assert_weights(opt, reference)
    for k, group in enumerate(opt.report()["groups"]):
        expected = np.mean([reference.regret[scope] for scope in scopes[2 * k : 2 * k + 2]], axis=0)
        np.testing.assert_allclose(list(group["regret"].values()), expected, rtol=0, atol=1e-12)
        assert group["rate"] == pytest.approx((0.05, 0.01)[k] * math.exp(reference.log_sigma), rel=1e-12)


def test_groups_with_different_experts_have_different_learners():
    """A learned scale would be one for all."""
    params, alone = parameters(), parameters()
    experts = (("momentum", "adam"), ("adam", "polar", "sign"))
    make = lambda params, experts: Hedged(params, 0.02, experts, scale="fixed")
    opt = make([{"params": params[:2]}, {"params": params[2:], "experts": experts[1]}], experts[0])
    parts = [make(alone[:2], experts[0]), make(alone[2:], experts[1])]
    for t in range(10):
        for p, q, g in zip(params, alone, gradients([p.detach().numpy() for p in params], t), strict=True):
            p.grad, q.grad = torch.as_tensor(g), torch.as_tensor(g)
        for each in (opt, *parts):
            each.step()
    for p, q in zip(params, alone, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-14)
        assert_same(opt.state[p]["C"], next(part.state[q]["C"] for part in parts if q in part.state))


@pytest.mark.parametrize("scope", ["shared", "tensor"])
def test_missing_gradients(scope):
    """Also in the first steps, and for all tensors but one."""
    opt = Hedged(parameters(), 0.02, ALL, weights=scope, weight_decay=0.1)
    reference = Practical(draws(1), ALL, scopes=[0, 1, 2, 3] if scope == "tensor" else None)
    run(
        opt,
        reference,
        16,
        decay=0.1,
        missing=lambda t, k: (t + k) % 3 == 0 or (t < 3 and k == 2) or (t == 9 and k != 1),
    )


def test_zero_gradients_before_the_first_count_for_nothing():
    """What distributed checkpoints do, here with a weight decay and a rate."""
    opt, reference = Hedged(parameters(), 0.02, ALL, weight_decay=0.1), Practical(draws(1), ALL)
    for k in range(3):
        zero = [np.zeros_like(x) if i != k else None for i, x in enumerate(reference.x)]
        for p, g in zip(opt.param_groups[0]["params"], zero, strict=True):
            p.grad = None if g is None else torch.as_tensor(g)
        opt.step()
        reference.step(zero, 0.02, 0.1)
    assert opt.t == 0
    run(opt, reference, 5, decay=0.1)


@pytest.mark.parametrize("foreach", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_alone_is_adamw(foreach, decay):
    params, others = parameters(), parameters()
    opt = Hedged(params, 3e-3, ("adam",), betas=(0.8, 0.99), weight_decay=decay, scale="fixed", foreach=foreach)
    other = torch.optim.AdamW(others, 3e-3, betas=(0.8, 0.99), weight_decay=decay)
    for each in (opt, other):
        train(each, 20)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=1e-12)


def test_momentum_alone_is_sgd_with_momentum():
    """Up to the weight of the start: m^ is (1 - b1) / (1 - b1^t) times the buffer of torch."""
    p, q = (torch.nn.Parameter(torch.zeros(3, 4, dtype=torch.float64)) for _ in range(2))
    opt = Hedged([p], 1.0, ("momentum",), betas=(0.9, 0.999), scale="fixed")
    other = torch.optim.SGD([q], 1.0, momentum=0.9, dampening=0.0)
    for t in range(4):
        p.data.zero_(), q.data.zero_()
        s = torch.as_tensor(np.random.default_rng(t).normal(size=(3, 4)))
        p.grad, q.grad = s, s.clone()
        opt.step(), other.step()
        torch.testing.assert_close(p.detach(), q.detach() * (1 - 0.9) / (1 - 0.9 ** (t + 1)), rtol=1e-12, atol=0)


def test_polar_alone_has_the_singular_vectors_of_muon():
    """torch's Muon iterates in bfloat16, so its direction is known to two digits; the length is a matter of taste."""
    p, q = (torch.nn.Parameter(torch.zeros(6, 4)) for _ in range(2))
    opt, other = Hedged([p], 1.0, ("polar",)), torch.optim.Muon([q], 1.0, weight_decay=0.0, nesterov=False)
    s = torch.as_tensor(np.random.default_rng(0).normal(size=(6, 4)), dtype=torch.float32)
    p.grad, q.grad = s, s.clone()
    opt.step(), other.step()
    cosine = torch.nn.functional.cosine_similarity(p.detach().flatten(), q.detach().flatten(), dim=0)
    assert cosine.item() > 0.999
    assert p.detach().square().mean().sqrt().item() == pytest.approx(0.2, rel=1e-5)


STATE = [  # the tracker, what directions keep, and a trace of each that is judged
    (("adam",), "fixed", {"m", "root"}),
    (("adam",), "learned", {"m", "root", "e.0"}),
    (("muon",), "fixed", {"m"}),
    (("muon",), "learned", {"m", "e.0"}),
    (("momentum", "adam"), "fixed", {"m", "root", "e.0", "e.1"}),
    (("momentum", "adam", "polar"), "learned", {"m", "root", "e.0", "e.1", "e.2"}),
    (("muon", "soap"), "learned", {"m", "soap.blocks.v", "e.0", "e.1"}),
]
RECALLED = [
    (("momentum", "adam"), "learned", {"m", "root"}),
    (("adam",), "fixed", {"m", "root"}),
    (("momentum", "sign"), "fixed", {"m"}),
    (("muon", "adam"), "learned", {"m", "root", "e.0"}),
]


@pytest.mark.parametrize(("experts", "scale", "keys"), STATE)
def test_state_is_a_few_tensors_a_parameter(experts, scale, keys):
    """A vector, for which muon and soap are adam, has one trace at most for them."""
    p, v = (torch.nn.Parameter(torch.ones(shape)) for shape in [(8, 16), (50,)])
    opt = Hedged([p, v], 0.1, experts, scale=scale)
    p.grad, v.grad = torch.ones_like(p), torch.ones_like(v)
    opt.step()
    assert {key for key, a in opt.state[p].items() if a.shape == p.shape} == keys
    on_vectors = dict.fromkeys("adam" if name in ("polar", "muon", "soap") else name for name in experts)
    traces = len(on_vectors) if len(on_vectors) > 1 or scale == "learned" else 0
    vectors = {"m", "root", *(f"e.{j}" for j in range(traces))}
    assert {key for key, a in opt.state[v].items() if a.shape == v.shape} == vectors
    assert all(opt.state[p][key].dtype == torch.float32 for key in keys)


@pytest.mark.parametrize(("experts", "scale", "keys"), RECALLED)
def test_without_sight_only_directions_that_cannot_be_computed_again_are_kept(experts, scale, keys):
    p = torch.nn.Parameter(torch.ones(8, 16))
    opt = Hedged([p], 0.1, experts, scale=scale, sight=None)
    p.grad = torch.ones_like(p)
    opt.step()
    assert {key for key, a in opt.state[p].items() if a.shape == p.shape} == keys


def peak(prof):
    """The most memory in bytes that was held at one time beyond that of the start."""
    events = [event for event in prof.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = np.cumsum([event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())])
    return max(held.max(initial=0), 0)


@pytest.mark.parametrize(("experts", "copies"), [(("momentum", "adam"), 1), (("momentum", "adam", "polar"), 2)])
@pytest.mark.parametrize("maximize", [False, True])
def test_temporary_memory_is_at_most_a_copy_of_the_model_and_of_what_has_no_kernel(experts, copies, maximize):
    """Three layers of a transformer; the first step makes the state. All of polar is there before anything moves."""
    shapes = 3 * [(256, 256), (768, 256), (1024, 256), (256, 1024), (256,)]
    params = [torch.nn.Parameter(torch.ones(shape)) for shape in shapes]
    opt = Hedged(params, 0.01, experts, maximize=maximize)
    for k in range(2):
        for p in params:
            p.grad = torch.randn(p.shape, generator=torch.Generator().manual_seed(k))
        with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
            opt.step()
    assert 0 < peak(prof) <= copies * sum(p.nbytes for p in params)


# Gradients and averages at the end of the range of numbers.


def test_a_first_gradient_that_is_not_finite_leaves_no_trace():
    one, two = (Hedged(parameters(), 0.01, ALL, nonfinite="skip") for _ in range(2))
    for p in one.param_groups[0]["params"]:
        p.grad = torch.full_like(p, math.nan)
    one.step()
    assert (one.skipped, dict(one.state)) == (1, {})
    train(one, 2)
    train(two, 2)
    one.param_groups[0]["skipped"] = 0
    assert_same(snapshot(one), snapshot(two))


@pytest.mark.parametrize("betas", [(0.0, 0.9), (0.9, 0.0), (0.0, 0.0)])
def test_averages_that_vanish(betas):
    """Every other gradient is 0."""
    opt = Hedged(parameters(), 0.1, ALL, betas=betas)
    for t in range(6):
        for p, g in zip(opt.param_groups[0]["params"], tensors(draws(t, t % 2)), strict=True):
            p.grad = g
        opt.step()
    assert all(torch.isfinite(a).all() for p in opt.state for a in (p, *opt.state[p].values()))


def test_numbers_of_any_size():
    """Gradients whose squares are tiny, and rates of 0."""
    for scale, lr in ((1e-18, 0.1), (1e15, 0.1), (1.0, 0.0)):
        opt = Hedged(parameters(torch.float32), lr, ALL, weights="tensor")
        for t in range(3):
            for p, g in zip(opt.param_groups[0]["params"], tensors(draws(t, scale), torch.float32), strict=True):
                p.grad = g
            opt.step()
        assert all(torch.isfinite(a).all() for entry in opt.state.values() for a in entry.values())
        assert all(torch.isfinite(p).all() for p in opt.state)
