"""Another device than the CPU: CUDA where there is one, and everywhere one that is pretended; gradients are given."""

import io

import parallel
import pretended
import pytest
import torch
from pretended import Far, Pretended

from o2nc.torch import Hedged

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="There is no CUDA device.")
DEVICE = "cuda"
parallel_experts = {**parallel.EXPERTS, "defaults": ("muon", "soap")}
NUMBERS = {"t", "played", "size", "C", "R", "regret", "ahead", "error", "scale.log", "scale.mean", "scale.root"}
NUMBERS |= {"scale.size", "scale.t", "scale.capped", "step"}
HOW = {
    "defaults": {"experts": "defaults"},
    "adams": {"experts": "adams"},
    "states": {"experts": "states"},
    "all": {"experts": "all", "weights": "tensor"},
    "algorithm 1": {"case": "smooth", "oracle": "adaptive"},
    "algorithm 2": {"case": "nonsmooth", "oracle": "layers"},
}


@pytest.fixture(autouse=True)
def experts(monkeypatch):
    monkeypatch.setattr(parallel, "EXPERTS", parallel_experts)


@pytest.fixture
def device(monkeypatch):
    """The pretended one."""
    for module, name in pretended.CONSTRUCTORS:
        monkeypatch.setattr(module, name, pretended.making(getattr(module, name)))
    with Pretended():
        yield


def fit(model, opt, rounds, start=0):
    """Steps with gradients that do not depend on the device."""
    for t in range(start, start + rounds):
        for k, p in enumerate(model.parameters()):
            g = torch.randn(p.shape, generator=torch.Generator().manual_seed(100 * t + k), dtype=torch.float64) * 0.1
            p.grad = Far(g.to(p.dtype)) if isinstance(p, Far) else g.to(p.device, p.dtype)
        opt.step()


def far(model):
    """The model on the pretended device."""
    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(Far(p.detach().clone())))
    return model


def run(model, how, rounds=6):
    """A run that is saved and loaded on its way; the parameters, on the CPU, and the state."""
    opt = parallel.built(model, **how)
    fit(model, opt, rounds // 2)
    state = opt.state_dict()
    opt = parallel.built(model, **how)
    opt.load_state_dict(state)
    fit(model, opt, rounds - rounds // 2, start=rounds // 2)
    opt.report()
    return values(model), opt.state


def values(model):
    return [(p.near if isinstance(p, Far) else p.detach().cpu()).clone() for p in model.parameters()]


def assert_close(found, expected, rtol):
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=rtol * b.abs().max().item())


def on_cpu(state, p):
    """The keys of what is kept of a parameter on the CPU."""
    return {key for key, a in state[p].items() if a.device.type == "cpu"}


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        ("adams", torch.float32),
        ("defaults", torch.bfloat16),
        *(pytest.param(case, torch.float32, marks=pytest.mark.slow) for case in HOW if case != "adams"),
    ],
)
def test_nothing_meets_a_tensor_of_another_device(device, case, dtype):
    """The same bits as on the CPU, so no tensor was made there, or left; only the numbers of learners are."""
    expected, _ = run(parallel.net(dtype), HOW[case])
    model = far(parallel.net(dtype))
    found, state = run(model, HOW[case])
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert on_cpu(state, model.one.weight) == NUMBERS & set(state[model.one.weight])


def test_who_makes_a_tensor_on_the_wrong_device_is_found(device):
    model = far(parallel.net())
    opt = Hedged(model.parameters(), experts=("momentum", lambda u: u + torch.ones(u.shape)))
    with pytest.raises(RuntimeError, match="to be on the same device"):
        fit(model, opt, 1)


@cuda
@pytest.mark.parametrize("case", HOW)
def test_cuda_agrees_with_the_cpu(case):
    """With a checkpoint on the way; numbers of learners are on the CPU, all else is on the device."""
    expected, _ = run(parallel.net(torch.float64), HOW[case])
    model = parallel.net(torch.float64).to(DEVICE)
    found, state = run(model, HOW[case])
    assert_close(found, expected, rtol=1e-8)
    assert on_cpu(state, model.one.weight) == NUMBERS & set(state[model.one.weight])


@cuda
@pytest.mark.parametrize("case", HOW)
def test_cuda_resumes_bit_by_bit(case):
    """From a file that was read onto the CPU."""
    model = parallel.net().to(DEVICE)
    opt = parallel.built(model, **HOW[case])
    fit(model, opt, 3)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, file)
    fit(model, opt, 3, start=3)
    file.seek(0)
    saved = torch.load(file, map_location="cpu", weights_only=True)
    again = parallel.net().to(DEVICE)
    opt = parallel.built(again, **HOW[case])
    again.load_state_dict(saved["model"])
    opt.load_state_dict(saved["opt"])
    fit(again, opt, 3, start=3)
    assert all(torch.equal(a, b) for a, b in zip(values(again), values(model), strict=True))


@cuda
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's
@pytest.mark.parametrize("case", ["adams", "defaults"])
def test_cuda_compiled(case):
    eager, compiled = (run(parallel.net().to(DEVICE), {**HOW[case], "compile": flag})[0] for flag in (False, True))
    assert_close(compiled, eager, rtol=1e-4)


@cuda
@pytest.mark.parametrize("case", ["adams", "algorithm 1"])
def test_cuda_narrow_parameters(case):
    expected, _ = run(parallel.net(torch.bfloat16), HOW[case])
    model = parallel.net(torch.bfloat16).to(DEVICE)
    found, state = run(model, HOW[case])
    assert_close(found, expected, rtol=0.02)
    assert state[model.one.weight]["x"].dtype == torch.float32


@cuda
def test_cuda_state_follows_a_model_that_is_moved():
    models = parallel.net(torch.float64), parallel.net(torch.float64)
    for model in models:
        opt = parallel.built(model, **HOW["adams"])
        fit(model, opt, 3)
        model.to(DEVICE if model is models[1] else "cpu")
        fit(model, opt, 3, start=3)
    assert_close(*map(values, reversed(models)), rtol=1e-8)
    assert on_cpu(opt.state, model.one.weight) == NUMBERS & set(opt.state[model.one.weight])


@cuda
def test_cuda_a_gradient_that_is_not_finite_changes_nothing():
    model = parallel.net().to(DEVICE)
    opt = parallel.built(model, **HOW["defaults"])
    fit(model, opt, 2)
    before = values(model)
    model.one.weight.grad[0, 0] = float("inf")
    with pytest.raises(ValueError, match="Gradients must be finite"):
        opt.step()
    assert all(torch.equal(a, b) for a, b in zip(values(model), before, strict=True))
