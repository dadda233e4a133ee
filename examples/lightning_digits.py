"""Lightning trains a classifier of digits with `Hedged`; a run that goes on from a checkpoint ends in the same place.

Lightning does not store the state of random generators, so the order of the data depends on the epoch only. `Output` is
for `Converted` with Algorithm 2, which is validated and saved at its output.
Run: python examples/lightning_digits.py FOLDER, then the same with --resume FOLDER/epoch=3.ckpt
"""

import argparse
from pathlib import Path

import lightning
import sklearn.datasets
import torch
from torch.nn import functional
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from o2nc.torch import Hedged, groups


class Digits(lightning.LightningModule):
    def __init__(self, optimizer, steps):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
        self.optimizer, self.steps = optimizer, steps

    def training_step(self, batch, _):
        images, labels = batch
        return functional.cross_entropy(self.net(images), labels)

    def validation_step(self, batch, _):
        images, labels = batch
        self.log("accuracy", (self.net(images).argmax(-1) == labels).float().mean())

    def configure_optimizers(self):
        opt = self.optimizer(self.net)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.steps)
        return [opt], [{"scheduler": scheduler, "interval": "step"}]


class Output(lightning.Callback):
    """From a validation to the next batch the parameters hold the output of the algorithm."""

    def on_validation_start(self, trainer, module):
        for opt in trainer.optimizers:
            opt.eval()

    def on_train_batch_start(self, trainer, module, batch, index):
        for opt in trainer.optimizers:
            opt.train()


def data():
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images, labels = torch.as_tensor(images / 16, dtype=torch.float32), torch.as_tensor(labels)
    return TensorDataset(images[:1024], labels[:1024]), TensorDataset(images[1024:], labels[1024:])


def fit(folder, optimizer, epochs, resume=None, seed=0, callbacks=(), **options):
    """A trainer after its work, with a checkpoint of every epoch in ``folder``."""
    lightning.seed_everything(seed, verbose=False)
    seen, others = data()
    order = DistributedSampler(seen, num_replicas=1, rank=0, seed=0)  # Lightning tells it the epoch
    every = lightning.pytorch.callbacks.ModelCheckpoint(folder, filename="{epoch}", save_top_k=-1)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=epochs, callbacks=[every, *callbacks], **quiet, **options)
    steps = epochs * len(seen) // (64 * trainer.accumulate_grad_batches)
    loaders = DataLoader(seen, 64, sampler=order), DataLoader(others, len(others))
    trainer.fit(Digits(optimizer, steps), *loaders, ckpt_path=resume)
    return trainer


def main(folder, epochs, resume=None):
    trainer = fit(folder, lambda net: Hedged(groups(net, weight_decay=0.01), lr=1e-2), epochs, resume)
    print(trainer.optimizers[0].report())
    print(f"accuracy {trainer.callback_metrics['accuracy']:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for checkpoints")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--resume", type=Path, help="a checkpoint")
    main(**vars(parser.parse_args()))
