"""What is compared: `Hedged`, each of its experts alone, and the rivals at their published defaults.

Matrices, convolutions and tables decay, vectors do not. Weight decay is decoupled but in SGD and DoG.
"""

from collections.abc import Callable
from dataclasses import dataclass

import examples  # noqa: F401
import torch
from language.muon import Muon
from mechanic_pytorch import mechanize
from prodigyopt import Prodigy
from pytorch_optimizer import SOAP
from schedulefree import AdamWScheduleFree
from torch import nn

from o2nc.directions import Soap
from o2nc.directions.base import LENGTH
from o2nc.torch import Hedged, groups

from .averaged import AveragedDoG
from .parameters import decaying, hidden_matrices

RATES = (1e-3, 3e-3, 1e-2, 2e-2)
STARTS = (1e-4, 1e-3, 1e-1)  # of a learned scale, besides the default
WARM_UP = 0.05  # of the steps
EXPERTS = ("muon alone", "soap alone")

Build = Callable[[nn.Module, float, int, float], list[torch.optim.Optimizer]]


@dataclass(frozen=True)
class Method:
    """How an optimizer is made of a model, a learning rate, a number of steps and a weight decay.

    ``build`` may return several, for different parameters; ``scheduled`` is False for one that brings its own schedule
    or is shown without one.
    """

    title: str
    build: Build
    rates: tuple[float, ...] = RATES
    scheduled: bool = True


def factor(t: int, steps: int) -> float:
    """What multiplies the learning rate of step t = 0, 1, ...: a linear warm-up, then a linear decay to 0."""
    warm_up = max(round(WARM_UP * steps), 1)
    return min((t + 1) / warm_up, (steps - t) / max(steps - warm_up, 1))


def hedged(**options) -> Build:
    """`Hedged` at the learning rate, which is kept."""
    return lambda model, lr, steps, decay: [Hedged(groups(model, weight_decay=decay), lr=lr, scale="fixed", **options)]


def learned(model, lr, steps, decay):
    """`Hedged` as it comes: no learning rate is given, ``lr`` names its own start."""
    return [Hedged(groups(model, weight_decay=decay))]


def started(model, lr, steps, decay):
    """`Hedged` with a learned scale from another start."""
    return [Hedged(groups(model, weight_decay=decay), lr=lr)]


def adamw(model, lr, steps, decay):
    return [torch.optim.AdamW(decaying(model.parameters(), decay), lr=lr)]


def sgd(factor: float) -> Build:
    """SGD of PyTorch adds its weight decay to the gradient; with momentum, this is not the decoupled one."""
    return lambda model, lr, steps, decay: [
        torch.optim.SGD(decaying(model.parameters(), decay), lr=factor * lr, momentum=0.9)
    ]


def beside_adamw(model: nn.Module, chosen: list[nn.Parameter], make: Callable, lr: float, decay: float) -> list:
    """An optimizer for some parameters, and AdamW for the rest; AdamW alone if there are none."""
    ids = {id(p) for p in chosen}
    rest = [p for p in model.parameters() if id(p) not in ids]
    first = [make(chosen, lr=lr, weight_decay=decay)] if chosen else []
    return [*first, torch.optim.AdamW(decaying(rest, decay), lr=lr)]


def muon(model, lr, steps, decay):
    """Muon for the hidden matrices; like PyTorch's it refuses what has more than two axes: convolutions are AdamW's.

    It is PyTorch's in float32, which a test of the example compares: in bfloat16 a step takes 3 to 6 times as long.
    """
    return beside_adamw(model, [p for p in hidden_matrices(model) if p.ndim == 2], Muon, lr, decay)


def soap(model, lr, steps, decay):
    """SOAP for the hidden matrices and convolutions: betas 0.95 and 0.95, a new basis every 10 steps."""
    return beside_adamw(model, hidden_matrices(model), SOAP, lr, decay)


def schedule_free(model, lr, steps, decay):
    warm_up = round(WARM_UP * steps)
    return [AdamWScheduleFree(decaying(model.parameters(), decay), lr=lr, warmup_steps=warm_up)]


def prodigy(model, lr, steps, decay):
    return [Prodigy(decaying(model.parameters(), decay), lr=lr, safeguard_warmup=True)]


def mechanic(model, lr, steps, decay):
    return [mechanize(torch.optim.AdamW)(decaying(model.parameters(), decay), lr=lr)]


def dog(model, lr, steps, decay):
    """DoG has no schedule: it averages."""
    return [AveragedDoG(model, lr=lr, weight_decay=decay)]


METHODS = {
    "hedged": Method("Hedged", hedged()),
    "equal": Method("equal weights for ever", hedged(c=0.0)),
    "muon alone": Method("its Muon alone", hedged(experts=("muon",))),
    "soap alone": Method("its SOAP alone", hedged(experts=(Soap(b1=None, length=LENGTH),))),
    "learned": Method("Hedged, learned scale", learned, rates=(1e-2,)),
    "learned constant": Method("the same without a schedule", learned, rates=(1e-2,), scheduled=False),
    "learned start": Method("the same from other starts", started, rates=STARTS),
    "adamw": Method("AdamW", adamw),
    "muon": Method("Muon + AdamW", muon),
    "soap": Method("SOAP + AdamW", soap),
    "schedule-free": Method("schedule-free AdamW", schedule_free, scheduled=False),
    "prodigy": Method("Prodigy", prodigy, rates=(1.0,)),
    "mechanic": Method("Mechanic on AdamW", mechanic, rates=(1.0,)),
    "dog": Method("DoG, averaged", dog, rates=(1.0,), scheduled=False),
    "sgd10": Method("SGD, 10 lr", sgd(10)),
}
