"""The optimizers whose steps are timed."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import examples  # noqa: F401
import torch
from language.muon import Muon

from o2nc.directions.matrices import is_table
from o2nc.torch import Hedged

try:
    from pytorch_optimizer import SOAP
except ImportError:
    SOAP = None

LR = 1e-3
PERIOD = 10  # steps after which `SOAP` refreshes its bases, and those of "soap" were refreshed in turns
PAIR = ("momentum", "adam")
PLAIN: dict[str, Any] = {"scale": "fixed", "sight": None}  # without traces, and at the learning rate that was given
FOREACH, FUSED, MUON = "AdamW foreach", "AdamW fused", "Muon float32 + AdamW"


class Method(NamedTuple):
    """An optimizer; one of matrices may be slow on large ones, and one with a period is timed over all of it."""

    make: Callable[[Any], Any]
    is_of_matrices: bool = False
    period: int = 1


class WithAdamW:
    """An optimizer for what `Hedged` takes as matrices, and AdamW for the rest; filters of convolutions are rows."""

    def __init__(self, optimizer: Any, params: list[torch.Tensor]):
        matrices = [p for p in params if p.ndim >= 2 and not is_table(p.shape)]
        others = [p for p in params if p.ndim < 2 or is_table(p.shape)]
        self.parts = [optimizer([as_matrix(p) for p in matrices], lr=LR)] if matrices else []
        self.parts += [torch.optim.AdamW(others, lr=LR, foreach=True)] if others else []

    def step(self) -> None:
        for part in self.parts:
            part.step()


def as_matrix(p: torch.Tensor) -> torch.Tensor:
    """A view of a parameter with two axes, and of its gradient."""
    if p.ndim == 2:
        return p
    view = p.detach().flatten(1).requires_grad_()
    view.grad = None if p.grad is None else p.grad.flatten(1)
    return view


def hedged(*experts: str, **options: Any) -> Callable[[Any], Hedged]:
    """`Hedged` with equal weights for ever (c = 0), as it is in the first steps: no expert sleeps."""
    return lambda params: Hedged(params, experts=experts, c=0.0, **options)


METHODS = {
    FOREACH: Method(lambda params: torch.optim.AdamW(params, lr=LR, foreach=True)),
    FUSED: Method(lambda params: torch.optim.AdamW(params, lr=LR, fused=True)),
    "Hedged momentum+adam": Method(hedged(*PAIR)),
    "Hedged momentum+adam plain": Method(hedged(*PAIR, **PLAIN)),
    "Hedged momentum+adam compiled": Method(hedged(*PAIR, compile=True)),
    "Hedged momentum+adam plain compiled": Method(hedged(*PAIR, **PLAIN, compile=True)),
    MUON: Method(partial(WithAdamW, Muon), True),
    "Hedged muon": Method(hedged("muon"), True),
    "Hedged muon+adam": Method(hedged("muon", "adam"), True),
    "SOAP + AdamW": Method(partial(WithAdamW, SOAP), True, PERIOD),
    "Hedged soap": Method(hedged("soap"), True, PERIOD),
    "Hedged muon+soap": Method(hedged("muon", "soap"), True, PERIOD),
}
if SOAP is None:
    del METHODS["SOAP + AdamW"]
