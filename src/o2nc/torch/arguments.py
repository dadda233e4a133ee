"""What parameters and their groups must be."""

from typing import Any

import torch

from ..constants import check_number

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def check_group(group: dict[str, Any]) -> None:
    """Raise unless ``lr`` and ``weight_decay`` are nonnegative, and ``params`` real floating tensors, each once."""
    for name in ("lr", "weight_decay"):
        value = group[name]
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise ValueError(f"`{name}` must have one entry; got a tensor of shape {tuple(value.shape)}.")
            value = value.item()
        check_number(name, value)
    tensors = [p[1] if isinstance(p, tuple) else p for p in group["params"]]
    for p in tensors:
        if isinstance(p, torch.Tensor) and p.dtype not in DTYPES:
            raise TypeError(f"`params` must have one of the dtypes {', '.join(map(str, DTYPES))}; got {p.dtype}.")
    if len({id(p) for p in tensors}) < len(tensors):
        raise ValueError("`params` must hold every parameter once; a group has one of them twice.")
