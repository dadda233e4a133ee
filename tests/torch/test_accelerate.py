"""Accelerate: the example, runs that go on from its states, and steps that a scaler skips."""

import importlib

import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from trainers import OPTIMIZERS, assert_same_runs
from training import assert_same, snapshot

accelerate = pytest.importorskip("accelerate")
digits = importlib.import_module("accelerate_digits")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("accelerate_anew")]


def fit(folder, name, **options):
    return digits.fit(folder, lambda model, steps: OPTIMIZERS[name](model), 2, **options)[:2]


@pytest.mark.parametrize("precision", ["no", "bf16"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resumed_is_uninterrupted(name, precision, tmp_path):
    """With dropout: accelerate stores the state of random generators."""
    whole = fit(tmp_path / "whole", name, mixed_precision=precision)
    again = fit(tmp_path / "resumed", name, mixed_precision=precision, resume=tmp_path / "whole" / "1", seed=1)
    assert_same_runs(whole, again)
    assert whole[0].t == 16


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_accelerate_is_a_plain_loop(name, tmp_path):
    """Accumulated, clipped and scheduled as by hand, in the order that its sampler has for an epoch."""
    opt, _ = fit(tmp_path, name)
    accelerate.utils.set_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 32), torch.nn.Dropout(0.1), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    )
    plain = OPTIMIZERS[name](model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(plain, 16)
    seen = TensorDataset(*digits.data()[0])
    for epoch in range(2):
        if epoch and name != "hedged":
            plain.train()
        order = torch.randperm(1024, generator=torch.Generator().manual_seed(epoch))
        for k, (images, labels) in enumerate(DataLoader(seen, 64, sampler=order.tolist())):
            (functional.cross_entropy(model(images), labels) / 2).backward()
            if k % 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                plain.step()
                scheduler.step()
                plain.zero_grad()
        if name != "hedged":
            plain.eval()
    assert_same(snapshot(opt), snapshot(plain))


def test_a_state_is_saved_at_the_output(tmp_path):
    from safetensors.torch import load_file

    opt, _ = fit(tmp_path, "algorithm 2")
    saved = load_file(tmp_path / "2" / "model.safetensors")
    assert opt.held == "output"
    outputs = [entry["state.average.output"] for entry in opt.state.values()]
    assert_same([saved[name] for name in ("0.weight", "0.bias", "3.weight", "3.bias")], outputs)
    assert not any(torch.equal(entry["x"], output) for entry, output in zip(opt.state.values(), outputs, strict=True))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_that_a_scaler_skips_leave_all_untouched(name):
    accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(3, 2)
    opt = OPTIMIZERS[name](model)
    wrapped = accelerate.optimizer.AcceleratedOptimizer(opt, scaler=torch.amp.GradScaler("cpu", init_scale=4.0))
    for skipped in (False, True, False):
        before = snapshot(opt)
        loss = model(torch.ones(1, 3)).square().sum() * (torch.inf if skipped else 1.0)
        wrapped.scaler.scale(loss).backward()
        wrapped.step()
        wrapped.zero_grad()
        assert wrapped.step_was_skipped == skipped
        if skipped:
            assert_same(snapshot(opt), before)
    assert opt.t == 2


@pytest.mark.parametrize("optimizer", ["hedged", "converted"])
def test_example(optimizer, tmp_path, capsys):
    digits.main(tmp_path, 4, optimizer)
    whole = capsys.readouterr().out
    assert float(whole.split()[-1]) > 0.5
    digits.main(tmp_path, 4, optimizer, resume=tmp_path / "2")
    assert capsys.readouterr().out == whole
