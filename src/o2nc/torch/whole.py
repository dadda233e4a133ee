"""The directions of experts that need whole tensors, for tensors that lie in parts on several processes.

Each matrix that `Polar` takes has an owner among the processes. All send it their parts, it computes the direction, and
sends each its part of that: two exchanges a step for all matrices together, and no process computes what another does.
What other experts do with a tensor may fail, and then all processes must know: for them each gathers the whole tensor.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

from .experts import Polar, Whole
from .shards import laid_out, local, split_axes

Tensor = torch.Tensor
Job = tuple[Whole, Any]  # an expert, and what it sees: a DTensor


def directions(jobs: Sequence[Job]) -> list[Tensor]:
    """This process's parts of the directions."""
    found: list[Any] = [None] * len(jobs)
    exchanges: dict[Any, list[int]] = {}
    for k, (expert, u) in enumerate(jobs):
        axes = split_axes(u)
        if isinstance(expert, Polar) and len(axes) == 1 and u.placements[axes[0]].is_shard():
            exchanges.setdefault((u.device_mesh, axes[0], u.dtype), []).append(k)
        else:
            found[k] = local(laid_out(expert.whole(u.full_tensor()), u))
    for (mesh, axis, _), ks in exchanges.items():
        for k, d in zip(ks, exchange([jobs[k] for k in ks], mesh.get_group(axis), axis), strict=True):
            found[k] = d
    return found


def exchange(jobs: Sequence[Job], group: Any, axis: int) -> list[Tensor]:
    """The same for tensors that are cut along one axis of a mesh, whose processes are ``group``."""
    ranks, me = range(group.size()), group.rank()
    owned = shared_out([cost(u.shape) for _, u in jobs], len(ranks))
    shapes = [[part_shape(u, axis, rank, len(ranks)) for rank in ranks] for _, u in jobs]
    sizes = [[math.prod(shape) for shape in each] for each in shapes]
    held = [local(u) for _, u in jobs]
    parts = swap(
        [[held[k] for k in each] for each in owned],
        [[sizes[k][rank] for k in owned[me]] for rank in ranks],
        held[0],
        group,
    )
    back: list[list[Tensor]] = [[] for _ in ranks]
    for i, k in enumerate(owned[me]):
        expert, dim = jobs[k][0], jobs[k][1].placements[axis].dim
        whole = torch.cat([parts[rank][i].view(shapes[k][rank]) for rank in ranks], dim)
        for rank, piece in enumerate(expert.whole(whole).split([shape[dim] for shape in shapes[k]], dim)):
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


def part_shape(u: Any, axis: int, rank: int, n: int) -> list[int]:
    """The shape of the part of another process."""
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
