"""Which point the parameters hold: the one where samples are taken, or the output."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..vectors import Blocks
from . import parameter_groups as groups
from .optimizer import Optimizer
from .shards import anywhere, local


class Holder(Optimizer):
    """An optimizer that knows which point it has left in the parameters, and sees when they were changed.

    A point that is kept is the item "x" of the state of a parameter.

    Reference: Algorithm 2, whose output is another point than that of its samples.
    """

    changed: str

    @property
    def t(self) -> int:
        """The number of rounds so far."""
        return next((int(entry["step"]) for entry in self.state.values() if entry), 0)

    @property
    def _params(self) -> list[torch.Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def _run(self) -> dict[str, Any]:
        """What is known of the run: the item "run" of every group, since checkpoints keep groups."""
        return self.param_groups[0]["run"] if self.param_groups else self.defaults["run"]

    def _set(self, *, void: str = "", **changes: str) -> None:
        run = {**self._run, "void": self._run["void"] or void, **changes}  # a new dict: a `state_dict` is a snapshot
        for group in self.param_groups:
            group["run"] = run

    @property
    def _dtype(self) -> torch.dtype:
        return functools.reduce(torch.promote_types, (p.dtype for p in self._params), torch.float32)

    @property
    def _has_output(self) -> bool:
        """Whether the output is another point than that of the samples."""
        raise NotImplementedError

    def _point(self) -> Blocks:
        """The training point: what is kept of it, else a copy of the parameters."""
        raise NotImplementedError

    def _output(self) -> Blocks:
        """The output point."""
        raise NotImplementedError

    @property
    def held(self) -> str:
        """Which point the parameters hold, "training" or "output"."""
        return self._run["held"]

    def eval(self) -> None:
        """Let the parameters hold the output point, to be evaluated or exported."""
        self._hold("output")

    def train(self) -> None:
        """Let the parameters hold the point where samples are taken."""
        self._hold("training")

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
    def _hold(self, point: str) -> None:
        if not self._has_output or self.held == point:
            return
        self._check_held(self.held)
        if self.t:  # before the first round both are where the parameters are
            self._write(self._output() if point == "output" else self._point())
        self._set(held=point)

    def _write(self, point: Blocks) -> None:
        """Let the parameters hold a point; if that fails, those that they held."""
        before = [p.detach().clone() for p in self._params]
        try:
            for p, a in zip(self._params, point.arrays, strict=True):
                p.copy_(a)
        except BaseException:
            for p, a in zip(self._params, before, strict=True):
                p.copy_(a)
            raise

    def _check_held(self, point: str) -> None:
        """Raise, or accept what the parameters hold, if it is not the point that the optimizer left there."""
        if self.t == 0 or self._holds(point):
            return
        if self.changed == "raise":
            other = next((f"the {at} point" for at in ("training", "output") if self._holds(at)), "something else")
            raise RuntimeError(
                f"The parameters must hold the {point} point of round {self.t}, which this optimizer left there; they "
                f"hold {other}. They were changed from outside, or model and optimizer are from different checkpoints. "
                "Load both from one, or give `changed='accept'` to go on from what the parameters hold."
            )
        if point == "training":
            for p in self._params:
                self.state[p] = {**self.state[p], "x": p.detach().to(self._dtype, copy=True)}
        self._set(void=f"the parameters were changed from outside after round {self.t}")

    def _holds(self, point: str) -> bool:
        if point == "output" and not self._has_output:
            return False
        kept = self._output().arrays if point == "output" else [self.state[p].get("x") for p in self._params]
        pairs = [(local(p), local(x)) for p, x in zip(self._params, kept, strict=True) if x is not None]
        return not anywhere(any(not groups.is_rounding(p, x) for p, x in pairs), self._params)
