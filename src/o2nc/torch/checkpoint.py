"""What a checkpoint must be to be loaded, and how it is."""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from .configuration import difference
from .layout import Entry
from .shards import laid_out

VERSION = 1  # of the layout of ``state_dict``


def load(opt: torch.optim.Optimizer, state_dict: dict[str, Any], read: Callable[[dict[str, Any]], list[Entry]]) -> None:
    """Load a ``state_dict``, its state by ``read``: one entry a parameter, empty where there is none.

    Torch would cast all of it, counters too, to the dtype of the parameter. What ``read`` raises is raised before
    anything is changed.
    """
    entries: list[Entry] = []

    def before(_: Any, saved: dict[str, Any]) -> dict[str, Any]:
        saved = {**saved, "param_groups": [with_tuples(group) for group in saved["param_groups"]]}
        entries.extend(read(saved))
        return {**saved, "state": {}}

    def after(_: Any) -> None:
        params = (p for group in opt.param_groups for p in group["params"])
        opt.state.update((p, entry) for p, entry in zip(params, entries, strict=True) if entry)

    handles = [
        opt.register_load_state_dict_pre_hook(before),  # after those of the user
        opt.register_load_state_dict_post_hook(after, prepend=True),
    ]
    try:
        torch.optim.Optimizer.load_state_dict(opt, state_dict)
    finally:
        for handle in handles:
            handle.remove()


def with_tuples(group: dict[str, Any]) -> dict[str, Any]:
    """A group with tuples as its options where torch, when it gathers a state, has made lists of them.

    >>> with_tuples({"params": [0], "param_names": ["weight"], "betas": [0.9, 0.99]})
    {'params': [0], 'param_names': ['weight'], 'betas': (0.9, 0.99)}
    """
    lists = ("params", "param_names")
    return {key: tuple(a) if isinstance(a, list) and key not in lists else a for key, a in group.items()}


def check_counts(saved: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    """Raise unless a ``state_dict`` has as many parameters in each group as there are here."""
    counts, found = ([len(group["params"]) for group in every] for every in (groups, saved["param_groups"]))
    if counts != found:
        raise ValueError(f"`state_dict` must have groups of {counts} parameters; got {found}.")


def check_version(found: Any, name: str) -> None:
    """Raise unless a ``state_dict`` is of the class ``name``, in the layout that is known here."""
    if found != VERSION:
        raise ValueError(f"`state_dict` must be of `{name}`, version {VERSION}; got {found}.")


def check_same(saved: dict[str, str], here: dict[str, str], what: str) -> None:
    """Raise unless two configurations agree."""
    if differs := difference(saved, here):
        raise ValueError(f"`state_dict` must come from the same {what}; {differs}.")


def entries(saved: dict[str, Any], like: Iterable[Entry]) -> list[Entry]:
    """The entries of a ``state_dict``, as copies with the dtypes and devices of ``like``; empty where there is none.

    Raise unless they have the same keys and shapes. The point "x" may be missing: whether it is kept depends on the
    dtype of a parameter.
    """
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    found = [saved["state"].get(number) or {} for number in numbers]
    return [
        entry(here, example, f"parameter {k}") if here else {}
        for k, (here, example) in enumerate(zip(found, like, strict=True))
    ]


def entry(saved: Entry, like: Entry, name: str) -> Entry:
    """A saved entry with the dtypes and devices of ``like``; raise unless it has the same keys and shapes."""
    if not set(like) - {"x"} <= set(saved) <= set(like):
        raise ValueError(f"`state_dict` must have {sorted(like)} for {name}; got {sorted(saved)}.")
    for key, value in saved.items():
        shape, found = tuple(like[key].shape), tuple(value.shape)
        if found != shape:
            raise ValueError(f"`state_dict` must have {key!r} of shape {shape} for {name}; got {found}.")
    return {
        key: laid_out(value, like[key]).to(like[key].device, like[key].dtype, copy=True) for key, value in saved.items()
    }
