"""timm makes `Hedged` by its name, with the groups of `o2nc.torch.groups`, and trains a small vision transformer.

The data are scikit-learn's digits, of 8 x 8 pixels. Run: python examples/timm_digits.py
"""

import argparse

import sklearn.datasets
import timm
import torch
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from torch.nn import functional

from o2nc.torch import groups, register_timm


def data():
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    images = torch.as_tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    labels = torch.as_tensor(labels)
    return (images[:1024], labels[:1024]), (images[1024:], labels[1024:])


def network():
    sizes = {"img_size": 8, "patch_size": 2, "in_chans": 1, "embed_dim": 32, "depth": 2, "num_heads": 2}
    return timm.create_model("vit_tiny_patch16_224", num_classes=10, **sizes)


def main(steps):
    torch.manual_seed(0)
    register_timm()
    model, ((images, labels), (others, answers)) = network(), data()
    opt = create_optimizer_v2(model, opt="o2nc_hedged", lr=1e-2, weight_decay=0.05, param_group_fn=groups)
    scheduler = CosineLRScheduler(opt, steps, t_in_epochs=False)
    for step in range(steps):
        chosen = torch.randint(len(images), (64,))
        opt.zero_grad()
        functional.cross_entropy(model(images[chosen]), labels[chosen]).backward()
        opt.step()
        scheduler.step_update(step + 1)
    model.eval()
    with torch.no_grad():
        accuracy = (model(others).argmax(-1) == answers).float().mean().item()
    print(opt.report())
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    main(**vars(parser.parse_args()))
