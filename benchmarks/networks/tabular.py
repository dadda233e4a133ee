"""Development tasks on tables: classes, a noisy regression, and ratings."""

from functools import cache

import sklearn.datasets
import torch
from torch import nn

from .tasks import Data, Task, cross_entropy, gaussian


@cache
def cancer() -> tuple[Data, Data]:
    """Thirty standardised measurements of a tumour and its kind; a twentieth of the training labels are wrong."""
    features, labels = sklearn.datasets.load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(features, dtype=torch.float32), torch.tensor(labels)
    x = (x - x.mean(0)) / x.std(0)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(len(x), generator=generator)
    x, y = x[order], y[order]
    wrong = torch.rand(480, generator=generator) < 0.05
    y[:480] = torch.where(wrong, 1 - y[:480], y[:480])
    return (x[:480], y[:480]), (x[480:], y[480:])


class Residual(nn.Module):
    """A normalised feed-forward layer beside the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


def tumours(seed: int) -> Task:
    """Classes of a table by a normalised residual network, a short run."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(30, 48), Residual(48), Residual(48), nn.LayerNorm(48), nn.Linear(48, 2))
    return Task(model, *cancer(), cross_entropy, batch=32, steps=150, seed=seed)


@cache
def friedman() -> tuple[Data, Data]:
    """Friedman's first function of 5 of 15 variables, with noise of Student's law with 3 degrees of freedom.

    Reference: Friedman (1991), Multivariate Adaptive Regression Splines.
    """
    x, y = sklearn.datasets.make_friedman1(n_samples=3000, n_features=15, random_state=0)
    features, target = torch.tensor(2 * x - 1, dtype=torch.float32), torch.tensor((y - y.mean()) / y.std()).float()
    normal = torch.randn(len(y), 4, generator=torch.Generator().manual_seed(0))
    target[:2400] += 0.3 * (normal[:, 0] / normal[:, 1:].square().mean(1).sqrt())[:2400]
    return (features[:2400], target[:2400]), (features[2400:], target[2400:])


def huber(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return nn.functional.huber_loss(model(x).squeeze(-1), y)


def heavy_tails(seed: int) -> Task:
    """Regression with heavy tails, small batches, no normalisation, a long run."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(15, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    return Task(model, *friedman(), huber, batch=8, steps=1800, seed=seed)


@cache
def ratings(people: int = 300, things: int = 200, count: int = 12_000) -> tuple[Data, Data]:
    """Who rated what, and how: a matrix of rank 4 through tanh, with noise; few are rated often, many rarely."""
    generator = torch.Generator().manual_seed(0)
    tastes, traits = (torch.randn(n, 4, generator=generator) for n in (people, things))
    seen = torch.stack([(n * torch.rand(count, generator=generator) ** 2).long() for n in (people, things)], 1)
    y = torch.tanh((tastes[seen[:, 0]] * traits[seen[:, 1]]).sum(1) / 2)
    y += 0.2 * torch.randn(count, generator=generator)
    return (seen[:10_800], y[:10_800]), (seen[10_800:], y[10_800:])


class Factors(nn.Module):
    """A table of people, a table of things, and a network over both."""

    def __init__(self, people: int = 300, things: int = 200, width: int = 24) -> None:
        super().__init__()
        self.people, self.things = nn.Embedding(people, width), nn.Embedding(things, width)
        self.body = nn.Sequential(nn.Linear(2 * width, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(torch.cat((self.people(x[:, 0]), self.things(x[:, 1])), -1))


def recommender(seed: int) -> Task:
    """Ratings from two tables of embeddings: most of the parameters are tables with sparse gradients."""
    torch.manual_seed(seed)
    return Task(Factors(), *ratings(), gaussian, batch=128, steps=800, seed=seed)
