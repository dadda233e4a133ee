"""What parameters and their groups must be."""

from collections.abc import Iterable
from typing import Any

import torch

from ..checks import check_number

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def listed(params: Any) -> list[Any]:
    """Parameters, named parameters or groups as a list; raise unless they are an ordered collection.

    >>> listed(p for p in [1, 2])
    [1, 2]
    >>> listed(torch.nn.Linear(1, 1))
    Traceback (most recent call last):
        ...
    TypeError: `params` must be tensors, named tensors or groups, in order; got a Linear.
    """
    if isinstance(params, torch.Tensor):
        return [params]
    if isinstance(params, (str, set, dict)) or not isinstance(params, Iterable):
        raise TypeError(f"`params` must be tensors, named tensors or groups, in order; got a {type(params).__name__}.")
    return list(params)


def listed_group(group: Any) -> dict[str, Any]:
    """A group with its parameters as a list; raise unless it is a dict that has some."""
    if not isinstance(group, dict) or "params" not in group:
        got = sorted(map(str, group)) if isinstance(group, dict) else f"a {type(group).__name__}"
        raise TypeError(f"A group must be a dict with the key 'params'; got {got}.")
    return {**group, "params": listed(group["params"])}


def tensors(group: dict[str, Any]) -> list[Any]:
    """The parameters of a group without their names."""
    return [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in group["params"]]


def check_device(params: Iterable[torch.Tensor]) -> None:
    """Raise unless parameters are on one device."""
    if len(devices := {str(p.device) for p in params}) > 1:
        raise ValueError(f"All parameters must be on one device; got {', '.join(sorted(devices))}.")


def check_group(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are nonnegative, and ``params`` real floating tensors, each once."""
    for name in ("lr", "weight_decay"):
        value = group[name]
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise ValueError(f"`{name}` must have one entry; got a tensor of shape {tuple(value.shape)}.")
            value = value.item()
        check_number(name, value)
    params = tensors(group)
    for p in params:
        if not isinstance(p, torch.Tensor):
            raise TypeError(f"`params` must be tensors; got a {type(p).__name__} among them.")
        if p.dtype not in DTYPES:
            raise TypeError(f"`params` must have one of the dtypes {', '.join(map(str, DTYPES))}; got {p.dtype}.")
    if len({id(p) for p in params}) < len(params):
        raise ValueError("`params` must hold every parameter once; a group has one of them twice.")


def width(p: torch.Tensor) -> torch.dtype:
    """The dtype of the state of a parameter: float64 for float64, else float32."""
    return torch.float64 if p.dtype == torch.float64 else torch.float32
