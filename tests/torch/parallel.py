"""What the ranks of the distributed tests do; one process on the whole batch does the same without a group."""

import contextlib

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.parallel import DistributedDataParallel
from training import CASES, CONVERSIONS, build, draws, parameters

from o2nc import Blocks
from o2nc.directions import Adam, Mask, Momentum, Muon, Polar, Shampoo, Soap
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import OGD, AdaGrad, Adaptive, Constant, Hedge, Product
from o2nc.sets import Box, LeftFactors, RightFactors, SpectralBall, TwoSided
from o2nc.torch import Converted, Hedged, Shadow, groups

MESHES = {"fsdp": (-1,), "replicas": (2, 1), "hybrid": (1, 2), "square": (2, 2)}  # how processes are laid out
BATCH = 8  # samples, on all processes together


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


def share(t, n=BATCH):
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
    "signs": ("momentum", "sign"),
    "adams": ("momentum", "adam"),
    "elementwise": ("momentum", "adam", "sign", Mask(half)),
    "states": ("momentum", Adam(b2=0.9, eps=1e-3), Shampoo(), Muon(), Soap(every=2, stacks=False)),
    "muon and soap": ("muon", "soap"),
    "shadows": ("momentum", torch.optim.Adafactor, Shadow(torch.optim.RMSprop, momentum=0.9)),  # one needs all of it
    "all": ("momentum", "adam", "polar", "sign", Mask(half), halved),
}


def wrapped(model, kind):
    """The model as ``kind`` of parallel training wants it."""
    if kind == "one":
        return model
    if kind == "ddp":
        return DistributedDataParallel(model, find_unused_parameters=True)
    shape = [dist.get_world_size() if n < 0 else n for n in MESHES[kind]]
    mesh = init_device_mesh("cpu", tuple(shape), mesh_dim_names=("a", "b")[: len(shape)])
    fully_shard(model.one, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def hedged(model, experts="default", **options):
    return Hedged(groups(model, weight_decay=0.1), 0.02, EXPERTS[experts], **options)


def uneven(model):
    """An operator whose arrays every process has whole."""
    return Diagonal(Blocks(tuple(torch.linspace(0, 1, p.numel()).reshape(p.shape).to(p) for p in model.parameters())))


SETS = [  # one a parameter of `Net`
    LeftFactors((7, 5), SpectralBall()), None, Box(0.0, 1.0), TwoSided((9, 9), SpectralBall(), SpectralBall()), None,
    RightFactors((1, 9), SpectralBall()), Box(0.0, 1.0), None, None,
]  # fmt: skip
ORACLES = {
    "adagrad": lambda model: AdaGrad(Box(0.0, 1.0)),
    "hedge": lambda model: Hedge([Identity(), uneven(net(next(model.parameters()).dtype))]),
    "adaptive": lambda model: Adaptive([Momentum(), Polar()]),
    "layers": lambda model: Product([OGD(S) if S else Constant() for S in SETS]),
}


def converted(model, case, oracle="hedge", **options):
    """A conversion of `training`, with a learner over two operators or over a diagonal set."""
    return Converted(model.parameters(), CONVERSIONS[case](ORACLES[oracle](model)), seed=3, **options)


def built(model, case="hedged", **how):
    """The optimizer of a run."""
    return hedged(model, **how) if case == "hedged" else converted(model, case, **how)


def holding(model, is_last):
    """A context in which gradients are not yet brought together, unless they are the last of a step."""
    if isinstance(model, DistributedDataParallel):
        return contextlib.nullcontext() if is_last else model.no_sync()
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(is_last)
    return contextlib.nullcontext()


def fit(model, opt, rounds, start=0, chunks=1, aside=()):
    """``aside`` are the rounds in which all of the model is used."""
    dtype, world = next(model.parameters()).dtype, dist.get_world_size() if is_parallel() else 1
    for t in range(start, start + rounds):
        opt.zero_grad()
        mine = share(t)
        weight = len(mine[0]) * world / BATCH / chunks  # of three processes one has less
        parts = list(zip(*(each.chunk(chunks) for each in mine), strict=True))
        for k, (tokens, targets) in enumerate(parts):
            with holding(model, k == chunks - 1):
                ((model(tokens, t in aside) - targets.to(dtype)).square().mean() * weight).backward()
        opt.step()


def found(model, opt):
    """Parameters, whole; numbers and what learners remember, of which all have the same; and the weights of experts."""
    whole = lambda p: (p.full_tensor() if isinstance(p, DTensor) else p).detach().clone()
    memory = [
        {key: whole(value) for key, value in opt.state[p].items() if value.shape != p.shape}
        for group in opt.param_groups
        for p in group["params"]
    ]
    return {
        "params": {name.removeprefix("module."): whole(p) for name, p in model.named_parameters()},
        "memory": memory,
        "weights": [group["weights"] for group in opt.report()["groups"]] if "groups" in opt.report() else [],
    }


def trained(kind, rounds, how, dtype=torch.float64, chunks=1, aside=()):
    """A run from its start; ``how`` are the optimizer and its options."""
    model = wrapped(net(dtype), kind)
    opt = built(model, **how)
    fit(model, opt, rounds, chunks=chunks, aside=aside)
    return found(model, opt)


def with_one_idle(kind, rounds, how):
    """A layer is used by the first process only, in every other round; by one process, for half of the batch."""
    model = wrapped(net(torch.float64), kind)
    opt = built(model, **how)
    for t in range(rounds):
        opt.zero_grad()
        tokens, targets = share(t)
        mine = [dist.get_rank()] if is_parallel() else [0, 1]
        for rank, x, y in zip(mine, tokens.chunk(len(mine)), targets.chunk(len(mine)), strict=True):
            ((model(x, rank == 0 and t % 2 == 1) - y).square().mean() / len(mine)).backward()
        opt.step()
    return found(model, opt)


def without_gradients(rounds, lost, filled):
    """Gradients of ``one.weight`` get lost on the ranks ``lost``; or they are 0 there, if they are filled in."""
    model = wrapped(net(torch.float64), "fsdp")
    opt = hedged(model)
    fit(model, opt, 2)
    for t in range(2, 2 + rounds):
        opt.zero_grad()
        tokens, targets = share(t)
        (model(tokens) - targets).square().mean().backward()
        if dist.get_rank() in lost:
            p = model.one.weight
            p.grad = torch.zeros_like(p) if filled else None
        opt.step()
    return found(model, opt)


def without_any(case):
    """What there is before and after a step without gradients, at the start and later."""
    model = wrapped(net(torch.float64), "fsdp")
    opt = built(model, case)
    opt.step()
    states = len(opt.state)
    fit(model, opt, 3)
    before = found(model, opt)
    opt.zero_grad()
    opt.step()
    return states, before, found(model, opt)


def kept(kind, how):
    """For each parameter the shapes of its state: that of which each process holds a part, and what it holds whole."""
    model = wrapped(net(), kind)
    opt = built(model, **how)
    fit(model, opt, 2)
    shapes = lambda p, is_cut: {k: tuple(a.shape) for k, a in opt.state[p].items() if isinstance(a, DTensor) == is_cut}
    return {name: (shapes(p, True), shapes(p, False)) for name, p in model.named_parameters()}


def counted(kind, how):
    """The collectives of a step and a report, each with the bytes that this process brings in; and torch's count."""
    model = wrapped(net(), kind)
    opt, calls = built(model, **how), []
    fit(model, opt, 2)
    tokens, targets = share(9)
    (model(tokens) - targets).square().mean().backward()
    with CommDebugMode() as mode, counting(calls):
        opt.step()
        opt.report()
    return calls, mode.get_total_counts()


@contextlib.contextmanager
def counting(calls):
    def patched(name, function, sent):
        def call(*args, **options):
            calls.append((name, args[sent].numel() * args[sent].element_size()))
            return function(*args, **options)

        return call

    kept = {"all_reduce": (dist.all_reduce, 0), "all_to_all_single": (dist.all_to_all_single, 1)}
    for name, (function, sent) in kept.items():
        setattr(dist, name, patched(name, function, sent))
    try:
        yield
    finally:
        for name, (function, _) in kept.items():
            setattr(dist, name, function)


def cut_conversions():
    """Every oracle and every conversion on tensors in parts, with given samples: the parameters in the end, whole."""
    mesh = init_device_mesh("cpu", (2,))
    results = {}
    for case in [(kind, name) for kind, name in CASES if kind == "descent" or name == "hedge"]:
        layout = lambda a: distribute_tensor(a, mesh, [Shard(0) if a.ndim else Replicate()], src_data_rank=None)
        params = [torch.nn.Parameter(layout(p.detach())) for p in parameters()]
        opt = Converted(params, build(*case), fresh_samples=True)
        if dist.get_rank() == 0:
            opt.report()  # by one process alone: nobody else is asked
        for t in range(4):
            for p, g in zip(params, draws(100 + t, scale=0.1), strict=True):
                p.grad = layout(torch.as_tensor(g))
            opt.step()
        if dist.get_rank() == 1:
            opt.report()
        results[case] = [p.full_tensor().detach() for p in params]
    return results


def with_points():
    """Algorithm 2: the output, the training point again, and a parameter that was changed on one rank."""
    model = wrapped(net(torch.float64), "fsdp")
    opt = built(model, "nonsmooth")
    fit(model, opt, 3)
    with opt.output():
        output, held = found(model, opt)["params"], opt.held
    if dist.get_rank() == 1:
        model.one.weight.to_local().data[0, 0] += 1
    try:
        fit(model, opt, 1, start=3)
    except RuntimeError as error:
        return output, held, str(error)
    return output, held, ""
