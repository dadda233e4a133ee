"""What the ranks of the tests of distributed checkpoints do: they save, resume, meet what is not finite, and die."""

import os
import pathlib
import signal

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
from parallel import Net, built, fit, found, hedged, is_parallel, net, share, wrapped
from torch.distributed.checkpoint import state_dict as distributed

from o2nc.torch.step import Step


def parts(model, opt):
    """Model and optimizer as torch.distributed.checkpoint takes them."""
    return dict(zip(("model", "opt"), distributed.get_state_dict(model, opt), strict=True))


def saved(kind, rounds, how, folder):
    """Train and store; what there is then."""
    model = wrapped(net(torch.float64), kind)
    opt = built(model, **how)
    fit(model, opt, rounds, aside=(1,))
    torch.distributed.checkpoint.save(parts(model, opt), checkpoint_id=folder, no_dist=not is_parallel())
    return found(model, opt)


def resumed(kind, start, rounds, how, folder):
    """Another model and optimizer, until they are read from the folder."""
    model = wrapped(Net().double(), kind)
    opt = built(model, **how)
    opt.param_groups[0]["lr"] = 0.7
    state = parts(model, opt)
    torch.distributed.checkpoint.load(state, checkpoint_id=folder, no_dist=not is_parallel())
    distributed.set_state_dict(model, opt, model_state_dict=state["model"], optim_state_dict=state["opt"])
    fit(model, opt, rounds, start=start)
    return found(model, opt)


def from_plain(kind, start, rounds, how, states, full):
    """From the state_dicts of one process: as they are, or by torch's functions for whole states."""
    model = wrapped(Net().double(), kind)
    opt = built(model, **how)
    options = distributed.StateDictOptions(full_state_dict=True)
    distributed.set_model_state_dict(model, states["model"], options=options)
    if full:
        distributed.set_optimizer_state_dict(model, opt, states["full"], options=options)
    else:
        opt.load_state_dict(states["opt"])
    fit(model, opt, rounds, start=start)
    return found(model, opt)


def plain_states(rounds, how):
    """The state_dicts of a process on its own."""
    model = net(torch.float64)
    opt = built(model, **how)
    fit(model, opt, rounds, aside=(1,))
    full = distributed.get_optimizer_state_dict(model, opt)
    return {"model": model.state_dict(), "opt": opt.state_dict(), "full": full}


def gathered(rounds, how):
    """The whole state of a run in parts, on rank 0, as torch's functions gather it."""
    model = wrapped(net(torch.float64), "fsdp")
    opt = built(model, **how)
    fit(model, opt, rounds, aside=(1,))
    options = distributed.StateDictOptions(full_state_dict=True, cpu_offload=True)
    model_state, opt_state = distributed.get_state_dict(model, opt, options=options)
    return {"model": model_state, "full": opt_state} if dist.get_rank() == 0 else None


def poisoned(kind, nonfinite, where, case):
    """A gradient of the third step is not finite on one rank: from the loss on, or in what this rank holds of it."""
    model = wrapped(net(torch.float64), kind)
    opt = built(model, case, nonfinite=nonfinite)
    fit(model, opt, 2)
    before, said = found(model, opt), ""
    opt.zero_grad()
    tokens, targets = share(2)
    bad = float("nan") if where == "loss" and dist.get_rank() == 1 else 1.0
    ((model(tokens) - targets).square().mean() * bad).backward()
    if where == "gradient" and dist.get_rank() == 1:
        model.one.weight.grad.to_local()[0, 0] = float("inf")
    try:
        opt.step()
    except ValueError as error:
        said = str(error)
    after = found(model, opt)
    fit(model, opt, 2, start=3)
    return before, said, after, found(model, opt)


def killed(folder):
    """The second rank dies in its fifth step; there is a checkpoint of the third."""
    model = wrapped(net(torch.float64), "fsdp")
    opt = hedged(model)
    fit(model, opt, 3, aside=(1,))
    torch.distributed.checkpoint.save(parts(model, opt), checkpoint_id=folder)
    fit(model, opt, 1, start=3)
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    fit(model, opt, 1, start=4)


def dying(kind, half, folder):
    """The last rank dies in its fifth step, before ``half`` of it: "prepare", when gradients were checked, or "move".

    There is a checkpoint of the third. What the others end with is in files, and they end by it, as under `torchrun`.
    """
    model, rank = wrapped(net(torch.float64), kind), dist.get_rank()
    opt = hedged(model)
    fit(model, opt, 3, aside=(1,))
    torch.distributed.checkpoint.save(parts(model, opt), checkpoint_id=f"{folder}/checkpoint")
    fit(model, opt, 1, start=3)
    if rank == dist.get_world_size() - 1:
        setattr(Step, half, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    try:
        fit(model, opt, 2, start=4)
    except Exception as error:
        pathlib.Path(folder, f"rank-{rank}").write_text(f"{type(error).__name__}: {error}")
        os._exit(1)


def refused(how, folder):
    """What is said on loading a checkpoint that does not fit."""
    try:
        resumed("fsdp", 0, 0, how, folder)
    except BaseException as error:  # of torch.distributed.checkpoint
        return str(error)
    return ""
