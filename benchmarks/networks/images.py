"""Development tasks on images: photographs and digits that come with scikit-learn."""

from functools import cache
from itertools import pairwise

import sklearn.datasets
import torch
from torch import nn

from .tasks import Block, Data, Task, cross_entropy, digits, gaussian


@cache
def photographs() -> torch.Tensor:
    """Two photographs, of shape (2, 3, 427, 640), with entries in [-1, 1]."""
    images = sklearn.datasets.load_sample_images().images
    return torch.stack([torch.tensor(image).permute(2, 0, 1) / 127.5 - 1 for image in images])


@cache
def patches(size: int = 12, count: int = 2400) -> tuple[Data, Data]:
    """Patches of the photographs, and from which quarter of which photograph each is: eight classes."""
    photos, generator = photographs(), torch.Generator().manual_seed(0)
    which = torch.randint(2, (count,), generator=generator)
    top = torch.randint(photos.shape[-2] - size, (count,), generator=generator)
    left = torch.randint(photos.shape[-1] - size, (count,), generator=generator)
    corners = zip(which.tolist(), top.tolist(), left.tolist(), strict=True)
    x = torch.stack([photos[k, :, i : i + size, j : j + size] for k, i, j in corners])
    middle = [(n - size) / 2 for n in photos.shape[-2:]]
    y = 4 * which + 2 * (top > middle[0]) + (left > middle[1])
    return (x[:2000], y[:2000]), (x[2000:], y[2000:])


class Residual(nn.Module):
    """Two normalised convolutions beside the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(4, channels) for _ in range(2))
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            y = convolution(nn.functional.relu(norm(y)))
        return x + y


def places(seed: int) -> Task:
    """Where in which photograph is this patch? A residual network with group normalisation."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), Residual(16), nn.Conv2d(16, 32, 3, stride=2, padding=1), Residual(32),
        nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 8),
    )  # fmt: skip
    return Task(model, *patches(), cross_entropy, batch=32, steps=600, seed=seed)


class VisionTransformer(nn.Module):
    """Attention over the sixteen 2 x 2 squares of a digit."""

    def __init__(self, width: int = 48, layers: int = 3, heads: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.cut = nn.Sequential(nn.Unflatten(-1, (1, 8, 8)), nn.Unfold(2, stride=2))
        self.patch, self.position = nn.Linear(4, width), nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.Sequential(*(Block(width, heads, causal=False) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(self.cut(x).transpose(1, 2)) + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))


def vision_transformer(seed: int) -> Task:
    """Digits with a tenth of the labels wrong, always with weight decay."""
    torch.manual_seed(seed)
    return Task(VisionTransformer(), *digits(), cross_entropy, batch=64, steps=400, seed=seed, decays=(0.1,))


def autoencoder(seed: int) -> Task:
    """Digits through eight numbers and back: a deep tanh network without normalisation, a long run."""
    torch.manual_seed(seed)
    widths = (64, 128, 64, 32, 8, 32, 64, 128, 64)
    layers = [part for n, m in pairwise(widths) for part in (nn.Linear(n, m), nn.Tanh())]
    (x, _), (z, _) = digits()
    return Task(nn.Sequential(*layers[:-1]), (x, x), (z, z), gaussian, batch=64, steps=1800, seed=seed, decays=(0.0,))


@cache
def pixels() -> tuple[Data, Data]:
    """Where a pixel of a smaller photograph is, in [-1, 1]^2, and its colours; every tenth one is held out."""
    small = nn.functional.interpolate(photographs()[:1], size=(85, 128), mode="area")[0]
    rows, columns = torch.linspace(-1, 1, 85), torch.linspace(-1, 1, 128)
    x, y = torch.cartesian_prod(rows, columns), small.flatten(1).T
    aside = torch.arange(len(x)) % 10 == 0
    return (x[~aside], y[~aside]), (x[aside], y[aside])


class Sines(nn.Module):
    """sin(30 x), as in a network of sines."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sin(30 * x)


def photograph(seed: int) -> Task:
    """A photograph as a function of the plane: regression without noise.

    Reference: Sitzmann et al. (2020), Implicit Neural Representations with Periodic Activation Functions.
    """
    torch.manual_seed(seed)
    first, second, last = nn.Linear(2, 96), nn.Linear(96, 96), nn.Linear(96, 3)
    nn.init.uniform_(first.weight, -1 / 2, 1 / 2)
    for layer in (second, last):
        bound = (6 / 96) ** 0.5 / 30
        nn.init.uniform_(layer.weight, -bound, bound)
    model = nn.Sequential(first, Sines(), second, Sines(), last)
    return Task(model, *pixels(), gaussian, batch=256, steps=800, seed=seed, decays=(0.0,))
