"""What a step of `Hedged` does to one bucket; all tensors are flat, and numbers are floats or broadcast."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from .experts import Expert, View, is_whole

Tensor = torch.Tensor


def direction(expert: Expert, view: View) -> Tensor:
    """What an expert plays, from the state."""
    return view.kept[expert.keeps[0]] if is_whole(expert) else expert.direction(view)  # type: ignore[union-attr]


def products(
    experts: Sequence[Expert], s: Tensor, view: View, sums: Callable[[Tensor, Tensor], Tensor]
) -> list[tuple[Tensor, Tensor]]:
    """<s, d> and <m, d> of the direction d of each expert."""
    found = []
    for expert in experts:
        d = direction(expert, view)
        found.append((sums(s, d), sums(view.m, d)))
    return found


def track(s: Tensor, m: Tensor, v: Tensor | None, betas: tuple[float, float]) -> None:
    """Average the gradient and its square in."""
    b1, b2 = betas
    m.lerp_(s, 1 - b1)
    if v is not None:
        v.mul_(b2).addcmul_(s, s, value=1 - b2)


def move(x: Tensor, experts: Sequence[Expert], view: View, factors: Sequence[Any], shrink: Any) -> None:
    """x <- shrink x - sum of factor d over the experts."""
    x.mul_(shrink)
    for expert, factor in zip(experts, factors, strict=True):
        x.sub_(direction(expert, view) * factor)


@cache
def compiled() -> tuple[Callable[..., Any], ...]:
    """`products`, `track` and `move`, each compiled for all sizes at once."""
    return tuple(torch.compile(kernel, dynamic=True) for kernel in (products, track, move))
