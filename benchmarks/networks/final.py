"""Four tasks that choose nothing: written down before the rule, and run once, when it is done.

Do not train on them before that, with no optimizer: docs/training-protocol.md. They are of other kinds than all others:
two towers that must find each other, a mixture of experts, a variational autoencoder, and a network of sets of points.
In each the loss has a floor far above 0, so that no method can finish the task.
"""

from functools import cache

import torch
from torch import nn

from .images import photographs
from .tasks import Data, Task, cross_entropy, digits, pieces, source_text


@cache
def halves(count: int = 3000, size: int = 10) -> tuple[Data, Data]:
    """Left and right halves of patches of two photographs."""
    photos, generator = photographs(), torch.Generator().manual_seed(0)
    which = torch.randint(2, (count,), generator=generator).tolist()
    rows = torch.randint(photos.shape[-2] - size, (count,), generator=generator).tolist()
    columns = torch.randint(photos.shape[-1] - 2 * size, (count,), generator=generator).tolist()
    corners = zip(which, rows, columns, strict=True)
    wide = torch.stack([photos[k, :, i : i + size, j : j + 2 * size] for k, i, j in corners])
    x, y = wide[..., :size], wide[..., size:].flip(-1)  # both have the cut at their right
    return (x[:2500], y[:2500]), (x[2500:], y[2500:])


class Tower(nn.Module):
    """Two convolutions, batch normalisation, and a point on the sphere."""

    def __init__(self, channels: int = 20, outputs: int = 24) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, channels, 3, stride=2), nn.Conv2d(channels, 2 * channels, 3)
        self.norm, self.out = nn.BatchNorm1d(8 * channels), nn.Linear(8 * channels, outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.relu(self.second(nn.functional.relu(self.first(x)))).flatten(1)
        return nn.functional.normalize(self.out(self.norm(y)), dim=-1)


class TwoTowers(nn.Module):
    """How alike every left half and every right half are, over a learned temperature."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.log_scale = Tower(), Tower(), nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.log_scale.exp() * self.left(x) @ self.right(y).T


def match(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss of finding the right half of each left one among those of the minibatch, and the other way round."""
    scores, own = model(x, y), torch.arange(len(x))
    return (nn.functional.cross_entropy(scores, own) + nn.functional.cross_entropy(scores.T, own)) / 2


class Matching(Task):
    """A task whose loss depends on the other members of a piece, so that all data are seen in pieces of a minibatch."""

    def evaluate(self, data: Data, size: int = 0) -> float:
        return super().evaluate(data, size or self.batch)


def matching(seed: int) -> Task:
    """Which right half belongs to this left half? Contrastive learning with two towers.

    Reference: van den Oord, Li and Vinyals (2018), Representation Learning with Contrastive Predictive Coding.
    """
    torch.manual_seed(seed)
    return Matching(TwoTowers(), *halves(), match, batch=50, steps=500, seed=seed)


@cache
def following(context: int = 12) -> tuple[int, Data, Data]:
    """How many letters there are, and which letter follows twelve others in the standard library's source."""
    letters, x, _ = pieces(source_text(420_000)[308_000:], 1)
    rows = x.flatten().unfold(0, context + 1, 11)
    x, y, aside = rows[:, :-1], rows[:, -1], len(rows) // 8
    return letters, (x[aside:], y[aside:]), (x[:aside], y[:aside])


class Routed(nn.Module):
    """Four small networks in two stacks of matrices, mixed by a gate, beside the identity."""

    def __init__(self, width: int, hidden: int, experts: int = 4) -> None:
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(width), nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) / width**0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) / hidden**0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        each = nn.functional.gelu(torch.einsum("bi,eih->ebh", y, self.up)) @ self.down
        return x + (self.gate(y).softmax(-1).T.unsqueeze(-1) * each).sum(0)


class MixtureOfExperts(nn.Module):
    """The vectors of twelve letters, one beside the other, through layers with several small networks each."""

    def __init__(self, letters: int, context: int = 12, width: int = 72, layers: int = 2) -> None:
        super().__init__()
        self.token, self.mixed = nn.Embedding(letters, 12), nn.Linear(12 * context, width)
        self.layers = nn.ModuleList(Routed(width, 40) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.mixed(self.token(x).flatten(1))
        for layer in self.layers:
            h = layer(h)
        return self.head(self.norm(h))


def routing(seed: int) -> Task:
    """The next character by a mixture of experts, whose weights are stacks of matrices.

    Reference: Jacobs, Jordan, Nowlan and Hinton (1991), Adaptive Mixtures of Local Experts.
    """
    letters, train, validation = following()
    torch.manual_seed(seed)
    return Task(MixtureOfExperts(letters), train, validation, cross_entropy, batch=48, steps=700, seed=seed)


@cache
def sampled_digits(latent: int = 6, copies: int = 3) -> tuple[Data, Data]:
    """Digits beside the noise of their latent variables, several times, and the digits."""
    generator = torch.Generator().manual_seed(0)

    def noisy(images: torch.Tensor) -> Data:
        clean = images.repeat(copies, 1)
        return torch.cat((clean, torch.randn(len(clean), latent, generator=generator)), 1), clean

    (train, _), (validation, _) = digits()
    return noisy(train), noisy(validation)


class Variational(nn.Module):
    """An encoder of mean and scale, and a decoder; neither is normalised."""

    def __init__(self, latent: int = 6, width: int = 112) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, width), nn.SiLU(), nn.Linear(width, 56), nn.SiLU(), nn.Linear(56, 2 * latent)
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, 56), nn.SiLU(), nn.Linear(56, width), nn.SiLU(), nn.Linear(width, 64)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mean, log = self.encoder(x[:, :64]).chunk(2, -1)
        return self.decoder(mean + log.exp() * x[:, 64:]), mean, log


def evidence(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The negative evidence lower bound with Bernoulli pixels, over their number."""
    logits, mean, log = model(x)
    pixels = nn.functional.binary_cross_entropy_with_logits(logits, y)
    return pixels + (0.5 * (mean.square() + (2 * log).exp() - 1) - log).sum(-1).mean() / y.shape[-1]


def variational(seed: int) -> Task:
    """Digits through six random numbers.

    Reference: Kingma and Welling (2014), Auto-Encoding Variational Bayes.
    """
    torch.manual_seed(seed)
    return Task(Variational(), *sampled_digits(), evidence, batch=64, steps=800, seed=seed)


@cache
def clouds(points: int = 24, copies: int = 2) -> tuple[Data, Data]:
    """Points that are drawn with the darkness of a digit as their density, in [-1, 1]^2, and which digit it is."""
    generator = torch.Generator().manual_seed(0)

    def drawn(images: torch.Tensor, labels: torch.Tensor) -> Data:
        pixels = torch.multinomial(images.repeat(copies, 1), points, replacement=True, generator=generator)
        corner = torch.stack((pixels // 8, pixels % 8), -1)
        inside = torch.rand(corner.shape, generator=generator)
        return (corner + inside) / 4 - 1, labels.repeat(copies)

    train, validation = digits()
    return drawn(*train), drawn(*validation)


class Sets(nn.Module):
    """Every point sees the largest value of each feature over all points, in layers that share their weights."""

    def __init__(self, width: int = 44, rounds: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.first, self.own = nn.Linear(2, width), nn.Linear(width, width)
        self.all, self.norm = nn.Linear(width, width, bias=False), nn.LayerNorm(width)
        self.rounds, self.classify = rounds, nn.Sequential(nn.Linear(width, 30), nn.ReLU(), nn.Linear(30, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.first(x))
        for _ in range(self.rounds):
            h = h + nn.functional.relu(self.own(self.norm(h)) + self.all(h.amax(1, keepdim=True)))
        return self.classify(h.amax(1))


def points(seed: int) -> Task:
    """Which digit were these points drawn from? A tenth of the labels are wrong.

    Reference: Zaheer et al. (2017), Deep Sets.
    """
    torch.manual_seed(seed)
    return Task(Sets(), *clouds(), cross_entropy, batch=48, steps=600, seed=seed)


FINAL = {"matching": matching, "routing": routing, "variational": variational, "points": points}
