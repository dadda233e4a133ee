"""Accelerate runs a loop of your own: gradients accumulated and clipped, the state saved and loaded.

`Hedged`, or Algorithm 2 as an optimizer, which is evaluated and saved at its output.
Run: python examples/accelerate_digits.py FOLDER, then the same with --resume FOLDER/4
"""

import argparse
from pathlib import Path

import sklearn.datasets
import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import o2nc
from o2nc.torch import Converted, Hedged, groups


def data():
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images, labels = torch.as_tensor(images / 16, dtype=torch.float32), torch.as_tensor(labels)
    return (images[:1024], labels[:1024]), (images[1024:], labels[1024:])


def hedged(model, steps):
    return Hedged(groups(model, weight_decay=0.01), lr=1e-2)


def converted(model, steps):
    constants = o2nc.Nonsmooth(L=1.0, M=2.5, sigma=0.5, lam=1e-4, T=steps)  # L: where gradients are clipped
    return Converted(model.parameters(), o2nc.NonsmoothConversion(o2nc.oracles.AdaGrad(o2nc.sets.Box()), constants))


def fit(folder, optimizer, epochs, resume=None, seed=0, **options):
    """The optimizer, the scheduler and the accuracy after all epochs; the state after each is saved in ``folder``."""
    set_seed(seed)
    seen, (images, labels) = data()
    loading = DataLoaderConfiguration(use_seedable_sampler=True, data_seed=0)  # the order depends on the epoch only
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, dataloader_config=loading, **options)
    layers = torch.nn.Linear(64, 32), torch.nn.Dropout(0.1), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    model = torch.nn.Sequential(*layers)
    opt = optimizer(model, steps := 8 * epochs)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    loader = DataLoader(TensorDataset(*seen), 64, shuffle=True)
    model, prepared, scheduler, loader = accelerator.prepare(model, opt, scheduler, loader)
    if resume:
        accelerator.load_state(resume)
    for epoch in range(int(resume.name) if resume else 0, epochs):
        model.train()
        prepared.train()  # does nothing for `Hedged`, as `eval` below
        loader.set_epoch(epoch)
        for batch, answers in loader:
            with accelerator.accumulate(model):
                accelerator.backward(functional.cross_entropy(model(batch), answers))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                prepared.step()
                scheduler.step()
                prepared.zero_grad()
        model.eval()
        prepared.eval()
        accelerator.save_state(folder / str(epoch + 1))
    with torch.no_grad():
        return opt, scheduler, (model(images).argmax(-1) == labels).float().mean().item()


def main(folder, epochs, optimizer="hedged", resume=None):
    opt, _, accuracy = fit(folder, {"hedged": hedged, "converted": converted}[optimizer], epochs, resume)
    print(opt.report())
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="for checkpoints")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--optimizer", choices=["hedged", "converted"], default="hedged")
    parser.add_argument("--resume", type=Path, help="a checkpoint")
    main(**vars(parser.parse_args()))
