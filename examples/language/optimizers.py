"""The optimizers that can be chosen, each made of a model, a learning rate and a weight decay."""

import torch
from torch import nn

from o2nc.torch import Hedged, groups

from .muon import Muon

BETAS = (0.9, 0.95)
Optimizers = list[torch.optim.Optimizer]  # several, for different parameters


def hedged(model: nn.Module, lr: float, weight_decay: float) -> Optimizers:
    return [Hedged(groups(model, weight_decay=weight_decay), lr=lr, scale="fixed")]


def light(model: nn.Module, lr: float, weight_decay: float) -> Optimizers:
    """Without the bases of SOAP, which take memory, and turn by the rounding of another number of processes."""
    return [Hedged(groups(model, weight_decay=weight_decay), lr=lr, experts=("muon", "adam"), scale="fixed")]


def adamw(model: nn.Module, lr: float, weight_decay: float) -> Optimizers:
    return [torch.optim.AdamW(groups(model, weight_decay=weight_decay), lr=lr, betas=BETAS)]


def muon(model: nn.Module, lr: float, weight_decay: float) -> Optimizers:
    """Muon for the matrices, and AdamW for the table of tokens and the norms."""
    found = groups(model, weight_decay=weight_decay)
    matrices, rest = ([group for group in found if group["matrices"] is yes] for yes in (True, False))
    return [Muon(matrices, lr=lr), torch.optim.AdamW(rest, lr=lr, betas=BETAS)]


OPTIMIZERS = {"hedged": hedged, "hedged-light": light, "adamw": adamw, "muon": muon}
