"""What a checkpoint must be to be loaded."""

from collections.abc import Callable
from typing import Any

from .configuration import difference
from .layout import Entry

VERSION = 1  # of the layout of ``state_dict``


def read(saved: dict[str, Any], groups: list[dict[str, Any]], like: Callable[[], list[Entry]]) -> list[Entry]:
    """The entries of a ``state_dict``, one a parameter, with the dtypes and devices of ``like()``; none before a step.

    Raise, before anything is changed, unless it is of the same version, configuration and shapes as ``groups``.
    """
    counts, found = ([len(group["params"]) for group in every] for every in (groups, saved["param_groups"]))
    if counts != found:
        raise ValueError(f"`state_dict` must have groups of {counts} parameters; got {found}.")
    run, here = saved["param_groups"][0].get("run", {}), groups[0]["run"]
    if run.get("version") != VERSION:
        raise ValueError(f"`state_dict` must be of `Converted`, version {VERSION}; got {run.get('version')}.")
    if differs := difference(run["configuration"], here["configuration"]):
        raise ValueError(f"`state_dict` must come from the same conversion; {differs}.")
    if not saved["state"]:
        return []
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    if missing := [k for k, number in enumerate(numbers) if number not in saved["state"]]:
        raise ValueError(f"`state_dict` must have the state of every parameter; it lacks that of {missing}.")
    return [
        entry(saved["state"][number], example, f"parameter {k}")
        for k, (number, example) in enumerate(zip(numbers, like(), strict=True))
    ]


def entry(saved: Entry, like: Entry, name: str) -> Entry:
    """A saved entry with the dtypes and devices of ``like``; raise unless it has the same keys and shapes.

    The point "x" may be missing: it depends on the dtype of a parameter whether it is kept.
    """
    if not set(like) - {"x"} <= set(saved) <= set(like):
        raise ValueError(f"`state_dict` must have {sorted(like)} for {name}; got {sorted(saved)}.")
    for key, value in saved.items():
        shape, found = tuple(like[key].shape), tuple(value.shape)
        if found != shape:
            raise ValueError(f"`state_dict` must have {key!r} of shape {shape} for {name}; got {found}.")
    return {key: value.to(like[key]) for key, value in saved.items()}
