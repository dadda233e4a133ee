"""What the ranks of the tests of `for_trainer` do: a model that is sharded before or after its optimizer is made."""

import parallel
import torch
from torch.distributed.tensor import DTensor

from o2nc.torch import for_trainer


def made(model):
    """As the Trainer makes it; the options are those of `parallel.hedged`."""
    factory, options = for_trainer(lr=0.02, experts=parallel.EXPERTS["default"], weight_decay=0.1)
    return factory()(model, **options)


def switched(model, opt):
    """The model in shards, and their optimizer, in the way of accelerate: it was made of the whole parameters."""
    from accelerate.utils.fsdp_utils import fsdp2_switch_optimizer_parameters

    names = {p.data_ptr(): name for name, p in model.named_parameters()}
    for group in opt.param_groups:
        pointers = [p.data_ptr() for p in group["params"]]
        group["params"] = [torch.empty(1, dtype=torch.float64) for _ in pointers]
        for p, pointer in zip(group["params"], pointers, strict=True):
            p.data_ptr = pointer
    model = parallel.wrapped(model, "fsdp")
    shards = dict(model.named_parameters())
    fsdp2_switch_optimizer_parameters(opt, {pointer: shards[name] for pointer, name in names.items()})
    return model


def trained(order, rounds):
    """A run from its start, and how many entries of each parameter of the optimizer this process holds, of how many."""
    model = parallel.net(torch.float64)
    if order == "sharded first":
        model = parallel.wrapped(model, "fsdp")
    opt = made(model)
    if order == "made first":
        model = switched(model, opt)
    held = [
        (p.to_local().numel() if isinstance(p, DTensor) else p.numel(), p.numel())
        for group in opt.param_groups
        for p in group["params"]
    ]
    parallel.fit(model, opt, rounds)
    return {**parallel.found(model, opt), "held": held}
