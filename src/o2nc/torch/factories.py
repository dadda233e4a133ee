"""How trainers that make the optimizer themselves make `Hedged`: transformers and timm."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .hedged import Hedged
from .model_groups import Pattern, groups

NAMES = ("hedged", "o2nc_hedged")  # timm makes what stands behind the last "_" of a name, and lists all of it


def for_trainer(
    *,
    weight_decay: float = 0.0,
    patterns: Mapping[Pattern, str] | None = None,
    split: Mapping[Pattern, int] | None = None,
    **options: Any,
) -> tuple[Callable[[], Callable[..., Hedged]], dict[str, Any]]:
    """What ``transformers.Trainer(optimizer_cls_and_kwargs=...)`` takes to train with `Hedged`.

    The Trainer calls it with its model, and the parameters get groups by their roles, see `groups`. So it works where
    the Trainer takes no optimizer that was made before, as under FSDP. Wrong options are refused at once.

    Args:
        weight_decay: of all but the vectors.
        patterns: roles by patterns of names, as of `groups`.
        split: matrices that are several, as of `groups`.
        options: of `Hedged`, as ``lr=1e-2``.

    Returns:
        A factory, which the Trainer (transformers 5.2 or later) calls twice, and its options.

    Reference: ``Trainer.create_optimizer`` of transformers.

    >>> factory, options = for_trainer(lr=1e-2, weight_decay=0.1)
    >>> opt = factory()(torch.nn.Linear(3, 2), **options)  # as the Trainer does
    >>> [(group["name"], group["weight_decay"]) for group in opt.param_groups]
    [('heads', 0.1), ('vectors', 0.0)]
    """
    Hedged([torch.zeros(1)], weight_decay=weight_decay, **options)
    return _factory, {"weight_decay": weight_decay, "patterns": patterns, "split": split, **options}


def register_timm() -> None:
    """Make `Hedged` known to timm: ``timm.optim.create_optimizer_v2(model, opt="o2nc_hedged")``.

    timm makes groups by weight decay, and does not tell roles: output layers are matrices. For roles, add
    ``param_group_fn=o2nc.torch.groups``. Groups of its ``fallback_list`` have Adam, as in its own Muon.

    Reference: ``OptimizerRegistry`` of timm.

    >>> from unittest.mock import patch
    >>> with patch.dict("sys.modules", {"timm": None, "timm.optim": None}):  # as if it were not installed
    ...     register_timm()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: `o2nc.torch.register_timm` needs timm, which is not installed; `pip install 'o2nc[timm]'` ...
    """
    try:
        from timm.optim import OptimInfo
        from timm.optim._optim_factory import default_registry
    except ModuleNotFoundError as error:
        if error.name not in ("timm", "timm.optim"):
            raise
        raise ModuleNotFoundError(
            "`o2nc.torch.register_timm` needs timm, which is not installed; `pip install 'o2nc[timm]'` brings it.",
            name="timm",
        ) from error
    about = "o2nc.torch.Hedged, which weighs the directions of Muon, SOAP and others and learns its scale"
    known = default_registry.list_optimizers()
    for name in NAMES:
        if name not in known:
            default_registry.register(OptimInfo(name, _from_timm, about, has_betas=True))


def _factory() -> Callable[..., Hedged]:
    return _of_model


def _of_model(
    model: torch.nn.Module,
    weight_decay: float,
    patterns: Mapping[Pattern, str] | None,
    split: Mapping[Pattern, int] | None,
    **options: Any,
) -> Hedged:
    """`Hedged` on the parameters of a model by their roles; raise if they are flat, and have none."""
    from torch.distributed.fsdp import FullyShardedDataParallel  # takes a second

    if any(isinstance(module, FullyShardedDataParallel) for module in model.modules()):
        raise ValueError("`model` must be sharded by FSDP2; got FSDP1, which flattens. `fsdp_config={'version': 2}`.")
    return Hedged(groups(model, weight_decay=weight_decay, patterns=patterns, split=split), **options)


def _from_timm(params: Any, **options: Any) -> Hedged:
    """`Hedged` on groups as timm makes them: those with ``use_fallback`` are not taken as matrices."""
    return Hedged([_told(group) if isinstance(group, dict) else group for group in params], **options)


def _told(group: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in group.items() if key != "use_fallback"}
    return {**rest, "matrices": False} if group.get("use_fallback") else rest
