"""Lightning: the example, and runs that go on from its checkpoints."""

import pytest
import torch

from test_optax_examples import example
from trainers import OPTIMIZERS, assert_same_runs

pytest.importorskip("lightning")
digits = example("lightning_digits")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated"),  # by Lightning, of PyTorch
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # on machines with more cores
    pytest.mark.filterwarnings("ignore:The dirpath has changed"),  # a resumed run gets its own folder here
]


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
    callbacks = [] if name == "hedged" else [digits.Output()]
    fit = lambda *args, **more: digits.fit(*args, callbacks=callbacks, **OPTIONS[options], **more)
    whole = fit(tmp_path / "whole", OPTIMIZERS[name], 2)
    resumed = fit(tmp_path / "resumed", OPTIMIZERS[name], 2, resume=tmp_path / "whole" / "epoch=0.ckpt", seed=1)
    assert_same_runs(after(whole), after(resumed))
    assert after(whole)[0].t == whole.global_step == 32 // whole.accumulate_grad_batches
