"""What `Hedged` and `Converted` share: a step with a closure, steps that are left out, and a state that is loaded."""

import warnings
from collections.abc import Callable
from typing import Any

import torch

from .checkpoint import Entry, check_counts, check_form
from .parameter_groups import check_choice, listed
from .shards import local, totals

REPEATED = 5  # steps that are left out one after the other, of which a warning tells


def check_skipped(group: dict[str, Any]) -> None:
    """Raise unless the count of skipped steps in a group of a checkpoint is one.

    >>> check_skipped({"skipped": -1})
    Traceback (most recent call last):
        ...
    ValueError: `skipped` of a checkpoint must be a whole number, at least 0; got -1.
    """
    skipped = group.get("skipped", 0)
    if isinstance(skipped, bool) or not isinstance(skipped, int) or skipped < 0:
        raise ValueError(f"`skipped` of a checkpoint must be a whole number, at least 0; got {skipped!r}.")


class Optimizer(torch.optim.Optimizer):
    """What `Hedged` and `Converted` share.

    A step that is left out is counted as "skipped" in every group, since checkpoints keep groups.

    Args:
        params: parameters, named parameters, or groups.
        defaults: the options of a group that has none of its own.
        nonfinite: "raise" an error if what a step needs is not finite, or "skip" the step.

    Reference: none.
    """

    _own: tuple[str, ...] = ("nonfinite",)  # attributes that are copied and pickled
    _in_a_row = 0  # steps that were left out since one was made

    def __init__(self, params: Any, defaults: dict[str, Any], nonfinite: str):
        check_choice("nonfinite", nonfinite, ("raise", "skip"))
        self.nonfinite = nonfinite
        is_alone = isinstance(params, torch.Tensor)  # torch refuses it
        super().__init__(params if is_alone else listed(params), {**defaults, "skipped": 0})
        if not any(group["params"] for group in self.param_groups):
            raise ValueError("`params` must hold at least one parameter; got none.")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters. One that is in the group twice is there once, after the warning of torch."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        firsts = sorted({id(p): k for k, p in reversed(list(enumerate(group["params"])))}.values())
        group.update({key: [group[key][k] for k in firsts] for key in ("params", "param_names") if key in group})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step with the gradients of the parameters; returns the loss of ``closure``, if there is one."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        before = self.skipped
        self._step()
        if self.skipped == before:
            self._in_a_row = 0
        return loss

    @property
    def skipped(self) -> int:
        """The steps that were left out so far, since what they need was not finite."""
        return max((int(group.get("skipped", 0)) for group in self.param_groups), default=0)

    def _step(self) -> None:
        raise NotImplementedError

    def _read(self, saved: dict[str, Any]) -> list[Entry]:
        """The state in a ``state_dict``: one entry a parameter, empty where there is none."""
        raise NotImplementedError

    def _check_groups(self, groups: list[dict[str, Any]]) -> None:
        """Raise unless the groups in a ``state_dict`` have the options of this class, and legal ones."""
        raise NotImplementedError

    def refuse(self, objection: str, t: int) -> None:
        """Raise, or count step t, which is left out; warn if that repeats, or cannot end as a parameter is the cause.

        Args:
            objection: a sentence about what is not finite.
            t: the step that cannot be made.
        """
        params = [p for group in self.param_groups for p in group["params"]]
        if shape := nonfinite_shape(params):
            objection = f"Parameters must be finite; a parameter of shape {shape} is not finite before step {t}."
        if self.nonfinite == "raise":
            hint = "" if shape else f" `{type(self).__name__}(nonfinite='skip')` leaves such steps out."
            raise ValueError(f"{objection} Nothing was changed.{hint}")
        skipped = self.skipped + 1
        for group in self.param_groups:
            group["skipped"] = skipped
        self._in_a_row += 1
        if self._in_a_row == (1 if shape else REPEATED):
            many = f"The last {REPEATED} steps were left out" if self._in_a_row > 1 else "A step was left out"
            warnings.warn(f"{many}, {skipped} in all. {objection}", RuntimeWarning, stacklevel=3)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what ``state_dict()`` returned, into another dtype or device too; the configuration must be the same.

        Torch would cast all of it, counters too, to the dtype of the parameter. What is raised is raised before
        anything is changed.
        """
        entries: list[Entry] = []
        if not isinstance(state_dict, dict):  # torch copies it before hooks can see it
            check_form(state_dict)

        def before(_: Any, saved: dict[str, Any]) -> dict[str, Any]:
            check_form(saved)
            saved = {**saved, "param_groups": [with_tuples(group) for group in saved["param_groups"]]}
            check_counts(saved, self.param_groups)
            self._check_groups(saved["param_groups"])
            entries.extend(self._read(saved))
            return {**saved, "state": {}}

        def after(_: Any) -> None:
            params = (p for group in self.param_groups for p in group["params"])
            self.state.update((p, entry) for p, entry in zip(params, entries, strict=True) if entry)

        handles = [
            self.register_load_state_dict_pre_hook(before),  # after those of the user
            self.register_load_state_dict_post_hook(after, prepend=True),
        ]
        try:
            super().load_state_dict(state_dict)
        finally:
            for handle in handles:
                handle.remove()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), **{name: getattr(self, name) for name in self._own}}


def with_tuples(group: dict[str, Any]) -> dict[str, Any]:
    """A group with tuples as its options where torch, when it gathers a state, has made lists of them.

    >>> with_tuples({"params": [0], "param_names": ["weight"], "betas": [0.9, 0.99]})
    {'params': [0], 'param_names': ['weight'], 'betas': (0.9, 0.99)}
    """
    lists = ("params", "param_names")
    return {key: tuple(a) if isinstance(a, list) and key not in lists else a for key, a in group.items()}


def nonfinite_shape(params: list[Any]) -> tuple[int, ...] | None:
    """The shape of the first parameter that is not finite, on any process; None if all are.

    >>> nonfinite_shape([torch.ones(2), torch.tensor([[1.0, torch.nan]])])
    (1, 2)
    """
    found = [[float(not bool(local(p).isfinite().all()))] for p in params]
    bad = totals(torch.tensor(found), params)[:, 0].tolist()
    return next((tuple(p.shape) for p, n in zip(params, bad, strict=True) if n), None)
