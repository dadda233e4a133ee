"""Fused kernels: what a step of `Hedged` does to one bucket, in place.

Tensors are of shape (rows, entries) and numbers of shape (rows, 1), or flat and floats if there is one row; compiled
code sees lines of at most `o2nc.torch.stacks.LINE` entries in the place of rows, since it is slow at longer sums. The
elementwise directions with names have kernels, which are a second spelling of the formulas in `o2nc.directions`. All
others are computed before, and a kernel reads what was found.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch

from ..directions import Adam, Mask, Momentum, Sign
from ..directions.base import FLOOR, LENGTH

Tensor = torch.Tensor
FACTORS = ("one", "hat", "adam")  # of the arrays of kernels
NEVER = 10_000  # uses of what was computed: after fewer, compiled code would store it


class View(NamedTuple):
    """What a kernel sees of some tensors, or of a piece of one."""

    m: Tensor  # the tracker
    root: Any = None  # of the average squared gradient, where a direction needs it
    floor: Any = 0.0  # eps, in the units of the root
    kept: Mapping[str, Tensor] = {}  # masks, and directions that were computed before
    low: Any = FLOOR  # eps, in the units of the tracker


class Kernel(NamedTuple):
    """A direction on a bucket: an array times a number of each tensor, since many such arrays are there already.

    >>> MOMENTUM.of(View(torch.tensor([3.0, 4.0])))
    tensor([3., 4.])
    """

    array: Callable[[View, str, Any], Tensor]
    factor: str  # of the array, one of `FACTORS`: 1, that of m^, or adam's
    key: str = ""  # of the tensor that it reads besides the tracker

    @property
    def is_stored(self) -> bool:
        """Whether it reads a direction that was computed before."""
        return self.array is stored

    @property
    def is_computed(self) -> bool:
        """Whether the array must be computed."""
        return self.array not in (momentum, stored)

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


def sums(a: Tensor, b: Tensor, product: Any = None) -> Tensor:
    """<a, b> of each row; ``product`` is memory for the products.

    >>> sums(torch.arange(4.0).view(2, 2), torch.ones(2, 2))
    tensor([1., 5.])
    """
    if torch.compiler.is_compiling():  # is fused with what makes a and b
        return (a * b).sum(-1)
    return torch.dot(a, b) if a.ndim == 1 else torch.mul(a, b, out=product).sum(-1)


def judge(s: Tensor, traces: Sequence[Any], kernels: Sequence[Kernel], view: View, scratch: Any) -> list[Tensor]:
    """<s, e> for the traces; where there is None, it is the array of the kernel in the view of the last step."""
    free = next((a for a in scratch if a is not None), None)
    each = zip(traces, kernels, scratch, strict=True) if traces else ()
    return [sums(s, kernel.of(view, out) if e is None else e, free) for e, kernel, out in each]


def track(s: Tensor, view: View, rates: Sequence[Any]) -> None:
    """Average the gradient and its square in; ``rates`` are 1 - b1, the root of b2 and 1 - b2."""
    a, shrink, share = rates
    view.m.lerp_(s, a)
    if view.root is not None:
        view.root.mul_(shrink).square_().addcmul_(s, s, value=share).sqrt_()


def tracked(s: Tensor, view: View, rates: Sequence[Any]) -> View:
    """The view after `track`, which is not written; lerp would have a branch in every entry."""
    a, shrink, share = rates
    root = None if view.root is None else ((view.root * shrink).square() + s * s * share).sqrt()
    return view._replace(m=view.m + (s - view.m) * a, root=root)


def products(kernels: Sequence[Kernel], view: View, scratch: Any, product: Any) -> list[Tensor]:
    """<m, m>, and <d, d'> for the arrays of pairs of kernels; ``product`` is memory for the products."""
    ds = [kernel.of(view, out) for kernel, out in zip(kernels, scratch, strict=True)]
    pairs = [(d, other) for j, d in enumerate(ds) for other in ds[: j + 1]]
    size = sums(view.m, view.m, product)
    return [size, *(size if a is b is view.m else sums(a, b, product) for a, b in pairs)]


def look(
    kernels: Sequence[Kernel], rates: Any, s: Tensor, traces: Sequence[Any], view: View, known: Any, scratch: Any
) -> list[Tensor]:
    """What `judge` finds of the last step, before the trackers are updated, and `products` of this one after it.

    Compiled code only reads, and `move` updates the trackers: a kernel that did both would go over memory twice.
    """
    found = judge(s, traces, kernels, view._replace(floor=known[0], low=known[1]), scratch)
    view = view._replace(floor=known[2], low=known[3])
    if torch.compiler.is_compiling():
        view = tracked(s, view, rates)
    else:
        track(s, view, rates)
    return [*found, *products(kernels, view, scratch, s)]  # the gradient of several rows is a copy


def move(
    kernels: Sequence[Kernel], rates: Any, s: Any, x: Tensor, traces: Sequence[Any], view: View, known: Any,
    shares: Any, scratch: Any,
) -> None:  # fmt: skip
    """x <- shrink x - sum of share d over the kernels; and for each trace e <- gamma e + length d.

    ``known`` ends with gamma and shrink, and the second half of ``shares`` are the lengths.
    """
    view = view._replace(floor=known[2], low=known[3])
    if torch.compiler.is_compiling():
        after = tracked(s, view, rates)
        view.m.copy_(after.m)
        if view.root is not None:
            view.root.copy_(after.root)
        view = after
    gamma, shrink, K = known[4], known[5], len(shares) // 2
    if isinstance(shrink, Tensor) or shrink != 1:
        x.mul_(shrink)
    for j, (kernel, out) in enumerate(zip(kernels, scratch, strict=True)):
        d = kernel.of(view, out)
        add(x, d, shares[j], -1)
        if traces and traces[j] is not None:
            add(traces[j].mul_(gamma), d, shares[K + j], 1)


def add(x: Tensor, d: Tensor, share: Any, sign: int) -> None:
    """x <- x + sign share d; a tensor of shares rounds once, as a number does."""
    if isinstance(share, Tensor):
        x.addcmul_(d, share, value=sign)
    else:
        x.add_(d, alpha=sign * share)


def look_at(kernels: Sequence[Kernel], rates: Any, batch: Sequence[tuple[Any, ...]]) -> list[Tensor]:
    """`look` at several buckets that have the same kernels."""
    return [found for bucket in batch for found in look(kernels, rates, *bucket)]


def move_all(kernels: Sequence[Kernel], rates: Any, batch: Sequence[tuple[Any, ...]]) -> None:
    """`move` several buckets that have the same kernels."""
    for bucket in batch:
        move(kernels, rates, *bucket)


@cache
def compiled() -> tuple[Callable[..., Any], ...]:
    """`look_at` and `move_all`, each compiled for all sizes at once: loops over memory in which nothing is kept."""
    options: dict[str, Any] = {f"realize_{what}_threshold": NEVER for what in ("reads", "opcount", "acc_reads")}
    return tuple(torch.compile(kernel, dynamic=True, options=options) for kernel in (look_at, move_all))
