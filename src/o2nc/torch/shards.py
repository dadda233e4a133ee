"""Shards: tensors of which this process holds a part (``DTensor``, the parameters of FSDP2), and what goes between.

Sums over shards are one all-reduce. A direction that needs a whole matrix has its matrices shared out: each has an
owner among the processes. All send it their shards, it computes the direction, and sends each its shard of that: two
exchanges a step for all matrices together, and no process computes what another does.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .._xp import gathered, shard_like
from .._xp import is_sharded as is_sharded

Tensor = torch.Tensor
Job = tuple[Callable[[Tensor], Tensor], Any]  # what is computed of a whole tensor, and the DTensor


def local(tensor: Any) -> Tensor:
    """The entries that this process holds, in the memory of the tensor.

    >>> local(torch.zeros(2, requires_grad=True))
    tensor([0., 0.])
    """
    tensor = tensor.detach()
    return tensor.to_local() if is_sharded(tensor) else tensor


def shard(part: Tensor, p: Any) -> Tensor:
    """The tensor in the shape of ``p`` of which this process holds ``part``: the inverse of `local`."""
    if not is_sharded(p):
        return part
    stride = torch.empty(p.shape, device="meta").stride()
    return type(p.detach()).from_local(part, p.device_mesh, p.placements, shape=p.shape, stride=stride)


def laid_out(tensor: Any, p: Any) -> Tensor:
    """A tensor, sharded or replicated, in the shards of ``p``, or replicated if ``p`` is no ``DTensor``.

    >>> laid_out(torch.ones(2), torch.zeros(2))
    tensor([1., 1.])
    """
    if not is_sharded(p):
        return gathered(tensor)
    return shard_like(tensor, p).redistribute(p.device_mesh, p.placements)


@contextmanager
def replicated(params: Iterable[Any]) -> Iterator[None]:
    """A context in which tensors that are no shards count as replicated, if some of the parameters are sharded."""
    if not any(map(is_sharded, params)):
        yield
        return
    from torch.distributed.tensor.experimental import implicit_replication

    with implicit_replication(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found a non-scalar tensor with numel=1")  # which is as it should be
        yield


def anywhere(flag: bool, params: Sequence[Any]) -> bool:
    """Whether the flag is set on one of the processes that hold shards of the parameters.

    >>> anywhere(True, [torch.zeros(1)])
    True
    """
    return bool(totals(torch.full((len(params), 1), float(flag)), params).any())


def split_axes(p: Any) -> list[int]:
    """The axes of its mesh along which a tensor is cut."""
    if not is_sharded(p):
        return []
    return [axis for axis, placement in enumerate(p.placements) if not placement.is_replicate()]


def totals(table: Tensor, params: Sequence[Any]) -> Tensor:
    """A table with one row a parameter, each summed over the processes that hold shards of it: one all-reduce.

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


def by_owners(jobs: Sequence[Job]) -> list[Tensor]:
    """What is computed of each tensor, as far as this process holds it; each is computed by one process.

    A tensor that is cut along several axes of its mesh is gathered by all.
    """
    found: list[Any] = [None] * len(jobs)
    exchanges: dict[Any, list[int]] = {}
    for k, (function, u) in enumerate(jobs):
        axes = split_axes(u)
        if len(axes) == 1 and u.placements[axes[0]].is_shard():
            exchanges.setdefault((u.device_mesh, axes[0], u.dtype), []).append(k)
        else:
            found[k] = local(laid_out(function(u.full_tensor()), u))
    for (mesh, axis, _), ks in exchanges.items():
        for k, d in zip(ks, exchange([jobs[k] for k in ks], mesh.get_group(axis), axis), strict=True):
            found[k] = d
    return found


def exchange(jobs: Sequence[Job], group: Any, axis: int) -> list[Tensor]:
    """The same for tensors that are cut along one axis of a mesh, whose processes are ``group``."""
    ranks, me = range(group.size()), group.rank()
    owned = shared_out([cost(u.shape) for _, u in jobs], len(ranks))
    shapes = [[shard_shape(u, axis, rank, len(ranks)) for rank in ranks] for _, u in jobs]
    sizes = [[math.prod(shape) for shape in each] for each in shapes]
    held = [local(u) for _, u in jobs]
    mine = [[sizes[k][rank] for k in owned[me]] for rank in ranks]
    shards = swap([[held[k] for k in each] for each in owned], mine, held[0], group)
    back: list[list[Tensor]] = [[] for _ in ranks]
    for i, k in enumerate(owned[me]):
        function, dim = jobs[k][0], jobs[k][1].placements[axis].dim
        u = torch.cat([shards[rank][i].view(shapes[k][rank]) for rank in ranks], dim)
        for rank, piece in enumerate(function(u).split([shape[dim] for shape in shapes[k]], dim)):
            back[rank].append(piece)
    found = swap(back, [[sizes[k][me] for k in each] for each in owned], held[0], group)
    ordered = {k: d for ks, ds in zip(owned, found, strict=True) for k, d in zip(ks, ds, strict=True)}
    return [ordered[k].view(shapes[k][me]) for k in range(len(jobs))]


def swap(pieces: list[list[Tensor]], sizes: list[list[int]], like: Tensor, group: Any) -> list[Sequence[Tensor]]:
    """Send to each process of the group its pieces; returns what came from each, flat, in the given sizes."""
    send = torch.cat([like.new_empty(0), *(piece.reshape(-1) for each in pieces for piece in each)])
    given, taken = [sum(piece.numel() for piece in each) for each in pieces], [sum(each) for each in sizes]
    received = like.new_empty(sum(taken))
    torch.distributed.all_to_all_single(received, send, taken, given, group=group)
    return [part.split(each) for part, each in zip(received.split(taken), sizes, strict=True)]  # type: ignore[no-untyped-call]


def shard_shape(u: Any, axis: int, rank: int, n: int) -> list[int]:
    """The shape of the shard of another process."""
    dim = u.placements[axis].dim
    most = -(-u.shape[dim] // n)  # DTensor cuts as torch.chunk does
    length = min(max(u.shape[dim] - rank * most, 0), most)
    return [length if d == dim else size for d, size in enumerate(u.shape)]


def cost(shape: Sequence[int]) -> int:
    """The multiplications of a step of Newton and Schulz for a tensor, up to a factor.

    >>> cost((2, 3, 4))
    48
    """
    return math.prod(shape) * min(shape[0], math.prod(shape[1:]))


def shared_out(costs: Sequence[float], n: int) -> list[list[int]]:
    """What each of n does, so that all have about as much to do: the largest first, each to who has least.

    >>> shared_out([3.0, 1.0, 2.0], 2)
    [[0], [2, 1]]
    """
    owned: list[list[int]] = [[] for _ in range(n)]
    loads = [0.0] * n
    for k in sorted(range(len(costs)), key=lambda k: -costs[k]):
        least = loads.index(min(loads))
        owned[least].append(k)
        loads[least] += costs[k]
    return owned
