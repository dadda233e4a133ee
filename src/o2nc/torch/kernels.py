"""What a step of `Hedged` does to one bucket; all tensors are flat, and numbers are floats or broadcast."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from .experts import Expert, View

Tensor = torch.Tensor


def sums(a: Tensor, b: Tensor, owner: Tensor | None, rows: int) -> Tensor:
    """<a, b> on each tensor of a bucket, of shape (rows,).

    >>> sums(torch.arange(4.0), torch.ones(4), torch.tensor([0, 0, 1, 1]), 2)
    tensor([1., 5.])
    """
    if owner is not None:
        return torch.zeros(rows, dtype=a.dtype, device=a.device).index_add_(0, owner, a * b)
    if torch.compiler.is_compiling():
        return (a * b).sum().reshape(1)  # is fused with what makes a and b
    return torch.dot(a, b).reshape(1)


def judge(experts: Sequence[Expert], s: Tensor, view: View, owner: Tensor | None, rows: int) -> list[Tensor]:
    """<s, s> and <m, m>, and <s, d> and <m, d> for the array d of each expert."""
    found = [sums(s, s, owner, rows), sums(view.m, view.m, owner, rows)]
    for expert in experts:
        d = expert.array(view)
        found += [sums(s, d, owner, rows), sums(view.m, d, owner, rows)]
    return found


def track(s: Tensor, m: Tensor, root: Tensor | None, rates: Sequence[Any]) -> None:
    """Average the gradient and its square in; ``rates`` are 1 - b1, the root of b2 and 1 - b2."""
    a, shrink, share = rates
    m.lerp_(s, a)
    if root is None:
        return
    root.mul_(shrink).square_()
    if isinstance(share, Tensor):
        root.add_(s * s * share).sqrt_()
    else:
        root.addcmul_(s, s, value=share).sqrt_()


def move(x: Tensor, experts: Sequence[Expert], view: View, shares: Sequence[Any], shrink: Any) -> None:
    """x <- shrink x - sum of share d over the experts."""
    if isinstance(shrink, Tensor) or shrink != 1:
        x.mul_(shrink)
    for expert, share in zip(experts, shares, strict=True):
        d = expert.array(view)
        if isinstance(share, Tensor):
            x.addcmul_(d, share, value=-1)  # rounds once, as the other does
        else:
            x.sub_(d, alpha=share)


@cache
def compiled() -> tuple[Callable[..., Any], ...]:
    """`judge`, `track` and `move`, each compiled for all sizes at once."""
    return tuple(torch.compile(kernel, dynamic=True) for kernel in (judge, track, move))
