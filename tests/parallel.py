"""What the ranks of the distributed tests do; one process on the whole batch does the same without a group."""

import contextlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
from torch.distributed.checkpoint import state_dict as distributed
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from o2nc.torch import Hedged, Mask, groups

MESHES = {"fsdp": (2,), "replicas": (2, 1), "hybrid": (1, 2)}  # how two processes are laid out


class Net(torch.nn.Module):
    """Few rows: of some tensors the second of two processes holds less than the first, or nothing."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 5)
        self.conv = torch.nn.Conv1d(5, 3, 2)
        self.one, self.two = torch.nn.Linear(9, 9), torch.nn.Linear(9, 1)
        self.aside = torch.nn.Linear(1, 2)  # used on request

    def forward(self, tokens, aside=False):
        y = self.two(torch.tanh(self.one(torch.tanh(self.conv(self.table(tokens).mT)).flatten(1))))
        return self.aside(y).sum(-1, keepdim=True) if aside else y


def net(dtype=torch.float32):
    torch.manual_seed(0)
    return Net().to(dtype)


def is_parallel():
    return dist.is_initialized()


def share(t, n=8):
    """The part of batch t that is this process's; all of it without a group."""
    generator = torch.Generator().manual_seed(t)
    tokens = torch.randint(0, 7, (n, 4), generator=generator)
    targets = torch.sin(tokens.float().sum(-1, keepdim=True))
    rank, world = (dist.get_rank(), dist.get_world_size()) if is_parallel() else (0, 1)
    return [each.chunk(world)[rank] for each in (tokens, targets)]


def half(p):
    """A mask: every other entry."""
    return (torch.arange(p.numel()) % 2).reshape(p.shape)


def halved(u):
    return u / (1 + u.norm())  # needs the whole tensor


EXPERTS = {
    "default": ("momentum", "adam", "polar"),
    "all": ("momentum", "adam", "polar", "sign", Mask(half), halved),
}


def wrapped(model, kind):
    """The model as ``kind`` of parallel training wants it."""
    if kind == "one":
        return model
    if kind == "ddp":
        return DistributedDataParallel(model, find_unused_parameters=True)
    mesh = init_device_mesh("cpu", MESHES[kind], mesh_dim_names=("a", "b")[: len(MESHES[kind])])
    fully_shard(model.one, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def hedged(model, experts="default", **options):
    return Hedged(groups(model, weight_decay=0.1), 0.02, EXPERTS[experts], **options)


def holding(model, is_last):
    """A context in which gradients are not yet brought together, unless they are the last of a step."""
    if isinstance(model, DistributedDataParallel):
        return contextlib.nullcontext() if is_last else model.no_sync()
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(is_last)
    return contextlib.nullcontext()


def fit(model, opt, rounds, start=0, chunks=1, aside=()):
    """``aside`` are the rounds in which all of the model is used."""
    dtype = next(model.parameters()).dtype
    for t in range(start, start + rounds):
        opt.zero_grad()
        parts = list(zip(*(each.chunk(chunks) for each in share(t)), strict=True))
        for k, (tokens, targets) in enumerate(parts):
            with holding(model, k == chunks - 1):
                ((model(tokens, t in aside) - targets.to(dtype)).square().mean() / chunks).backward()
        opt.step()


def found(model, opt):
    """Parameters, whole; what the learners remember, bit by bit; and the weights."""
    whole = lambda p: (p.full_tensor() if isinstance(p, DTensor) else p).detach().clone()
    memory = [
        {key: entry[key].clone() for key in ("C", "V", "regret", "t", "q", "f") if key in entry}
        for group in opt.param_groups
        for entry in (opt.state[p] for p in group["params"])
    ]
    return {
        "params": {name.removeprefix("module."): whole(p) for name, p in model.named_parameters()},
        "memory": memory,
        "weights": [group["weights"] for group in opt.report()["groups"]] if "groups" in opt.report() else [],
    }


def trained(kind, rounds, experts="default", dtype=torch.float32, options=(), **how):
    model = wrapped(net(dtype), kind)
    opt = hedged(model, experts, **dict(options))
    fit(model, opt, rounds, **how)
    return found(model, opt)


def train(kind, rounds, how):
    """For `Ranks.run`, which takes no keywords."""
    return trained(kind, rounds, **how)
