"""What is compared: `Hedged`, each of its experts alone, and the rivals. Weight decay is decoupled but in SGD."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from prodigyopt import Prodigy
from schedulefree import AdamWScheduleFree
from torch import nn

from o2nc.torch import Hedged

RATES = (1e-3, 3e-3, 1e-2, 2e-2)
WARM_UP = 0.05  # of the steps
EXPERTS = ("momentum", "adam", "polar")

Build = Callable[[nn.Module, float, int, float], list[torch.optim.Optimizer]]


@dataclass(frozen=True)
class Method:
    """How an optimizer is made of a model, a learning rate, a number of steps and a weight decay.

    ``build`` may return several, for different parameters; ``scheduled`` is False for one that brings its own schedule.
    """

    title: str
    build: Build
    rates: tuple[float, ...] = RATES
    scheduled: bool = True


def hedged(*experts: str) -> Build:
    options = {"experts": experts} if experts else {}
    return lambda model, lr, steps, decay: [Hedged(model.parameters(), lr=lr, weight_decay=decay, **options)]


def adamw(model, lr, steps, decay):
    return [torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=decay)]


def sgd(factor: float) -> Build:
    """SGD of PyTorch adds its weight decay to the gradient; with momentum, this is not the decoupled one."""
    return lambda model, lr, steps, decay: [
        torch.optim.SGD(model.parameters(), lr=factor * lr, momentum=0.9, weight_decay=decay)
    ]


def muon(model, lr, steps, decay):
    """Muon for the matrices of linear layers, which are all that it takes but embeddings, and AdamW for the rest."""
    matrices = [layer.weight for layer in model.modules() if isinstance(layer, nn.Linear)]
    chosen = set(matrices)
    return [
        torch.optim.Muon(matrices, lr=lr, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW([p for p in model.parameters() if p not in chosen], lr=lr, weight_decay=decay),
    ]


def schedule_free(model, lr, steps, decay):
    return [AdamWScheduleFree(model.parameters(), lr=lr, warmup_steps=round(WARM_UP * steps), weight_decay=decay)]


def prodigy(model, lr, steps, decay):
    return [Prodigy(model.parameters(), lr=lr, safeguard_warmup=True, weight_decay=decay)]


METHODS = {
    "hedged": Method("Hedged", hedged()),
    **{name: Method(f"{name} alone", hedged(name)) for name in EXPERTS},
    "adamw": Method("AdamW", adamw),
    "schedule-free": Method("schedule-free AdamW", schedule_free, scheduled=False),
    "prodigy": Method("Prodigy", prodigy, rates=(1.0,)),
    "muon": Method("Muon + AdamW", muon),
    "sgd": Method("SGD", sgd(1)),
    "sgd10": Method("SGD, 10 lr", sgd(10)),
}
