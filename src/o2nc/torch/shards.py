"""Tensors of which this process holds a part: ``DTensor``, the parameters of FSDP2."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .._xp import cut_as, in_parts, whole

Tensor = torch.Tensor


def local(tensor: Any) -> Tensor:
    """The entries that this process holds, in the memory of the tensor.

    >>> local(torch.zeros(2, requires_grad=True))
    tensor([0., 0.])
    """
    tensor = tensor.detach()
    return tensor.to_local() if in_parts(tensor) else tensor


def shard(part: Tensor, p: Any) -> Tensor:
    """The tensor in the shape of ``p`` of which this process holds ``part``: the inverse of `local`."""
    if not in_parts(p):
        return part
    stride = torch.empty(p.shape, device="meta").stride()
    return type(p.detach()).from_local(part, p.device_mesh, p.placements, shape=p.shape, stride=stride)


def laid_out(tensor: Any, p: Any) -> Tensor:
    """A tensor, whole or in parts, in the parts of ``p``; every process has the whole one if there is one.

    >>> laid_out(torch.ones(2), torch.zeros(2))
    tensor([1., 1.])
    """
    if not in_parts(p):
        return whole(tensor)
    return cut_as(tensor, p).redistribute(p.device_mesh, p.placements)


@contextmanager
def together(params: Iterable[Any]) -> Iterator[None]:
    """A context in which what every process has goes with what lies in parts, if some of the parameters do."""
    if not any(map(in_parts, params)):
        yield
        return
    from torch.distributed.tensor.experimental import implicit_replication

    with implicit_replication(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found a non-scalar tensor with numel=1")  # which is as it should be
        yield


def anywhere(flag: bool, params: Sequence[Any]) -> bool:
    """Whether the flag is set on one of the processes that hold parts of the parameters.

    >>> anywhere(True, [torch.zeros(1)])
    True
    """
    return bool(totals(torch.full((len(params), 1), float(flag)), params).any())


def split_axes(p: Any) -> list[int]:
    """The axes of its mesh along which a tensor is cut."""
    return [axis for axis, placement in enumerate(p.placements) if not placement.is_replicate()] if in_parts(p) else []


def totals(table: Tensor, params: Sequence[Any]) -> Tensor:
    """A table with one row a parameter, each summed over the processes that hold parts of it: one all-reduce.

    More than one only if parameters lie on several meshes, or are cut along several axes of one. If an entry of the
    first column is not finite here, that of other processes is not finite either.

    >>> totals(torch.ones(1, 2), [torch.zeros(3)])
    tensor([[1., 1.]])
    """
    meshes: dict[Any, list[int]] = {}
    for row, p in enumerate(params):
        if split_axes(p):
            meshes.setdefault(p.device_mesh, []).append(row)
    poison = 0 * table[:, 0].sum()
    for mesh, rows in meshes.items():
        part = table[rows].to(params[rows[0]].device)
        part[0, 0] += poison
        for axis in range(mesh.ndim):
            cut = [axis in split_axes(params[row]) for row in rows]
            if not any(cut):
                continue
            if mesh.get_local_rank(axis) > 0:  # what each of them holds is counted once
                part *= torch.tensor(cut, dtype=part.dtype, device=part.device)[:, None]
            torch.distributed.all_reduce(part, group=mesh.get_group(axis))
        table[rows] = part.to(table.device)
    return table
