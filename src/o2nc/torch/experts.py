"""The experts of a group: found from what was given, and what each is for a parameter."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from ..directions import Adam, Direction, Mask, Momentum, Muon, OnMatrices, find
from ..directions.matrices import is_table
from .parameter_groups import tensors, width
from .shadow import Shadow, shadowed
from .shards import laid_out

Tensor = torch.Tensor
Experts = dict[str, tuple[Direction | Shadow, bool]]  # of a group, and whether the kernels have their options
LEFT = {"shapes": None, "matrices": None, "split": 1}  # what directions of matrices leave to the groups


def chosen(group: dict[str, Any]) -> Experts:
    """The experts of a group, from what was given; raise unless each is one, and there once."""
    given, options = group["experts"], named(group)
    if isinstance(given, str) or not isinstance(given, (tuple, list)) or not given:
        raise ValueError(f"`experts` must be a tuple of at least one expert; got {given!r}.")
    seen = [shadowed(each) for each in given]
    directions = [s if isinstance(s, Shadow) else find(f"experts[{k}]", s, **options) for k, s in enumerate(seen)]
    names = [direction.name for direction in directions]
    if len(set(names)) < len(names):
        raise ValueError(f"`experts` must have different names; got {names}.")
    for k, each in enumerate(directions):
        check_left_to_groups(k, each)
    for mask in (each for each in directions if type(each) is Mask):
        for p in tensors(group):
            masked(mask, p, torch.zeros_like(p, dtype=width(p)))  # raises if it does not fit
    for each, p in ((each, p) for each in directions for p in tensors(group)):
        if isinstance(each, Shadow) and taken(each, p, group) is each:
            each.form(p.shape, width(p), p.device)  # raises if the class refuses it
    return {d.name: (d, isinstance(each, (str, Shadow))) for d, each in zip(directions, seen, strict=True)}


def check_left_to_groups(k: int, direction: Any) -> None:
    """Raise if a direction of matrices says itself which tensors are matrices."""
    for name, default in LEFT.items() if isinstance(direction, OnMatrices) else ():
        if (given := getattr(direction, name)) != default:
            raise ValueError(
                f"`experts[{k}]` must leave `{name}` at {default!r}: here it is an option of a parameter group, see "
                f"`o2nc.torch.groups`; got {given!r}."
            )


def named(group: dict[str, Any]) -> dict[str, Any]:
    """The options of experts of a group that are given by name."""
    return {"b2": group["betas"][1], "eps": group["eps"]}


def renewed(experts: Experts, group: dict[str, Any]) -> Experts:
    """The experts of a group, those that were given by name with its options as they are now."""
    return {
        name: (find(name, name, **named(group)) if is_named and not isinstance(each, Shadow) else each, is_named)
        for name, (each, is_named) in experts.items()
    }


def taken(direction: Direction | Shadow, p: Tensor, group: dict[str, Any]) -> Direction | Shadow:
    """What a direction is for a parameter: one of matrices has a fallback elsewhere, and needs none on a matrix."""
    told = group["matrices"]
    is_matrix = p.ndim >= 2 and p.numel() > 0 and (not is_table(p.shape) if told is None else told)
    if isinstance(direction, Shadow) and direction.matrices and not is_matrix:
        return Adam(b2=group["betas"][1], eps=group["eps"])
    if not isinstance(direction, OnMatrices):
        return direction
    if not is_matrix:
        return direction.fallback
    stacks = {"stacks": group["stacks"]} if "stacks" in group else {}
    if isinstance(direction, Muon) and group["precision"] is not None:
        direction = replace(direction, precision=group["precision"])
    return replace(direction, fallback=Momentum(), matrices=None, split=group.get("split", 1), **stacks)


def masked(direction: Any, p: Tensor, like: Tensor) -> Tensor:
    """The factors of a mask for a parameter, in the shards and the dtype of ``like``."""
    given = direction.mask
    factors = given.get(p) if isinstance(given, Mapping) else given(p) if callable(given) else given
    if isinstance(factors, Tensor):
        factors = factors.detach().to(p.device)
    found = torch.ones_like(like) if factors is None else Mask(factors).factors(like)
    return laid_out(found, like).clone(memory_format=torch.contiguous_format)
