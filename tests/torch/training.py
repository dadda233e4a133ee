"""Parameters, models, conversions, samples and schedulers: what the tests of the torch front end share."""

import copy
import io

import numpy as np
import torch
from torch.optim import lr_scheduler

from o2nc import (
    Blocks,
    Nonsmooth,
    NonsmoothConversion,
    SegmentConversion,
    Smooth,
    SmoothConversion,
    directions,
    learners,
)
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    AdaHedge,
    Adaptive,
    CoinBetting,
    Compared,
    Constant,
    DiscountedHedge,
    Entropic,
    Hedge,
    OverOracles,
    Product,
    ShortMemoryHedge,
    Squint,
)
from o2nc.rivals import SGD, Adam, HeavyBall
from o2nc.sets import Box, Hull, Varying
from o2nc.torch import Converted, Hedged

SHAPES = [(), (3,), (2, 3), (2, 1, 3, 2)]  # a scalar, a bias, a matrix, a convolution
SMOOTH = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=100)
NONSMOOTH = Nonsmooth(L=1.5, M=8.0, sigma=0.5, lam=0.05, T=100)


def tensors(values, dtype=torch.float64):
    return [torch.as_tensor(value, dtype=dtype) for value in values]


def arrays(values):
    return [np.asarray(value) for value in values]


def draws(seed, scale=1.0):
    """One array of each shape."""
    rng = np.random.default_rng(seed)
    return [scale * rng.normal(size=shape) for shape in SHAPES]


def mask(make):
    return Diagonal(Blocks(tuple(make([np.abs(np.sin(1.0 + a)) for a in draws(7)]))))


def hull(make):
    return Hull((Identity(), mask(make)))


def hull_of_3(make):
    """On the second block alone."""
    return Hull((Identity(), Diagonal(make([np.asarray([0.0, 0.5, 1.0])])[0])))


ORACLES = {
    "constant": lambda make: Constant(),
    "fixed": lambda make: Constant(mask(make)),
    "hedge": lambda make: Hedge(hull(make)),
    "hedge constant": lambda make: Hedge(hull(make), gamma=0.5, prior=(0.7, 0.3)),
    "hedge sequence": lambda make: Hedge(hull(make), gamma=[0.9, 0.5, 0.1]),
    "adahedge": lambda make: AdaHedge(hull(make)),
    "discounted": lambda make: DiscountedHedge(hull(make)),
    "short memory": lambda make: ShortMemoryHedge(hull(make)),
    "squint": lambda make: Squint(hull(make), scale=2.0),
    "ogd box": lambda make: OGD(Box()),
    "ogd hull": lambda make: OGD(hull(make), eta=0.3),
    "omd": lambda make: OMD(Box(), eta=0.3),
    "omd entropic": lambda make: OMD(hull(make), eta=0.3, mirror=Entropic()),
    "ftrl": lambda make: FTRL(Box(), eta=0.3),
    "ftrl entropic": lambda make: FTRL(Box(), eta=0.3, mirror=Entropic()),
    "adagrad box": lambda make: AdaGrad(Box()),
    "adagrad hull": lambda make: AdaGrad(hull(make)),
    "compared": lambda make: Compared(OGD(Box()), [Identity(), mask(make)]),
    "adaptive": lambda make: Adaptive(
        [directions.Momentum(), directions.Adam(), directions.Sign(), directions.Polar()], learner=learners.Hedge()
    ),
    "coin betting": lambda make: CoinBetting(Box(0.0, 1.0)),
    "product": lambda make: Product(
        [OGD(Box(0.0, 1.0)), AdaHedge(hull_of_3(make)), AdaGrad(Box(0.0, 1.0)), Constant()]
    ),
    "over oracles": lambda make: OverOracles([OGD(Box(0.0, 1.0)), Constant()]),
    "varying": lambda make: OGD(Varying(lambda t: Box(0.0, 1.0), holds_identity=True)),
}
CONVERSIONS = {
    "smooth": lambda oracle: SmoothConversion(oracle, SMOOTH),
    "descent": lambda oracle: SmoothConversion(oracle, SMOOTH, kappa=1.0),
    "end": lambda oracle: SegmentConversion(oracle, SMOOTH, r=1.0),
    "uniform": lambda oracle: SegmentConversion(oracle, SMOOTH, r=None, kappa=1.0),
    "nonsmooth": lambda oracle: NonsmoothConversion(oracle, NONSMOOTH),
    "sgd": lambda oracle: SGD(eta=0.1),
    "heavy ball": lambda oracle: HeavyBall(eta=0.1),
    "adam": lambda oracle: Adam(eta=0.1),
}
LEARNED = ("descent", "uniform", "nonsmooth")  # on which every oracle is run
CASES = [
    *((kind, name) for kind in LEARNED for name in ORACLES),
    *((kind, "hedge") for kind in CONVERSIONS if kind not in LEARNED),
]


def build(kind, name="hedge", make=tensors):
    return CONVERSIONS[kind](ORACLES[name](make))


def parameters(dtype=torch.float64, seed=1):
    return [torch.nn.Parameter(a) for a in tensors(draws(seed), dtype)]


def train(opt, rounds, start=0):
    """Steps with given samples, whatever the parameters are."""
    params = [p for group in opt.param_groups for p in group["params"]]
    for t in range(start, start + rounds):
        for p, g in zip(params, draws(100 + t, scale=3.0), strict=True):
            p.grad = torch.as_tensor(g, dtype=p.dtype).reshape(p.shape).clone()
        opt.step()


def half(p):
    """A mask: every other entry."""
    return (torch.arange(p.numel()) % 2).reshape(p.shape)


def halved(u):
    """A function of the tracker."""
    return u / 2


NAMED = ("momentum", "adam", "polar", "sign")
EVERY = (*NAMED, directions.Mask(half), halved)  # kind of expert
MAKERS = {  # both optimizers, from parameters; ``oracle`` is for those that have one
    "hedged": lambda params, lr=0.02, oracle=None, **options: Hedged(params, lr, EVERY, **options),
    "algorithm 1": lambda params, lr=1.0, oracle="hedge", **options: Converted(
        params, build("descent", oracle), lr, **options
    ),
    "algorithm 2": lambda params, lr=1.0, oracle="hedge", **options: Converted(
        params, build("nonsmooth", oracle), lr, **options
    ),
    "rival": lambda params, lr=1.0, oracle=None, **options: Converted(params, build("adam"), lr, **options),
}


def snapshot(opt):
    """All that an optimizer holds and moves, as a copy."""
    params = [p.detach().clone() for group in opt.param_groups for p in group["params"]]
    return params, copy.deepcopy(opt.state_dict())


def assert_same(one, two):
    """Bit by bit, through nested dicts and lists."""
    assert type(one) is type(two)
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            assert_same(one[key], two[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            assert_same(a, b)
    elif isinstance(one, torch.Tensor):
        assert one.dtype == two.dtype
        assert torch.equal(one, two)
    else:
        assert one == two


def stored(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


class Net(torch.nn.Module):
    """Tied weights, a convolution, a scalar."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(1, 2, 3)
        self.one, self.two = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 8, bias=False)
        self.two.weight = self.one.weight
        self.scale = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.scale * self.two(torch.tanh(self.one(self.conv(x[:, None]).flatten(1)[:, :8])))


def net():
    torch.manual_seed(0)
    return Net().double()


def fit(model, opt, rounds, start=0, chunks=1):
    for t in range(start, start + rounds):
        x = torch.as_tensor(draws(t)[3].reshape(2, 6), dtype=model.scale.dtype)
        opt.zero_grad()
        for part in x.chunk(chunks):
            (model(torch.cat([part, part], dim=-1)).square().mean() / chunks).backward()
        opt.step()


SCHEDULERS = {
    "LambdaLR": lambda opt: lr_scheduler.LambdaLR(opt, lambda t: 1 / (1 + t)),
    "MultiplicativeLR": lambda opt: lr_scheduler.MultiplicativeLR(opt, lambda t: 0.5),
    "StepLR": lambda opt: lr_scheduler.StepLR(opt, 1),
    "MultiStepLR": lambda opt: lr_scheduler.MultiStepLR(opt, [1, 2]),
    "ConstantLR": lambda opt: lr_scheduler.ConstantLR(opt, 0.5, 2),
    "LinearLR": lambda opt: lr_scheduler.LinearLR(opt, 0.5, total_iters=3),
    "ExponentialLR": lambda opt: lr_scheduler.ExponentialLR(opt, 0.9),
    "PolynomialLR": lambda opt: lr_scheduler.PolynomialLR(opt, 4),
    "CosineAnnealingLR": lambda opt: lr_scheduler.CosineAnnealingLR(opt, 4),
    "CosineAnnealingWarmRestarts": lambda opt: lr_scheduler.CosineAnnealingWarmRestarts(opt, 2),
    "CyclicLR": lambda opt: lr_scheduler.CyclicLR(opt, 0.1, 1.0, 2, cycle_momentum=False),
    "OneCycleLR": lambda opt: lr_scheduler.OneCycleLR(opt, 1.0, total_steps=6, cycle_momentum=False),
    "ReduceLROnPlateau": lambda opt: lr_scheduler.ReduceLROnPlateau(opt, patience=0),
    "SequentialLR": lambda opt: lr_scheduler.SequentialLR(
        opt, [lr_scheduler.ConstantLR(opt, 0.5, 2), lr_scheduler.ExponentialLR(opt, 0.9)], [2]
    ),
    "ChainedScheduler": lambda opt: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(opt, 0.5, 2), lr_scheduler.ExponentialLR(opt, 0.9)]
    ),
}
