"""DoG with the average that its authors ask for."""

import torch
from dog import DoG, PolynomialDecayAverager
from torch import nn


class AveragedDoG(DoG):
    """DoG; between ``eval()`` and ``train()`` the model holds the average of its iterates, with their default weights.

    DoG has one step size a group. So all parameters are in one, and weight decay, which is added to the gradient, is
    for all.

    Reference: Ivgi, Hinder and Carmon (2023), DoG is SGD's Best Friend.
    """

    def __init__(self, model: nn.Module, **options) -> None:
        super().__init__(model.parameters(), **options)
        self.averager = PolynomialDecayAverager(model)
        self.shown = False

    def step(self, closure=None):
        loss = super().step(closure)
        self.averager.step()
        return loss

    def eval(self) -> None:
        self._show(True)

    def train(self) -> None:
        self._show(False)

    @torch.no_grad()
    def _show(self, average: bool) -> None:
        if average != self.shown:
            pairs = (self.averager.base_model.parameters(), self.averager.averaged_model.parameters())
            for p, q in zip(*pairs, strict=True):
                before = p.clone()
                p.copy_(q)
                q.copy_(before)
            self.shown = average
