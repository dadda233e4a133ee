"""Optimizers for PyTorch. Inside this package, ``import torch`` is PyTorch itself."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "`o2nc.torch` needs PyTorch, which is not installed; `pip install 'o2nc[torch]'` brings it.", name="torch"
    ) from error

from .converted import Converted
from .factories import for_trainer, register_timm
from .hedged import Hedged
from .logging import log
from .model_groups import Groups, groups
from .shadow import Shadow

__all__ = ["Converted", "Groups", "Hedged", "Shadow", "for_trainer", "groups", "log", "register_timm"]
