"""Development tasks on sequences: recurrent networks and a transformer that computes."""

from functools import cache

import torch
from torch import nn

from .tasks import Data, Task, Transformer, cross_entropy, gaussian, pieces, shuffled, source_text


class Recurrent(nn.Module):
    """A recurrent network and a linear head at every step, or at the last one."""

    def __init__(self, first: nn.Module, body: nn.RNNBase, outputs: int, last: bool = False) -> None:
        super().__init__()
        self.first, self.body, self.last = first, body, last
        self.head = nn.Linear(body.hidden_size, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.body(self.first(x))
        return self.head(y[:, -1] if self.last else y)


@cache
def windows(context: int) -> tuple[int, Data, Data]:
    """How many letters there are, and pieces of the standard library's source with what follows each letter."""
    letters, x, y = pieces(source_text(160_000)[100_000:], context)
    return letters, *shuffled(x, y, len(x) // 10)


def lstm(seed: int) -> Task:
    """The next character of the standard library's source, by a recurrent network."""
    letters, train, validation = windows(context=32)
    torch.manual_seed(seed)
    model = Recurrent(nn.Embedding(letters, 32), nn.LSTM(32, 96, batch_first=True), letters)
    return Task(model, train, validation, cross_entropy, batch=16, steps=600, seed=seed)


@cache
def sums(count: int = 4000, length: int = 10) -> tuple[Data, Data]:
    """Numbers of which two are marked, and the sum of these two.

    Reference: Hochreiter and Schmidhuber (1997), Long Short-Term Memory, the adding problem.
    """
    generator = torch.Generator().manual_seed(0)
    numbers = 2 * torch.rand(count, length, generator=generator) - 1
    places = torch.rand(count, length, generator=generator).topk(2).indices
    marks = torch.zeros(count, length).scatter(1, places, 1.0)
    x, y = torch.stack((numbers, marks), -1), (numbers * marks).sum(1)
    return (x[:3600], y[:3600]), (x[3600:], y[3600:])


def adding(seed: int) -> Task:
    """Add the two marked numbers: a plain tanh recurrence, with nothing that is normalised or gated."""
    torch.manual_seed(seed)
    model = Recurrent(nn.Identity(), nn.RNN(2, 64, batch_first=True), 1, last=True)
    return Task(model, *sums(), gaussian, batch=32, steps=1500, seed=seed, decays=(0.0,))


@cache
def remainders(modulus: int) -> tuple[Data, Data]:
    """All pairs (a, b) and a + b modulo ``modulus``; a fifth is held out."""
    x = torch.cartesian_prod(torch.arange(modulus), torch.arange(modulus))
    return shuffled(x, x.sum(1) % modulus, len(x) // 5)


class LastOnly(nn.Module):
    """What a model says at the last place of a sequence."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)[:, -1]


def modular(seed: int, modulus: int = 37) -> Task:
    """Addition modulo 37 by a transformer, always with weight decay, a long run.

    Reference: Power et al. (2022), Grokking: Generalization Beyond Overfitting on Small Algorithmic Datasets.
    """
    torch.manual_seed(seed)
    model = LastOnly(Transformer(modulus, layers=1, context=2))
    return Task(model, *remainders(modulus), cross_entropy, batch=128, steps=1000, seed=seed, decays=(0.1,))
