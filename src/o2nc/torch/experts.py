r"""Experts: the directions that `Hedged` weighs.

An expert is either elementwise, computed from the state wherever it is needed, entry by entry, or whole: computed once
a step from a whole tensor, and kept until the next gradient has judged it.

All see the tracker, as $\hat m$, without the weight of its zero start, or as $u=f\hat m$, with the factor f of its
tensor at which it would have promised, to first order, what Adam's direction did in the last step. In the first step,
and where Adam is not among the experts, $f=1/\sqrt{\hat q}$, $\hat q$ the average of $s^2$ over tensor and past.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch

from ..operators import newton_schulz
from ..promises import LENGTH, at_length
from .arguments import width
from .shards import laid_out

Tensor = torch.Tensor


class View(NamedTuple):
    """What an expert sees of one or more tensors: flat, and any piece of them.

    Its direction is an array times a number of each tensor, since many such arrays are there already.
    """

    m: Tensor  # the tracker
    root: Any = None  # of the average squared gradient, where an expert needs it
    floor: Any = 0.0  # eps, in the units of the root
    kept: Mapping[str, Tensor] = {}  # masks, and the directions of whole experts
    scratch: Any = None  # memory for results, so that none is asked of the system; None in compiled code


@dataclass(frozen=True)
class Momentum:
    r"""The tracker itself: $d=u=f\hat m$.

    Reference: Polyak (1964).

    >>> Momentum().array(View(torch.tensor([3.0, 4.0])))
    tensor([3., 4.])
    """

    name: ClassVar[str] = "momentum"
    keeps: ClassVar[tuple[str, ...]] = ()
    factor: ClassVar[str] = "u"

    def array(self, view: View) -> Tensor:
        """u without its factor."""
        return view.m


@dataclass(frozen=True)
class Adam:
    r"""Adam's direction $d=\hat m/(\sqrt{\hat v}+\epsilon)$.

    Alone, with decoupled weight decay, it is AdamW.

    Reference: Kingma and Ba (2015); Loshchilov and Hutter (2019).

    >>> Adam().array(View(torch.tensor([3.0, 4.0]), root=torch.tensor([3.0, 2.0])))
    tensor([1., 2.])
    """

    name: ClassVar[str] = "adam"
    keeps: ClassVar[tuple[str, ...]] = ("root",)
    factor: ClassVar[str] = "adam"

    def array(self, view: View) -> Tensor:
        """m^ / (sqrt(v^) + eps) without its factor."""
        return torch.div(view.m, torch.add(view.root, view.floor, out=view.scratch), out=view.scratch)


@dataclass(frozen=True, eq=False)
class Mask:
    """The tracker on a part of the coordinates: $d=u$ times a mask.

    Args:
        mask: a dict from parameters to factors in [0, 1], in their shapes, or a function from a parameter to
            its factors, or to None. A parameter without factors is not masked.
        name: its own among the experts.

    Reference: the projectors of the paper's numerical section.

    >>> p = torch.zeros(2)
    >>> Mask({p: torch.tensor([True, False])}).factors(p)
    tensor([1., 0.])
    """

    mask: Mapping[Tensor, Tensor] | Callable[[Tensor], Tensor | None]
    name: str = "mask"
    factor: ClassVar[str] = "u"

    @property
    def keeps(self) -> tuple[str, ...]:
        """The key of its factors."""
        return (f"mask.{self.name}",)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"`Mask(name=...)` must be a string; got {self.name!r}.")
        if not isinstance(self.mask, Mapping) and not callable(self.mask):
            raise TypeError(f"`Mask(mask=...)` must be a dict or a function of a parameter; got {self.mask!r}.")
        if isinstance(self.mask, Mapping) and not all(isinstance(p, Tensor) for p in self.mask):
            other = next(p for p in self.mask if not isinstance(p, Tensor))
            raise TypeError(f"`Mask(mask=...)` must be a dict from parameters; got the key {other!r}.")

    def factors(self, p: Tensor) -> Tensor:
        """The mask of a parameter, in its parts if it is in parts."""
        factors = self.mask.get(p) if isinstance(self.mask, Mapping) else self.mask(p)
        if factors is None:
            return torch.ones_like(p, dtype=width(p), memory_format=torch.contiguous_format)
        if not isinstance(factors, Tensor) or factors.shape != p.shape:
            got = tuple(factors.shape) if isinstance(factors, Tensor) else repr(factors)
            raise ValueError(f"`Mask(mask=...)` must have the shape of its parameter, {tuple(p.shape)}; got {got}.")
        if not bool(((factors >= 0) & (factors <= 1)).all()):
            raise ValueError("`Mask(mask=...)` must have factors in [0, 1].")
        factors = laid_out(factors.detach().to(p.device), p).to(width(p))
        return factors.clone(memory_format=torch.contiguous_format)

    def array(self, view: View) -> Tensor:
        """u times the mask, without its factor."""
        return torch.mul(view.m, view.kept[self.keeps[0]], out=view.scratch)


@dataclass(frozen=True)
class Sign:
    r"""The sign of the tracker, $d=0.2\,\mathrm{sign}(m)$.

    Reference: Bernstein et al. (2018); with momentum it is close to Lion, Chen et al. (2023).

    >>> Sign().array(View(torch.tensor([3.0, -4.0, 0.0])))
    tensor([ 0.2000, -0.2000,  0.0000])
    """

    name: ClassVar[str] = "sign"
    keeps: ClassVar[tuple[str, ...]] = ()
    factor: ClassVar[str] = "one"

    def array(self, view: View) -> Tensor:
        """0.2 sign(m)."""
        return torch.mul(torch.sign(view.m, out=view.scratch), LENGTH, out=view.scratch)


class Whole:
    """An expert that is computed once a step on whole tensors; its state is its last direction."""

    name: ClassVar[str]
    factor: ClassVar[str] = "one"

    @property
    def keeps(self) -> tuple[str, ...]:
        """The key of its last direction."""
        return (f"d.{self.name}",)

    def array(self, view: View) -> Tensor:
        """The last direction."""
        return view.kept[self.keeps[0]]

    def whole(self, u: Tensor) -> Tensor:
        """The direction."""
        raise NotImplementedError


@dataclass(frozen=True)
class Polar(Whole):
    r"""Muon's direction: the polar factor of the tracker as a matrix, at a root mean square of 0.2, about that of Adam.

    A tensor with more than two axes is the matrix (first axis, all others). Where a matrix makes no sense, for scalars,
    vectors and groups with ``matrices=False`` (embeddings), it takes the direction of `Adam`.

    Args:
        steps: of Newton and Schulz.

    Reference: Jordan et al. (2024); the length is that of Liu et al. (2025).

    >>> Polar().whole(torch.tensor([[4.0, 0.0], [0.0, -1.0]])).round(decimals=1)
    tensor([[ 0.3000,  0.0000],
            [ 0.0000, -0.3000]])
    """

    steps: int = 5
    name: ClassVar[str] = "polar"

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise ValueError(f"`Polar(steps=...)` must be a whole number of at least 1; got {self.steps!r}.")

    def whole(self, u: Tensor) -> Tensor:
        """polar(u) at its length."""
        return at_length(newton_schulz(u.flatten(1), self.steps).view_as(u))


@dataclass(frozen=True, eq=False)
class Function(Whole):
    """Any function of the tracker: $d=f(u)$, for each tensor.

    Args:
        function: from u to a direction of its shape. What it returns is played as it is; to move as far as the
            other experts do, it should be about as long as u.

    Reference: none; for your own ideas.

    >>> Function(torch.tanh).whole(torch.tensor([0.0])), Function(torch.tanh).name
    (tensor([0.]), 'tanh')
    """

    function: Callable[[Tensor], Tensor]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def whole(self, u: Tensor) -> Tensor:
        """f(u)."""
        d = self.function(u.clone())  # which it may change
        if not isinstance(d, Tensor) or d.shape != u.shape:
            got = f"shape {tuple(d.shape)}" if isinstance(d, Tensor) else repr(d)
            raise ValueError(f"The expert {self.name!r} must return a tensor in the shape {tuple(u.shape)}; got {got}.")
        if not bool(d.isfinite().all()) and bool(u.any()):
            raise ValueError(f"The expert {self.name!r} must return numbers that are finite; some are not.")
        return d


Expert = Momentum | Adam | Mask | Polar | Sign | Function
NAMED: dict[str, Expert] = {expert.name: expert for expert in (Momentum(), Adam(), Polar(), Sign())}


def check_experts(experts: Any) -> tuple[Expert, ...]:
    """The experts that are meant by names, objects and functions; raise unless each is one, and there once."""
    if isinstance(experts, str) or not isinstance(experts, (tuple, list)) or not experts:
        raise ValueError(f"`experts` must be a tuple of at least one expert; got {experts!r}.")
    found = tuple(_expert(expert) for expert in experts)
    names = [expert.name for expert in found]
    if len(set(names)) < len(names):
        raise ValueError(f"`experts` must have different names; got {names}.")
    return found


def _expert(expert: Any) -> Expert:
    if isinstance(expert, str):
        if expert not in NAMED:
            raise ValueError(f"`experts` must be among {sorted(NAMED)}, objects or functions; got {expert!r}.")
        return NAMED[expert]
    if isinstance(expert, Expert):
        return expert
    if isinstance(expert, type) or not callable(expert):
        raise TypeError(
            f"`experts` must be names, objects of `o2nc.torch` or functions of the tracker; got {expert!r}."
        )
    return Function(expert)
