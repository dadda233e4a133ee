"""What four ranks do on a mesh with two axes that both cut tensors."""

from collections import OrderedDict

import torch
import torch.distributed as dist
from parallel import built, found, net
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def square():
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))


def numbers(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_tensor_parallelism(rounds, how, is_cut=True):
    """FSDP2 over tensor parallelism: of a weight a rank has a quarter; norms know one axis of the mesh alone."""
    torch.manual_seed(0)
    layers = {"one": torch.nn.Linear(6, 8), "tanh": torch.nn.Tanh(), "two": torch.nn.Linear(8, 4)}
    model = torch.nn.Sequential(OrderedDict(layers, norm=torch.nn.LayerNorm(4))).double()
    if is_cut:
        mesh = square()
        parallelize_module(model, mesh["tensor"], {"one": ColwiseParallel(), "two": RowwiseParallel()})
        fully_shard(model, mesh=mesh["data"])
    opt = built(model, **how)
    for t in range(rounds):
        opt.zero_grad()
        x = numbers(t, 8, 6)
        x = x.chunk(2)[dist.get_rank() // 2] if is_cut else x
        (model(x) - x[:, :4].sin()).square().mean().backward()
        opt.step()
    return found(model, opt)


def cut_twice(rounds, how, is_cut=True):
    """Uneven tensors along both axes, matrices into rows and columns; gradients are given."""
    model, mesh = net(torch.float64), square() if is_cut else None

    def laid(a):
        return distribute_tensor(a, mesh, [Shard(0), Shard(min(a.ndim - 1, 1))], src_data_rank=None) if is_cut else a

    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(laid(p.detach())))
    opt = built(model, **how)
    for t in range(rounds):
        for k, p in enumerate(model.parameters()):
            p.grad = laid(numbers(100 * t + k, *p.shape) * 0.1)
        opt.step()
    return found(model, opt)
