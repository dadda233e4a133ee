"""Fused kernels: what a step of `Hedged` does to one bucket, in place.

All tensors are flat, and numbers are floats or broadcast. The elementwise directions with names have kernels, which are
a second spelling of the formulas in `o2nc.directions`. All others are computed by their pure functions, tensor by
tensor, and a kernel reads what was found.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from ..directions import Adam, Direction, Mask, Momentum, Sign
from ..directions.base import FLOOR, LENGTH

Tensor = torch.Tensor


class View(NamedTuple):
    """What a kernel sees of one or more tensors: flat, and any piece of them."""

    m: Tensor  # the tracker
    root: Any = None  # of the average squared gradient, where a direction needs it
    floor: Any = 0.0  # eps, in the units of the root
    kept: Mapping[str, Tensor] = {}  # masks, and directions that were computed tensor by tensor
    scratch: Any = None  # memory for results, so that none is asked of the system; None in compiled code
    low: Any = FLOOR  # eps, in the units of the tracker


class Kernel(NamedTuple):
    """A direction on a bucket: an array times a number of each tensor, since many such arrays are there already.

    >>> MOMENTUM.of(View(torch.tensor([3.0, 4.0])))
    tensor([3., 4.])
    """

    array: Callable[[View, str], Tensor]
    factor: str  # of the array: "one", "u" (u = f m^) or "adam"
    key: str = ""  # of the tensor of the state that it reads besides the tracker

    @property
    def is_stored(self) -> bool:
        """Whether it reads a direction that was computed tensor by tensor."""
        return self.array is stored

    def of(self, view: View) -> Tensor:
        """The array."""
        return self.array(view, self.key)


def momentum(view: View, key: str) -> Tensor:
    """m."""
    return view.m


def adam(view: View, key: str) -> Tensor:
    """m / (root + floor)."""
    return torch.div(view.m, torch.add(view.root, view.floor, out=view.scratch), out=view.scratch)


def sign(view: View, key: str) -> Tensor:
    """0.2 sign(m), less where m is below the floor."""
    part = torch.div(view.m, view.low, out=view.scratch)
    return torch.mul(torch.clamp(part, -1, 1, out=view.scratch), LENGTH, out=view.scratch)


def mask(view: View, key: str) -> Tensor:
    """m times the mask."""
    return torch.mul(view.m, view.kept[key], out=view.scratch)


def stored(view: View, key: str) -> Tensor:
    """A direction that was computed already."""
    return view.kept[key]


MOMENTUM, ADAM, SIGN = Kernel(momentum, "u"), Kernel(adam, "adam", "root"), Kernel(sign, "one")


def kernel_of(name: str, direction: Direction, is_named: bool) -> Kernel:
    """The kernel of the expert ``name`` on tensors for which it is ``direction``.

    The kernels of Adam and of the sign have the betas and eps of the group: they serve if the expert was given by name.

    >>> kernel_of("adam", Adam(), True) is ADAM, kernel_of("adam", Adam(), False).key
    (True, 'd.adam')
    """
    if type(direction) is Mask:
        return Kernel(mask, "u", f"mask.{name}")
    fused: dict[type, Kernel] = {Momentum: MOMENTUM, **({Adam: ADAM, Sign: SIGN} if is_named else {})}
    return fused.get(type(direction), Kernel(stored, "one", f"d.{name}"))


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


def judge(kernels: Sequence[Kernel], s: Tensor, view: View, owner: Tensor | None, rows: int) -> list[Tensor]:
    """<s, s> and <m, m>, and <s, d> and <m, d> for the array d of each kernel."""
    found = [sums(s, s, owner, rows), sums(view.m, view.m, owner, rows)]
    for kernel in kernels:
        d = kernel.of(view)
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


def move(x: Tensor, kernels: Sequence[Kernel], view: View, shares: Sequence[Any], shrink: Any) -> None:
    """x <- shrink x - sum of share d over the kernels."""
    if isinstance(shrink, Tensor) or shrink != 1:
        x.mul_(shrink)
    for kernel, share in zip(kernels, shares, strict=True):
        d = kernel.of(view)
        if isinstance(share, Tensor):
            x.addcmul_(d, share, value=-1)  # rounds once, as the other does
        else:
            x.sub_(d, alpha=share)


@cache
def compiled() -> tuple[Callable[..., Any], ...]:
    """`judge`, `track` and `move`, each compiled for all sizes at once."""
    return tuple(torch.compile(kernel, dynamic=True) for kernel in (judge, track, move))
