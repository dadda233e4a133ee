"""Fused kernels: what a step of `Hedged` does to one bucket, in place.

All tensors are flat, and numbers are floats or broadcast. The elementwise directions with names have kernels, which are
a second spelling of the formulas in `o2nc.directions`. All others are computed by their pure functions, tensor by
tensor, and a kernel reads what was found.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from ..directions import Adam, Mask, Momentum, Sign
from ..directions.base import FLOOR, LENGTH

Tensor = torch.Tensor


class View(NamedTuple):
    """What a kernel sees of one or more tensors: flat, and any piece of them."""

    m: Tensor  # the tracker
    root: Any = None  # of the average squared gradient, where a direction needs it
    floor: Any = 0.0  # eps, in the units of the root
    kept: Mapping[str, Tensor] = {}  # masks, and directions that were computed tensor by tensor
    low: Any = FLOOR  # eps, in the units of the tracker


class Kernel(NamedTuple):
    """A direction on a bucket: an array times a number of each tensor, since many such arrays are there already.

    >>> MOMENTUM.of(View(torch.tensor([3.0, 4.0])))
    tensor([3., 4.])
    """

    array: Callable[[View, str, Any], Tensor]
    factor: str  # of the array: "one", "hat" (that of m^) or "adam"
    key: str = ""  # of the tensor that it reads besides the tracker

    @property
    def is_stored(self) -> bool:
        """Whether it reads a direction that was computed tensor by tensor."""
        return self.array is stored

    def of(self, view: View, out: Any = None) -> Tensor:
        """The array; in ``out`` if it must be computed, so that no memory is asked of the system."""
        return self.array(view, self.key, out)


def momentum(view: View, key: str, out: Any) -> Tensor:
    """m."""
    return view.m


def adam(view: View, key: str, out: Any) -> Tensor:
    """m / (root + floor)."""
    return torch.div(view.m, torch.add(view.root, view.floor, out=out), out=out)


def sign(view: View, key: str, out: Any) -> Tensor:
    """0.2 sign(m), less where m is below the floor."""
    return torch.mul(torch.clamp(torch.div(view.m, view.low, out=out), -1, 1, out=out), LENGTH, out=out)


def mask(view: View, key: str, out: Any) -> Tensor:
    """m times the mask."""
    return torch.mul(view.m, view.kept[key], out=out)


def stored(view: View, key: str, out: Any) -> Tensor:
    """A direction that was computed already."""
    return view.kept[key]


MOMENTUM, ADAM, SIGN = Kernel(momentum, "hat"), Kernel(adam, "adam", "root"), Kernel(sign, "one")


def kernel_of(name: str, direction: Any, is_named: bool) -> Kernel:
    """The kernel of the expert ``name`` on tensors for which it is ``direction``.

    The kernels of Adam and of the sign have the betas and eps of the group: they serve if the expert was given by name.

    >>> kernel_of("adam", Adam(), True) is ADAM, kernel_of("adam", Adam(), False).key
    (True, 'd.adam')
    """
    if type(direction) is Mask:
        return Kernel(mask, "hat", f"mask.{name}")
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


def judge(s: Tensor, traces: Sequence[Tensor], owner: Tensor | None, rows: int) -> list[Tensor]:
    """<s, s>, and <s, e> for each of the traces."""
    return [sums(s, a, owner, rows) for a in (s, *traces)]


def measure(kernels: Sequence[Kernel], view: View, owner: Tensor | None, rows: int, scratch: Any) -> list[Tensor]:
    """<m, m>, and <d, d'> for the arrays of all pairs of kernels, each with itself and those before."""
    ds = [kernel.of(view, out) for kernel, out in zip(kernels, scratch, strict=True)]
    pairs = [(d, other) for j, d in enumerate(ds) for other in ds[: j + 1]]
    return [sums(a, b, owner, rows) for a, b in ((view.m, view.m), *pairs)]


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


def move(
    x: Tensor, kernels: Sequence[Kernel], view: View, shares: Sequence[Any], shrink: Any, traces: Sequence[Tensor],
    lengths: Sequence[Any], gamma: Any, scratch: Any,
) -> None:  # fmt: skip
    """x <- shrink x - sum of share d over the kernels; and for each trace e <- gamma e + length d."""
    if isinstance(shrink, Tensor) or shrink != 1:
        x.mul_(shrink)
    for j, (kernel, share, out) in enumerate(zip(kernels, shares, scratch, strict=True)):
        d = kernel.of(view, out)
        add(x, d, share, -1)
        if traces:
            add(traces[j].mul_(gamma), d, lengths[j], 1)


def add(x: Tensor, d: Tensor, share: Any, sign: int) -> None:
    """x <- x + sign share d; a tensor of shares rounds once, as a number does."""
    if isinstance(share, Tensor):
        x.addcmul_(d, share, value=sign)
    else:
        x.add_(d, alpha=sign * share)


@cache
def compiled() -> tuple[Callable[..., Any], ...]:
    """`judge`, `track`, `measure` and `move`, each compiled for all sizes at once."""
    return tuple(torch.compile(kernel, dynamic=True) for kernel in (judge, track, measure, move))
