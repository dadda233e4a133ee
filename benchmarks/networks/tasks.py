"""What a task is: model, minibatches, the objective that is minimised and a validation loss; and what several share.

A task is built from a seed, which fixes the initial weights and the minibatches; so two optimizers with the same seed
are a pair. All data come with Python or with scikit-learn.
"""

import pathlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import sklearn.datasets
import torch
from torch import nn

Loss = Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]
Data = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Task:
    """A training problem; likelihoods are in nats.

    ``decays`` are the weight decays that a method may choose from; docs/training-protocol.md says how.
    """

    model: nn.Module
    train: Data
    validation: Data
    loss: Loss
    batch: int
    steps: int
    seed: int
    decays: tuple[float, ...] = (0.0, 0.1)

    def batches(self) -> Iterator[Data]:
        """``steps`` minibatches, drawn with replacement."""
        generator = torch.Generator().manual_seed(self.seed)
        for _ in range(self.steps):
            chosen = torch.randint(len(self.train[0]), (self.batch,), generator=generator)
            yield self.train[0][chosen], self.train[1][chosen]

    @torch.no_grad()
    def evaluate(self, data: Data, size: int = 512) -> float:
        """The mean loss over all of ``data``."""
        self.model.eval()
        pieces = zip(data[0].split(size), data[1].split(size), strict=True)
        total = sum(float(self.loss(self.model, x, y)) * len(x) for x, y in pieces)
        self.model.train()
        return total / len(data[0])


def cross_entropy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())


def gaussian(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The negative log likelihood with unit variance, without its constant."""
    return 0.5 * (model(x).squeeze(-1) - y).square().mean()


class Block(nn.Module):
    """Attention and a feed-forward layer, each after a normalisation."""

    def __init__(self, width: int, heads: int, causal: bool = True) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class Transformer(nn.Module):
    """A causal transformer over bytes."""

    def __init__(self, vocabulary: int, width: int = 64, layers: int = 2, heads: int = 4, context: int = 64) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for table in (self.token, self.position):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[-1]]
        return self.head(self.norm(self.blocks(x)))


@cache
def source_text(characters: int) -> str:
    """The start of the standard library's modules, in alphabetical order."""
    folder, text = pathlib.Path(random.__file__).parent, ""
    for path in sorted(folder.glob("*.py")):
        text += path.read_text(encoding="utf-8", errors="ignore")
        if len(text) >= characters:
            return text[:characters]
    raise ValueError(f"`characters` must be at most {len(text)}, the length of the standard library; got {characters}.")


def pieces(text: str, context: int) -> tuple[int, torch.Tensor, torch.Tensor]:
    """How many letters there are, and pieces of a text with what follows each letter."""
    letters = {letter: i for i, letter in enumerate(sorted(set(text)))}
    tokens = torch.tensor([letters[letter] for letter in text])
    x = tokens[: (len(tokens) - 1) // context * context].view(-1, context)
    return len(letters), x, tokens[1 : x.numel() + 1].view(-1, context)


def shuffled(x: torch.Tensor, y: torch.Tensor, aside: int) -> tuple[Data, Data]:
    """Rows in a fixed random order, the first of which are held out."""
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[order], y[order]
    return (x[aside:], y[aside:]), (x[:aside], y[:aside])


@cache
def digits() -> tuple[Data, Data]:
    """Handwritten digits; a tenth of the training labels are replaced by random ones."""
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(x), generator=generator)
    x, y = x[order], y[order]
    wrong = torch.rand(1400, generator=generator) < 0.1
    y[:1400] = torch.where(wrong, torch.randint(10, (1400,), generator=generator), y[:1400])
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def convnet(seed: int) -> Task:
    """The same digits, two convolutions."""
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Unflatten(-1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    return Task(model, *digits(), cross_entropy, batch=64, steps=400, seed=seed)
