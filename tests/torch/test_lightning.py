"""Lightning: the example, and runs that go on from its checkpoints."""

import importlib
import warnings

import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, DistributedSampler
from trainers import OPTIMIZERS, assert_same_runs
from training import assert_same, build, snapshot

from o2nc.torch import Converted

lightning = pytest.importorskip("lightning")
digits = importlib.import_module("lightning_digits")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated"),  # by Lightning, of PyTorch
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # on machines with more cores
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),  # a resumed run gets its own folder here
]


def fit(folder, name, more=(), **options):
    """Two epochs of 16 batches."""
    callbacks = [*more] if name == "hedged" else [*more, digits.Output()]
    return digits.fit(folder, OPTIMIZERS[name], 2, callbacks=callbacks, **options)


def after(trainer):
    return trainer.optimizers[0], trainer.lr_scheduler_configs[0].scheduler


OPTIONS = {
    "plain": {},
    "accumulated and clipped": {"accumulate_grad_batches": 2, "gradient_clip_val": 0.5},
    "autocast": {"precision": "bf16-mixed"},
    "bfloat16": {"precision": "bf16-true"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resumed_is_uninterrupted(name, options, tmp_path):
    whole = fit(tmp_path / "whole", name, **OPTIONS[options])
    resumed = fit(tmp_path / "resumed", name, resume=tmp_path / "whole" / "epoch=0.ckpt", seed=1, **OPTIONS[options])
    assert_same_runs(after(whole), after(resumed))
    assert after(whole)[0].t == whole.global_step == 32 // whole.accumulate_grad_batches


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lightning_is_a_plain_loop(name, tmp_path):
    """Its steps have a closure; here the gradients are made before."""
    opt, _ = after(fit(tmp_path, name))
    lightning.seed_everything(0, verbose=False)
    net = digits.Digits(None, None).net
    plain = OPTIMIZERS[name](net)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(plain, 32)
    seen, _ = digits.data()
    order = DistributedSampler(seen, num_replicas=1, rank=0, seed=0)
    for epoch in range(2):
        order.set_epoch(epoch)
        for images, labels in DataLoader(seen, 64, sampler=order):
            plain.zero_grad()
            functional.cross_entropy(net(images), labels).backward()
            plain.step()
            scheduler.step()
    if name != "hedged":
        plain.eval()
    assert_same(snapshot(opt), snapshot(plain))


def test_a_checkpoint_is_at_the_output(tmp_path):
    opt, _ = after(fit(tmp_path, "algorithm 2"))
    saved = torch.load(tmp_path / "epoch=1.ckpt", weights_only=True)
    outputs = [entry["state.average.output"] for entry in opt.state.values()]
    assert_same(list(saved["state_dict"].values()), outputs)
    assert saved["optimizer_states"][0]["param_groups"][0]["run"]["held"] == "output"
    assert not any(torch.equal(entry["x"], output) for entry, output in zip(opt.state.values(), outputs, strict=True))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_its_wrapper_can_be_asked(name, tmp_path):
    """`self.optimizers()` is an object of a subclass, without the attributes of the optimizer."""
    seen = []

    class Asking(lightning.Callback):
        def on_train_batch_end(self, trainer, module, *_):
            opt = module.optimizers()
            seen.append(opt.t)
            assert opt.report() == trainer.optimizers[0].report()
            if name != "hedged":
                with opt.output():
                    assert trainer.optimizers[0].held == ("output" if name == "algorithm 2" else "training")

    asked = fit(tmp_path / "asked", name, more=[Asking()])
    assert seen == list(range(1, 33))
    assert_same_runs(after(asked), after(fit(tmp_path / "alone", name)))


def test_a_certificate_goes_through_a_checkpoint(tmp_path, monkeypatch):
    """If no scheduler is attached."""
    monkeypatch.setattr(digits.Digits, "configure_optimizers", lambda self: self.optimizer(self.net))
    monkeypatch.setitem(
        OPTIMIZERS,
        "certified",
        lambda net: Converted(net.parameters(), build("smooth", "constant"), fresh_samples=True),
    )
    whole = fit(tmp_path / "whole", "certified").optimizers[0]
    resumed = fit(tmp_path / "resumed", "certified", resume=tmp_path / "whole" / "epoch=0.ckpt").optimizers[0]
    assert whole.certificate().label == "a-priori"
    assert resumed.certificate() == whole.certificate()
    assert_same(snapshot(resumed), snapshot(whole))


def test_example(tmp_path, capsys):
    digits.main(tmp_path, 4)
    whole = capsys.readouterr().out
    assert float(whole.split()[-1]) > 0.8
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Checkpoint directory .* exists")
        digits.main(tmp_path, 4, resume=tmp_path / "epoch=1.ckpt")
    assert capsys.readouterr().out == whole
