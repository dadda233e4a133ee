"""The Trainer of transformers: the example, runs that go on from its checkpoints, and which point it saves."""

import importlib

import pytest
import torch
from torch.nn import functional
from trainers import OPTIMIZERS, assert_same_runs
from training import assert_same, build, snapshot

from o2nc.torch import Converted
from sentences import check

transformers = pytest.importorskip("transformers")
tiny = importlib.import_module("transformers_tiny")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("accelerate_anew")]


OPTIONS = {"plain": {}, "accumulated in bfloat16": {"gradient_accumulation_steps": 2, "bf16": True}}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resumed_is_uninterrupted(name, options, tmp_path):
    """In the middle of an epoch, with dropout and clipping."""
    fit = lambda *args, **more: tiny.fit(*args, **OPTIONS[options], **more)[:2]
    whole = fit(tmp_path / "whole", OPTIMIZERS[name], 12)
    resumed = fit(tmp_path / "resumed", OPTIMIZERS[name], 12, resume=tmp_path / "whole" / "checkpoint-6", seed=1)
    assert_same_runs(whole, resumed)
    assert whole[0].t == 12


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_trainer_is_a_plain_loop(name, tmp_path, monkeypatch):
    """Clipped and scheduled as by hand, with the batches that it took; without dropout."""
    batches = []

    class Recording(transformers.Trainer):
        def training_step(self, model, inputs, *args):
            batches.append(inputs)
            return super().training_step(model, inputs, *args)

    certain = lambda make=tiny.tiny: make(attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    monkeypatch.setattr(tiny, "Trainer", Recording)
    monkeypatch.setattr(tiny, "tiny", certain)
    opt = tiny.fit(tmp_path, OPTIMIZERS[name], 8, eval_strategy="no")[0]
    transformers.set_seed(0)
    model = certain()
    plain = OPTIMIZERS[name](model)
    scheduler = transformers.get_scheduler("cosine", plain, num_warmup_steps=4, num_training_steps=8)
    assert len(batches) == 8
    for batch in batches:
        plain.zero_grad()
        logits, labels = model(batch["input_ids"]).logits[:, :-1], batch["labels"][:, 1:]
        (functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / labels.numel()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        plain.step()
        scheduler.step()
    assert_same(snapshot(opt), snapshot(plain))


def points(opt):
    """What Algorithm 2 keeps: the point of the samples and the output, of each parameter."""
    return [[entry[key] for entry in opt.state.values()] for key in ("x", "state.average.output")]


@pytest.mark.parametrize("evaluated", [True, False])
def test_which_point_is_saved(evaluated, tmp_path):
    """The output if the Trainer has just evaluated, as it evaluates there; else the point of the samples."""
    opt, _, trainer = tiny.fit(tmp_path, OPTIMIZERS["algorithm 2"], 4, eval_strategy="steps" if evaluated else "no")
    saved = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "checkpoint-4")
    training, output = points(opt)
    assert not any(torch.equal(x, y) for x, y in zip(training, output, strict=True))
    assert opt.held == ("output" if evaluated else "training")
    assert_same([p.detach() for p in saved.parameters()], output if evaluated else training)
    trainer.evaluate()
    assert opt.held == "output"
    trainer.train(resume_from_checkpoint=tmp_path / "checkpoint-3")
    assert opt.t == 4
    assert_same(points(opt), [training, output])


def test_the_best_model_at_the_end(tmp_path):
    """It is evaluated as it is, and training does not go on from it with the state of another model."""
    best = {"load_best_model_at_end": True, "metric_for_best_model": "loss", "greater_is_better": True}
    opt, _, trainer = tiny.fit(tmp_path, OPTIMIZERS["algorithm 2"], 12, **best)
    assert trainer.state.best_global_step < 12
    assert trainer.evaluate()["eval_loss"] == trainer.state.best_metric
    check(trainer.train, RuntimeError, "must hold the output point of round 12", "Load both from one")
    assert not hasattr(trainer.optimizer, "report")
    assert opt.t == 12


def test_there_is_always_a_scheduler(tmp_path):
    """So there is no certificate."""
    opt = Converted(tiny.tiny().parameters(), build("smooth", "constant"), fresh_samples=True)
    assert opt.certificate() is not None
    arguments = transformers.TrainingArguments(tmp_path, lr_scheduler_type="constant", use_cpu=True, report_to="none")
    trainer = transformers.Trainer(tiny.tiny(), arguments, optimizers=(opt, None))
    trainer.create_scheduler(num_training_steps=4)
    assert opt.reason == "a scheduler sets `lr`"


def test_example(tmp_path, capsys):
    def shown(**options):
        tiny.main(tmp_path, 60, **options)
        return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("{")]  # has times

    whole = shown()
    assert float(whole[-1].split()[-1]) < 2.0  # log 16 = 2.8 knows nothing
    assert shown(resume=tmp_path / "checkpoint-30") == whole
