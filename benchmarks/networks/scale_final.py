"""Four tasks that judge the learned scale: written down before the rule of its step was changed, and run once.

The final tasks had shown that it may run away where nothing is scheduled. These are of other kinds again: a mixer of
patches, a recurrent memory, a quantile, and convolutions over text without normalisation.
"""

from functools import cache

import torch
from torch import nn

from .images import photographs
from .sequences import Recurrent
from .tasks import Data, Task, cross_entropy, gaussian, pieces, shuffled, source_text


@cache
def holes(count: int = 2400, size: int = 12, hole: int = 4) -> tuple[Data, Data]:
    """Patches of two photographs whose middle is blank, and what is there."""
    photos, generator = photographs(), torch.Generator().manual_seed(1)
    which = torch.randint(2, (count,), generator=generator).tolist()
    rows = torch.randint(photos.shape[-2] - size, (count,), generator=generator).tolist()
    columns = torch.randint(photos.shape[-1] - size, (count,), generator=generator).tolist()
    corners = zip(which, rows, columns, strict=True)
    x, cut = torch.stack([photos[k, :, i : i + size, j : j + size] for k, i, j in corners]), (size - hole) // 2
    middle = (slice(None), slice(None), slice(cut, cut + hole), slice(cut, cut + hole))
    y, x = x[middle].flatten(1), x.clone()
    x[middle] = 0
    return (x[:2000], y[:2000]), (x[2000:], y[2000:])


class Mixer(nn.Module):
    """Layers across places and across channels in turn, each after a normalisation."""

    def __init__(self, places: int = 9, width: int = 48, layers: int = 2, outputs: int = 48) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.along = nn.ModuleList(self.feed(places, 24) for _ in range(layers))
        self.across = nn.ModuleList(self.feed(width, 96) for _ in range(layers))
        self.head = nn.Linear(width, outputs)

    @staticmethod
    def feed(width: int, hidden: int) -> nn.Module:
        return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.patch(x).flatten(2).transpose(1, 2)
        for k, (along, across) in enumerate(zip(self.along, self.across, strict=True)):
            h = h + along(self.norms[2 * k](h).transpose(1, 2)).transpose(1, 2)
            h = h + across(self.norms[2 * k + 1](h))
        return self.head(h.mean(1))


def inpainting(seed: int) -> Task:
    """What is in the middle of this patch? An MLP-Mixer.

    Reference: Tolstikhin et al. (2021), MLP-Mixer: An all-MLP Architecture for Vision.
    """
    torch.manual_seed(seed)
    return Task(Mixer(), *holes(), gaussian, batch=32, steps=600, seed=seed)


@cache
def pairs(count: int = 4000, shown: int = 4, symbols: int = 8) -> tuple[Data, Data]:
    """Keys with values, then a key again, and its value, which is another one in a tenth of the cases."""
    generator = torch.Generator().manual_seed(0)
    keys = torch.rand(count, symbols, generator=generator).argsort(1)[:, :shown]
    values = torch.randint(symbols, (count, shown), generator=generator)
    asked = torch.randint(shown, (count, 1), generator=generator)
    told = torch.stack((keys, values + symbols), -1).flatten(1)
    y = values.gather(1, asked)[:, 0]
    wrong = torch.rand(count, generator=generator) < 0.1
    y = torch.where(wrong, torch.randint(symbols, (count,), generator=generator), y)
    x = torch.cat((told, keys.gather(1, asked)), 1)
    return (x[:3600], y[:3600]), (x[3600:], y[3600:])


def recall(seed: int) -> Task:
    """Which value belongs to this key? A gated recurrent network."""
    torch.manual_seed(seed)
    model = Recurrent(nn.Embedding(16, 24), nn.GRU(24, 64, batch_first=True), 8, last=True)
    return Task(model, *pairs(), cross_entropy, batch=32, steps=900, seed=seed)


@cache
def spread(count: int = 4000, inputs: int = 6) -> tuple[Data, Data]:
    """Points, and numbers around a function of them whose noise depends on the point, with exponential tails."""
    generator = torch.Generator().manual_seed(0)
    x = 2 * torch.rand(count, inputs, generator=generator) - 1
    noise = -torch.rand(count, generator=generator).clamp(1e-6).log()
    y = torch.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2].abs() + (0.2 + x[:, 3].square()) * noise
    return (x[:3500], y[:3500]), (x[3500:], y[3500:])


def pinball(model: nn.Module, x: torch.Tensor, y: torch.Tensor, tau: float = 0.9) -> torch.Tensor:
    """The loss of a quantile."""
    error = y - model(x)[:, 0]
    return torch.maximum(tau * error, (tau - 1) * error).mean()


def quantile(seed: int) -> Task:
    """What is exceeded in a tenth of the cases? Four layers with batch normalisation, and a loss with a kink.

    Reference: Koenker and Bassett (1978), Regression Quantiles.
    """
    torch.manual_seed(seed)
    layers = [nn.Linear(6, 56)]
    for _ in range(2):
        layers += [nn.BatchNorm1d(56), nn.ReLU(), nn.Linear(56, 56, bias=False)]
    model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(56, 1))
    return Task(model, *spread(), pinball, batch=64, steps=700, seed=seed)


@cache
def origins(parts: int = 8, context: int = 40) -> tuple[int, Data, Data]:
    """How many letters there are, and in which of eight parts of the standard library's source a piece is."""
    letters, x, _ = pieces(source_text(600_000)[440_000:], context)
    return letters, *shuffled(x, torch.arange(len(x)) * parts // len(x), len(x) // 8)


class TextConvolutions(nn.Module):
    """Vectors of letters, three convolutions, the largest value over places, and two layers."""

    def __init__(self, letters: int, width: int = 40, classes: int = 8) -> None:
        super().__init__()
        self.letters = nn.Embedding(letters, 20)
        self.convolutions = nn.ModuleList(nn.Conv1d(n, width, 5, padding=2) for n in (20, width, width))
        self.classify = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.letters(x).transpose(1, 2)
        for convolution in self.convolutions:
            h = nn.functional.relu(convolution(h))
        return self.classify(h.amax(2))


def provenance(seed: int) -> Task:
    """Where in the standard library's source is this piece from? Convolutions without normalisation."""
    letters, train, validation = origins()
    torch.manual_seed(seed)
    return Task(TextConvolutions(letters), train, validation, cross_entropy, batch=32, steps=500, seed=seed)


SCALE_FINAL = {"inpainting": inpainting, "recall": recall, "quantile": quantile, "provenance": provenance}
