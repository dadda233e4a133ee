"""One process or many: who computes on which part of a batch, and how their gradients come together."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

PARALLEL = ("none", "ddp", "fsdp")


class Place(NamedTuple):
    """Which process this is, of how many."""

    rank: int = 0
    ranks: int = 1

    def share(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows of a batch that this process computes on."""
        return rows.chunk(self.ranks)[self.rank]

    def mean(self, value: torch.Tensor) -> float:
        """The mean over all processes."""
        dist.all_reduce(value)
        return value.item() / self.ranks


@contextmanager
def processes(parallel: str) -> Iterator[Place]:
    """The process group: that of `torchrun`, or this process alone."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if parallel == "none" and ranks > 1:
        raise ValueError(f"`parallel` must be 'ddp' or 'fsdp' on {ranks} processes; got 'none'.")
    alone = {} if "WORLD_SIZE" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    dist.init_process_group("gloo", **alone)
    try:
        yield Place(dist.get_rank(), ranks)
        dist.monitored_barrier()  # nobody leaves before all are done; after `barrier` a thread of gloo may hold them up
    finally:
        dist.destroy_process_group()


def spread(model: nn.Module, parallel: str) -> nn.Module:
    """What to call in place of the model. With "fsdp" its parameters become shards, layer by layer."""
    if parallel == "ddp":
        return DistributedDataParallel(model)
    if parallel == "fsdp":
        mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh, reshard_after_forward=True)  # evaluation leaves nothing whole either
    return model
