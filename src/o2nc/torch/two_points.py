"""Parameters that hold one of two points."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .arguments import DTYPES
from .per_parameter import PerParameter
from .shards import anywhere, local

POINTS = {"training": "x", "output": "state.output"}  # what parameters can hold, and the key under which it is kept


class TwoPoints(PerParameter):
    """The two points of Algorithm 2 and its rivals: where samples are taken, and the output. Others have one.

    Reference: Algorithm 2, lines 6 and 12.
    """

    _own: tuple[str, ...] = ("conversion", "changed")

    def __init__(self, params: Any, conversion: Any, seed: int, changed: str, **options: Any):
        if changed not in ("raise", "accept"):
            raise ValueError(f"`changed` must be 'raise' or 'accept'; got {changed!r}.")
        self.changed = changed
        super().__init__(params, conversion, seed, **options)

    @property
    def held(self) -> str:
        """Which point the parameters hold, "training" or "output"."""
        return self._run["held"]

    def eval(self) -> None:
        """Let the parameters hold the output point, to be evaluated or exported."""
        self._swap("training", "output")

    def train(self) -> None:
        """Let the parameters hold the point where samples are taken."""
        self._swap("output", "training")

    @contextmanager
    def output(self) -> Iterator[None]:
        """A context in which the parameters hold the output point; after it they hold what they held before."""
        before = self.held
        self.eval()
        try:
            yield
        finally:
            if before == "training":
                self.train()

    @torch.no_grad()
    def _swap(self, old: str, new: str) -> None:
        if not self._has_output or self.held == new:
            return
        self._settle(old)
        if self.t:  # before the first round both are where the parameters are
            for p in self._params:
                p.copy_(self.state[p][POINTS[new]])
        self._set(held=new)

    def _settle(self, point: str) -> None:
        """Raise, or accept what the parameters hold, if it is not the point that the optimizer left there."""
        if self.t == 0 or self._holds(point):
            return
        if self.changed == "raise":
            other = next((f"the {name} point" for name in POINTS if self._holds(name)), "something else")
            raise RuntimeError(
                f"The parameters must hold the {point} point of round {self.t}, which this optimizer left there; they "
                f"hold {other}. They were changed from outside, or model and optimizer are from different checkpoints. "
                "Load both from one, or give `changed='accept'` to go on from what the parameters hold."
            )
        for p in self._params:
            self.state[p] = {**self.state[p], POINTS[point]: p.detach().to(self._dtype, copy=True)}
        self._set(void=f"the parameters were changed from outside after round {self.t}")

    def _holds(self, point: str) -> bool:
        entries = [(p, self.state[p]) for p in self._params]
        if point == "output" and POINTS[point] not in entries[0][1]:
            return False
        differs = any(
            not is_rounding(local(p), local(entry[POINTS[point]])) for p, entry in entries if POINTS[point] in entry
        )
        return not anywhere(differs, self._params)


def is_rounding(p: torch.Tensor, x: torch.Tensor) -> bool:
    """Whether ``p`` is ``x``, rounded to its dtype, or first to that of a model from which it was loaded.

    >>> x = torch.tensor([0.1], dtype=torch.float64)
    >>> is_rounding(x.to(torch.bfloat16), x), is_rounding(x.to(torch.float16).to(torch.float32), x)
    (True, True)
    >>> is_rounding(x + 1e-16, x)
    False
    """
    return any(torch.equal(p, x.to(dtype).to(p.dtype)) for dtype in (p.dtype, *DTYPES))
