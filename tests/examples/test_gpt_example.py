"""The language model of the examples: it learns, resumes, and does the same on one process and on two."""

import importlib
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from language.checkpoint import newest
from language.corpus import batch, corpus, is_held_out
from language.model import GPT
from language.muon import Muon
from language.options import Options
from language.parallel import Place
from language.train import factor, train
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from launches import TORCHRUN, launched

pytestmark = pytest.mark.slow
SMALL = Options(width=16, layers=2, heads=2, context=32, batch=4, held_out=8, steps=8, every=4, lr=3e-3)
LIGHT = replace(SMALL, optimizer="hedged-light")
COMMAND = Path(__file__).parents[2] / "examples" / "gpt.py"


def final(options, folder):
    """The content of the last checkpoint of a run."""
    list(train(replace(options, checkpoint=folder)))
    return content(folder)


def content(folder):
    dcp_to_torch_save(newest(folder), folder / "whole.pt")
    found = torch.load(folder / "whole.pt", weights_only=True)
    return found["step"], found["model"], found["optimizers"]["state"]


def torchrun(folder, *arguments):
    """Two processes with the options of SMALL."""
    names = ("width", "layers", "heads", "context", "batch", "held_out", "steps", "every", "lr")
    options = [text for name in names for text in ("--" + name.replace("_", "-"), str(getattr(SMALL, name)))]
    return launched(*TORCHRUN, "2", COMMAND, *options, "--checkpoint", folder, *arguments)


def assert_close(found, expected, atol):
    """Equal up to rounding: parameters, and what the optimizer remembers."""
    assert found[0] == expected[0]
    torch.testing.assert_close(found[1], expected[1], rtol=0, atol=atol)
    torch.testing.assert_close(found[2], expected[2], rtol=1e-2, atol=atol)


def test_batches_depend_on_seed_and_step_alone():
    text, _ = corpus()
    tokens, following = batch(text, 1, 5, 4, 16)
    assert torch.equal(tokens[:, 1:], following[:, :-1])
    assert torch.equal(tokens, batch(text, 1, 5, 4, 16)[0])
    assert not torch.equal(tokens, batch(text, 2, 5, 4, 16)[0])
    assert not torch.equal(tokens, batch(text, 1, 6, 4, 16)[0])
    assert torch.equal(torch.cat([Place(rank, 2).share(tokens) for rank in range(2)]), tokens)


def test_about_a_tenth_is_held_out():
    assert sum(is_held_out(f"{k}.py") for k in range(2000)) == pytest.approx(200, abs=40)
    text, held_out = corpus()
    assert 0.03 < len(held_out) / len(text) < 0.3


def test_the_model_does_not_look_ahead():
    torch.manual_seed(0)
    model, tokens = GPT(256, 16, 2, 2, 32), torch.randint(256, (1, 32))
    changed = tokens.clone()
    changed[0, 20:] = 0
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :20], after[:, :20])
    assert not torch.allclose(before[:, 20:], after[:, 20:])


def test_the_model_knows_where_a_token_is():
    """The mean of the values of equal tokens is the same everywhere, so positions can show in a mixed window only."""
    torch.manual_seed(0)
    model = GPT(256, 16, 2, 2, 32)
    tokens = torch.tensor([[1, 2, 3, 3], [2, 1, 3, 3]])
    logits = model(tokens)
    assert not torch.allclose(logits[0, -1], logits[1, -1], atol=1e-6)


def test_the_learning_rate_warms_up_and_falls_to_zero():
    factors = [factor(step, 100) for step in range(100)]
    assert factors[:5] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert max(factors) == 1.0
    assert factors[-1] == pytest.approx(1 / 95)
    assert all(0 < factor(step, steps) <= 1 for steps in (1, 2, 3) for step in range(steps))


@pytest.mark.parametrize("optimizer", ["hedged", "hedged-light", "adamw", "muon"])
def test_the_loss_falls(optimizer):
    first, last = train(replace(SMALL, optimizer=optimizer, steps=40, every=20, lr=1e-2))
    assert max(last["train"], last["held_out"]) < 4.0 < first["train"] < math.log(256)
    assert last["tokens"] == 40 * 4 * 32


@pytest.mark.parametrize("optimizer", ["hedged", "adamw", "muon"])
def test_resumed_equals_uninterrupted(optimizer, tmp_path):
    options = replace(SMALL, optimizer=optimizer)
    expected = final(options, tmp_path / "whole")
    step, *_ = final(replace(options, until=4), tmp_path / "parts")
    assert step == 4
    assert_close(final(options, tmp_path / "parts"), expected, atol=0)
    assert [path.name for path in (tmp_path / "parts").glob("step-*")] == ["step-00000008"]


def test_two_processes_with_ddp_equal_one(tmp_path):
    printed = torchrun(tmp_path / "two", "--parallel", "ddp", "--optimizer", LIGHT.optimizer)
    assert [line.split("/")[0] for line in printed.splitlines()] == ["step      4", "step      8"]
    assert_close(content(tmp_path / "two"), final(LIGHT, tmp_path / "one"), atol=1e-5)


def test_shards_equal_one_process_and_a_checkpoint_goes_from_two_to_one_and_back(tmp_path):
    expected, options = final(LIGHT, tmp_path / "one"), ("--parallel", "fsdp", "--optimizer", LIGHT.optimizer)
    torchrun(tmp_path / "changing", *options, "--until", "3")
    step, *_ = final(replace(LIGHT, until=5), tmp_path / "changing")
    assert step == 5
    torchrun(tmp_path / "changing", *options)
    assert_close(content(tmp_path / "changing"), expected, atol=1e-5)


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_a_group_of_one_is_one_process(parallel, tmp_path):
    options = replace(SMALL, optimizer="adamw")
    found = final(replace(options, parallel=parallel), tmp_path / parallel)
    assert_close(found, final(options, tmp_path / "none"), atol=1e-6)


def test_tensorboard_has_losses_weights_and_regret(tmp_path):
    list(train(replace(SMALL, log=tmp_path)))
    events = EventAccumulator(str(tmp_path)).Reload()
    tags = set(events.Tags()["scalars"])
    assert {"loss/train", "loss/held_out", "groups/0/weights/muon", "groups/0/regret/soap"} <= tags
    assert [event.step for event in events.Scalars("loss/train")] == [4, 8]


def test_the_command_prints_losses_and_speed(capsys, monkeypatch):
    arguments = ["--width", "16", "--layers", "1", "--context", "32", "--steps", "2", "--held-out", "8"]
    monkeypatch.setattr(sys, "argv", ["gpt.py", *arguments])
    importlib.import_module("gpt").main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("step      2/2  train 5.")
    assert "tokens/s  0 s left  muon" in line


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"steps": 0}, "`steps` must be at least 1; got 0."),
        ({"width": 18}, "`width` must be a multiple of 4, twice the heads; got 18."),
        ({"optimizer": "muon", "parallel": "fsdp"}, "Muon needs whole matrices, not shards."),
    ],
)
def test_wrong_options_are_refused(change, sentence):
    with pytest.raises(ValueError) as error:
        replace(SMALL, **change)
    assert str(error.value).endswith(sentence)


def test_unequal_shares_and_processes_without_a_way_to_share_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"^`batch` must be a multiple of 3, the number of processes; got 4\.$"):
        SMALL.check(Place(0, 3))
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"^`parallel` must be 'ddp' or 'fsdp' on 2 processes; got 'none'\.$"):
        next(train(SMALL))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    final(replace(SMALL, until=4), tmp_path)
    with pytest.raises(ValueError, match=r"^`lr` must be 0\.003, as in .*step-00000004; got 0\.01\.$"):
        final(replace(SMALL, lr=1e-2), tmp_path)


def test_muon_is_that_of_pytorch_in_exact_arithmetic(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(4, 6), (7, 3), (5, 5)]]
    ours, theirs = ([p.clone().requires_grad_() for p in start] for _ in range(2))
    options = {"lr": 0.02, "weight_decay": 0.1, "momentum": 0.9}
    optimizers = [Muon(ours, **options), torch.optim.Muon(theirs, **options, adjust_lr_fn="match_rms_adamw")]
    for _ in range(5):
        for p, q in zip(ours, theirs, strict=True):
            p.grad = torch.randn(p.shape, generator=generator, dtype=p.dtype)
            q.grad = p.grad.clone()
        for opt in optimizers:
            opt.step()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)


def test_muon_takes_matrices_only():
    with pytest.raises(ValueError, match=r"^`params` must be matrices; got one of shape \(3,\)\.$"):
        Muon([torch.zeros(3)])
