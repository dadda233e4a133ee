"""Wrong oracles, and vectors that they cannot use: an error that names argument, rule and value."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from o2nc import Blocks
from o2nc.operators import Blockwise, Dense, Diagonal, Identity, Mixture, Projector
from o2nc.oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    BinaryEntropic,
    CoinBetting,
    Compared,
    Constant,
    Entropic,
    FixedShare,
    FrankWolfe,
    FullAdaGrad,
    Hedge,
    OptimisticHedge,
    OptimisticOMD,
    SoloFTRL,
)
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall, Varying
from sentences import WRONG_VECTORS, check

X = np.ones(3)
TORCH = torch.ones(3, dtype=torch.float64)
BLOCKS = Blocks((np.ones((2, 2)), np.ones(3)))
HALF = Diagonal(np.full(3, 0.5))
EXPERTS = [Identity(), HALF]
LEARNERS = {
    "OGD": OGD,
    "OMD": lambda S: OMD(S, eta=0.1),
    "FTRL": lambda S: FTRL(S, eta=0.1),
    "AdaGrad": AdaGrad,
    "FullAdaGrad": FullAdaGrad,
    "OptimisticOMD": lambda S: OptimisticOMD(S, eta=0.1),
    "SoloFTRL": SoloFTRL,
    "CoinBetting": CoinBetting,
}
CASES = {
    "constant array": (lambda: Constant(np.eye(3)), TypeError, "`Constant(U=...)`", "got an array", "Dense"),
    "constant class": (lambda: Constant(Identity), TypeError, "`Constant(U=...)`", "got the class Identity"),
    "constant none": (lambda: Constant(None), TypeError, "`Constant(U=...)`", "got None"),
    "no experts": (lambda: Hedge([]), ValueError, "`Hull(operators=...)`", "got none"),
    "experts none": (lambda: Hedge(None), TypeError, "`Hedge(experts=...)`", "sequence of operators; got None"),
    "experts a box": (lambda: Hedge(Box()), TypeError, "`Hedge(experts=...)`", "sequence of operators", "Box"),
    "experts arrays": (lambda: Hedge([np.eye(3)]), TypeError, "`Hedge(experts=...)`", "got an array"),
    "experts vary in a box": (
        lambda: Hedge(Varying(lambda t: Box())).init(X), TypeError, "`Hedge(experts=...)`",
        "Hull in every round", "Box",
    ),
    "rates increase": (
        lambda: Hedge(EXPERTS, gamma=[0.1, 0.2]), ValueError, "`Hedge(gamma=...)`", "nonincreasing", "0.2",
    ),
    "rates negative": (lambda: Hedge(EXPERTS, gamma=[0.1, -0.2]), ValueError, "`Hedge(gamma=...)`", "positive", "-0.2"),
    "rates not numbers": (
        lambda: Hedge(EXPERTS, gamma=[0.1, math.nan]), ValueError, "`Hedge(gamma=...)`", "finite", "nan",
    ),
    "rates infinite": (
        lambda: Hedge(EXPERTS, gamma=[math.inf, 1.0]), ValueError, "`Hedge(gamma=...)`", "finite", "inf",
    ),
    "no rates": (lambda: Hedge(EXPERTS, gamma=[]), ValueError, "`Hedge(gamma=...)`", "positive", "got ()"),
    "prior negative": (lambda: Hedge(EXPERTS, prior=[-0.5, 1.5]), ValueError, "`Hedge(prior=...)`", "positive", "-0.5"),
    "prior with a zero": (
        lambda: Hedge(EXPERTS, prior=[0.0, 1.0]), ValueError, "`Hedge(prior=...)`", "positive", "(0.0, 1.0)",
    ),
    "prior off the simplex": (
        lambda: Hedge(EXPERTS, prior=[0.5, 0.6]), ValueError, "`Hedge(prior=...)`", "sum to 1", "0.6",
    ),
    "prior not a number": (
        lambda: Hedge(EXPERTS, prior=[math.nan, 1]), ValueError, "`Hedge(prior=...)`", "finite", "nan",
    ),
    "prior of other number": (
        lambda: Hedge(EXPERTS, prior=[1.0]), ValueError, "`Hedge(prior=...)`", "an expert, 2; got (1.0,)",
    ),
    "prior a number": (
        lambda: Hedge(EXPERTS, prior=0.5), TypeError, "`Hedge(prior=...)`", "sequence of numbers; got 0.5",
    ),
    "prior of a varying hull": (
        lambda: Hedge(Varying(lambda t: Hull(EXPERTS)), prior=[1.0]).init(X), ValueError, "`Hedge(prior=...)`",
        "expert, 2",
    ),
    "entropic on matrices": (
        lambda: OMD(SpectralBall(), eta=0.1, mirror=Entropic()), TypeError, "`set`", "entropic", "got SpectralBall()",
    ),
    "entropic on a signed box": (
        lambda: FTRL(Box(-1.0, 1.0), eta=0.1, mirror=Entropic()), ValueError, "`set`", "low >= 0", "Box(low=-1.0",
    ),
    "entropic on varying matrices": (
        lambda: OMD(Varying(lambda t: SpectralBall()), eta=0.1, mirror=Entropic()).init(X), TypeError, "`set`",
        "entropic",
    ),
    "mirror a class": (lambda: OMD(Box(), eta=0.1, mirror=Entropic), TypeError, "`OMD(mirror=...)`", "Entropic"),
    "mirror none": (lambda: FTRL(Box(), eta=0.1, mirror=None), TypeError, "`FTRL(mirror=...)`", "got None"),
    "adagrad on matrices": (
        lambda: AdaGrad(SpectralBall()), TypeError, "`AdaGrad(set=...)`", "`metric`", "SpectralBall",
    ),
    "adagrad on varying matrices": (
        lambda: AdaGrad(Varying(lambda t: PositiveContractions())).init(X), TypeError, "`AdaGrad(set=...)`", "`metric`",
    ),
    "full adagrad on blocks": (lambda: FullAdaGrad(Box()).init(BLOCKS), TypeError, "`FullAdaGrad`", "got Blocks"),
    "hint a number": (
        lambda: OptimisticHedge(EXPERTS, hint=0.5), TypeError, "`OptimisticHedge(hint=...)`", "a function", "got 0.5",
    ),
    "hint a class": (lambda: OptimisticOMD(Box(), 0.1, hint=dict), TypeError, "`OptimisticOMD(hint=...)`", "'dict'"),
    "hint of another shape": (
        lambda: OptimisticHedge(EXPERTS, hint=lambda losses, h, t: X).init(X), ValueError,
        "`OptimisticHedge(hint=...)`", "of shape (2,); got (3,)",
    ),
    "hint that returns a number": (
        lambda: OptimisticOMD(Box(), 0.1, hint=lambda g, h, t: 0.0).init(X), ValueError,
        "`OptimisticOMD(hint=...)`", "of shape (3,)", "got 0.0",
    ),
    "hint that is no blocks": (
        lambda: OptimisticOMD(Box(), 0.1, hint=lambda g, h, t: X).init(BLOCKS), ValueError,
        "`OptimisticOMD(hint=...)`", "of shape ((2, 2), (3,)); got array(",
    ),
    "optimistic rate": (lambda: OptimisticOMD(Box(), eta=0.0), ValueError, "`OptimisticOMD(eta=...)`", "got 0.0"),
    "optimistic mirror": (
        lambda: OptimisticOMD(Box(), 0.1, mirror=Entropic), TypeError, "`OptimisticOMD(mirror=...)`", "Entropic",
    ),
    "optimistic experts": (lambda: OptimisticHedge(Box()), TypeError, "`OptimisticHedge(experts=...)`", "Box"),
    "optimistic prior": (
        lambda: OptimisticHedge(EXPERTS, prior=[1.0]), ValueError, "`OptimisticHedge(prior=...)`", "expert, 2",
    ),
    "share of one": (lambda: FixedShare(EXPERTS, alpha=1.0), ValueError, "`FixedShare(alpha=...)`", "got 1.0"),
    "share negative": (lambda: FixedShare(EXPERTS, alpha=-0.1), ValueError, "`FixedShare(alpha=...)`", "got -0.1"),
    "rate of shares": (lambda: FixedShare(EXPERTS, gamma=0.0), ValueError, "`FixedShare(gamma=...)`", "got 0.0"),
    "solo factor": (lambda: SoloFTRL(Box(), eta=-1.0), ValueError, "`SoloFTRL(eta=...)`", "got -1.0"),
    "endowment zero": (
        lambda: CoinBetting(Box(), endowment=0.0), ValueError, "`CoinBetting(endowment=...)`", "positive; got 0.0",
    ),
    "scale negative": (
        lambda: CoinBetting(Box(), scale=-1.0), ValueError, "`CoinBetting(scale=...)`", "nonnegative; got -1.0",
    ),
    "binary entropy on reversals": (
        lambda: OMD(SpectralBall(), eta=0.1, mirror=BinaryEntropic()), TypeError, "`set`", "binary entropy",
        "got SpectralBall()",
    ),
    "binary entropy on a signed box": (
        lambda: FTRL(Box(-0.5, 1.0), eta=0.1, mirror=BinaryEntropic()), TypeError, "`set`", "low >= 0", "Box(low=-0.5",
    ),
    "binary entropy on a hull": (
        lambda: OMD(Hull(EXPERTS), eta=0.1, mirror=BinaryEntropic()), TypeError, "`set`", "binary entropy", "Hull(",
    ),
    "binary entropy on varying reversals": (
        lambda: OMD(Varying(lambda t: SpectralBall()), eta=0.1, mirror=BinaryEntropic()).init(X), TypeError, "`set`",
        "binary entropy",
    ),
    "frank-wolfe on no set": (
        lambda: FrankWolfe([Identity()], eta=0.1), TypeError, "`FrankWolfe(set=...)` must be a set of operators",
    ),
    "frank-wolfe on varying sets": (
        lambda: FrankWolfe(Varying(lambda t: Box()), eta=0.1), TypeError, "`FrankWolfe(set=...)`",
        "the same set in every round", "got a Varying",
    ),
    "frank-wolfe without a rate": (
        lambda: FrankWolfe(Box(), eta=0.0), ValueError, "`FrankWolfe(eta=...)`", "positive; got 0.0",
    ),
    "compared to nothing": (
        lambda: Compared(Constant(), []), ValueError, "`Compared(comparators=...)`", "one", "got []",
    ),
    "compared to none": (lambda: Compared(Constant(), None), ValueError, "`Compared(comparators=...)`", "got None"),
    "compared to a number": (lambda: Compared(Constant(), [3]), TypeError, "`Compared(comparators=...)`", "got 3"),
    "compared to an array": (
        lambda: Compared(Constant(), [np.eye(3)]), TypeError, "`Compared(comparators=...)`", "array",
    ),
    "compared none": (lambda: Compared(None, [Identity()]), TypeError, "`Compared(oracle=...)`", "learn; got None"),
    "compared to another size": (
        lambda: Compared(Constant(), [Diagonal(np.ones(2))]).init(X), ValueError, "`Compared(comparators=...)`", "(3,)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sentences(name):
    call, kind, *parts = CASES[name]
    check(call, kind, *parts)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("wrong", "got"), [(None, "None"), (Box, "Box"), (Identity(), "Identity()"), ([Identity()], "[Identity()]")]
)
def test_what_is_no_set(learner, wrong, got):
    check(lambda: LEARNERS[learner](wrong), TypeError, f"`{learner}(set=...)` must be a set of operators", got)
    check(lambda: LEARNERS[learner](Varying(lambda t: wrong)).init(X), TypeError, f"`{learner}(set=...)`", got)


ORACLES = {
    "Constant": Constant(HALF),
    "Hedge": Hedge(EXPERTS),
    "Compared": Compared(Constant(), [HALF]),
    **{name: build(Box()) for name, build in LEARNERS.items()},
    "FrankWolfe": FrankWolfe(Box(), eta=0.1),
}


@pytest.mark.parametrize("wrong", WRONG_VECTORS)
@pytest.mark.parametrize("name", ORACLES)
def test_what_is_no_vector(name, wrong):
    x, kind, *parts = WRONG_VECTORS[wrong]
    subject = ORACLES[name]
    if name == "FullAdaGrad" and isinstance(x, Blocks):
        check(lambda: subject.init(x), TypeError, "`FullAdaGrad`", "got Blocks")
    else:
        check(lambda: subject.init(x), kind, *parts, *([] if wrong == "two libraries" else ["`x` must"]))


OPERATORS = {  # what acts on vectors of three coordinates in NumPy, and on nothing else
    "Diagonal": HALF,
    "Projector": Projector(np.eye(3)[:, :2]),
    "Dense": Dense(np.eye(3)),
    "Mixture": Mixture(np.ones(1), (HALF,)),
    "Blockwise": Blockwise((Identity(), Diagonal(np.ones(2))), shapes=((1,), (2,))),
}
HOLDERS = {
    "Constant(U=...)": Constant,
    "Hull(operators=...)": lambda U: Hedge([Identity(), U]),
    "Hull(operators=...) ": lambda U: OGD(Hull([Identity(), U])),
    "Hull(operators=...)  ": lambda U: Hedge(Varying(lambda t: Hull([U]))),
}
WRONG_SPACES = {
    "another size": (np.ones(4), "(4,)"),
    "a batch of another size": (np.ones((3, 4)), "(3, 4)"),
    "torch": (TORCH, "numpy"),
    "jax": (jnp.ones(3), "numpy"),
    "blocks": (BLOCKS, "((2, 2), (3,))"),
}


@pytest.mark.parametrize("space", WRONG_SPACES)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_do_not_fit_x(name, holder, space):
    """Found at init, whatever the array library would have said, or would have broadcast."""
    x, part = WRONG_SPACES[space]
    check(
        lambda: HOLDERS[holder](OPERATORS[name]).init(x),
        ValueError, f"`{holder.strip()}` must act on vectors like `x`", name, part,
    )  # fmt: skip
    HOLDERS[holder](OPERATORS[name]).init(np.ones((4, 3)))


@pytest.mark.parametrize("holder", HOLDERS)
def test_operators_that_would_broadcast(holder):
    one, two = Diagonal(np.ones(1)), Diagonal(np.ones((2, 3)))
    for U, part in (
        (one, "Diagonal has shape (1,)"),
        (Mixture(np.ones(1), (one,)), "Mixture has shape (1,)"),
        (two, "Diagonal returns shape (2, 3)"),
    ):
        check(lambda U=U: HOLDERS[holder](U).init(X), ValueError, f"`{holder.strip()}` must act", part)
