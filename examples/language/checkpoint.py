"""Checkpoints that can be read by any number of processes."""

import shutil
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from .optimizers import Optimizers


def newest(folder: str) -> Path | None:
    """The last checkpoint that was written to its end."""
    return max((path.parent for path in Path(folder).glob("step-*/.metadata")), default=None)


def save(folder: str, step: int, model: nn.Module, optimizers: Optimizers, options: dict[str, Any]) -> None:
    """Write a checkpoint, then remove the one before it."""
    before, path = newest(folder), Path(folder) / f"step-{step:08d}"
    params, state = get_state_dict(model, optimizers)
    state = {"model": params, "optimizers": state, "step": step, "options": options}
    dcp.save(state, checkpoint_id=path)
    if before not in (None, path) and dist.get_rank() == 0:
        shutil.rmtree(before)


def load(folder: str, model: nn.Module, optimizers: Optimizers, options: dict[str, Any]) -> int:
    """Read the newest checkpoint, if there is one, and return its step; raise if it is of another run."""
    if (path := newest(folder)) is None:
        return 0
    params, state = get_state_dict(model, optimizers)
    found = {"model": params, "optimizers": state, "step": 0, "options": dict.fromkeys(options)}
    dcp.load(found, checkpoint_id=path)
    for name, value in options.items():
        if found["options"][name] != value:
            raise ValueError(f"`{name}` must be {found['options'][name]!r}, as in {path}; got {value!r}.")
    set_state_dict(model, optimizers, model_state_dict=found["model"], optim_state_dict=found["optimizers"])
    return found["step"]
