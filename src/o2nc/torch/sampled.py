"""What backward left in the gradients, and where: a sample that is changed before the step is noticed."""

import weakref
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch

from .shards import is_sharded


class Sample(NamedTuple):
    """The gradient of one parameter, when backward was done with it."""

    of: Any  # a weak reference to the tensor that holds it
    grad: torch.Tensor  # a copy of it
    at: torch.Tensor  # the point where it was taken
    elsewhere: torch.Tensor  # whether something that was added up in it was taken at another point, ()


class Samples:
    """The gradients of parameters as backward leaves them, until the step.

    A hook of each parameter copies its gradient and looks where it holds. Hooks go with this object. Where processes
    work together gradients are averaged, and parameters gathered, after the hooks, so that nothing is followed there.

    Args:
        params: the parameters.
        state: of the optimizer, with the point "x" of each parameter after the first round.

    Reference: none; the theorems are about unbiased samples at the points that the optimizer left.

    >>> p = torch.ones(2, requires_grad=True)
    >>> samples = Samples([p], {})
    >>> p.square().sum().backward()
    >>> samples.objection([p])
    ''
    >>> _ = torch.nn.utils.clip_grad_norm_([p], 0.1)
    >>> samples.objection([p])
    'were changed between backward and step'
    """

    def __init__(self, params: Iterable[torch.Tensor], state: Mapping[torch.Tensor, Mapping[str, Any]]):
        self.state = state
        self.taken: dict[torch.Tensor, Sample] = {}
        self.handles: dict[torch.Tensor, Any] = {}
        weakref.finalize(self, forget, self.handles)
        self.follow(params)

    def follow(self, params: Iterable[torch.Tensor]) -> None:
        """Hook the parameters that are not hooked yet and can be."""
        own = weakref.ref(self)

        def note(p: torch.Tensor) -> None:
            if (samples := own()) is not None:
                samples.note(p)

        for p in params:
            if p not in self.handles and p.requires_grad and not is_sharded(p):
                self.handles[p] = p.register_post_accumulate_grad_hook(note)  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def note(self, p: torch.Tensor) -> None:
        """Write down the gradient that backward has just made, or added to."""
        if p.grad is None or is_shared():
            return
        entry, before = self.state.get(p) or {}, self.taken.get(p)
        kept = entry["x"].to(p.dtype) if "x" in entry and int(entry["step"]) else None
        elsewhere = torch.zeros((), dtype=torch.bool, device=p.device) if kept is None else (p != kept).any()
        if before is not None and before.of() is p.grad:  # more is added to it
            elsewhere = elsewhere | before.elsewhere | (p != before.at).any()
        at = p.detach().clone() if kept is None else kept
        self.taken[p] = Sample(weakref.ref(p.grad), p.grad.detach().clone(), at, elsewhere)

    def clear(self) -> None:
        """Forget what was noted."""
        self.taken.clear()

    def objection(self, params: Iterable[torch.Tensor]) -> str:
        """What was done to the gradients since backward, in words; nothing if they and the parameters are the same."""
        pairs = [(p, self.taken[p]) for p in params if p in self.taken]
        if any(not _is_same(p.grad, sample.grad) for p, sample in pairs):
            return "were changed between backward and step"
        if any(bool(sample.elsewhere) or not torch.equal(p.detach(), sample.at) for p, sample in pairs):
            return "were taken at another point than that which the optimizer left"
        return ""


def forget(handles: dict[torch.Tensor, Any]) -> None:
    """Take the hooks away."""
    for handle in handles.values():
        handle.remove()


def is_shared() -> bool:
    """Whether several processes work together.

    >>> is_shared()
    False
    """
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _is_same(grad: torch.Tensor | None, before: torch.Tensor) -> bool:
    return not bool(before.any()) if grad is None else torch.equal(grad, before)
