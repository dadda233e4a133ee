"""The public checks: every class of ours passes, and each deliberately broken one fails with the right sentence."""

import numpy as np
import pytest

from contracts import BASIS, LIBRARIES, MASK, NUMPY, SHAPES, SWAP, D, cut
from o2nc import directions, oracles
from o2nc.operators import Dense, Diagonal, Identity, Projector
from o2nc.oracles import (
    FTRL,
    OGD,
    OMD,
    AdaGrad,
    AdaHedge,
    Adaptive,
    BinaryEntropic,
    CoinBetting,
    Compared,
    Constant,
    DiscountedHedge,
    Entropic,
    FixedShare,
    FrankWolfe,
    FullAdaGrad,
    Hedge,
    OptimisticHedge,
    OptimisticOMD,
    OverOracles,
    Product,
    ShortMemoryHedge,
    SoloFTRL,
    Squint,
    full_adagrad,
)
from o2nc.sets import (
    BlockBox,
    Box,
    Fantope,
    Hull,
    LeftFactors,
    PositiveContractions,
    RightFactors,
    SpectralBall,
    TwoSided,
    Varying,
)
from o2nc.testing import check_oracle


@pytest.fixture(params=LIBRARIES.values(), ids=LIBRARIES)
def lib(request):
    return request.param


# Every class of ours.


def varying(lib):
    identity, projector, swap = Identity(), Projector(lib.array(BASIS)), lib.array(SWAP)
    return Varying(lambda t: Hull((identity, projector, Dense(swap / t))), holds_identity=True)


SETS = {
    "Hull": lambda lib: Hull((Identity(), Projector(lib.array(BASIS)), Dense(lib.array(SWAP)))),
    "Box": lambda lib: Box(),
    "SpectralBall": lambda lib: SpectralBall(),
    "PositiveContractions": lambda lib: PositiveContractions(),
    "Varying": varying,
    "BlockBox": lambda lib: BlockBox(shapes=SHAPES),
    "Fantope": lambda lib: Fantope(2),
    "LeftFactors": lambda lib: LeftFactors((3, 1)),
    "RightFactors": lambda lib: RightFactors((1, 3), PositiveContractions()),
    "TwoSided": lambda lib: TwoSided((3, 1)),
}
BASIC = ("Hull", "Box", "SpectralBall", "PositiveContractions", "Varying")
EXPERTS = ("Hull", "Varying")
COORDINATES = ("Hull", "Box", "Varying")
FACTORS = ("Box", "PositiveContractions")
UNCHANGING = tuple(kind for kind in SETS if kind != "Varying")
TUNED_FOR = 400  # where an oracle with a rate for one horizon is checked without `tuned`, the rate is small enough
ORACLES = {  # how it is made from a set and a horizon, on which sets, and with which options of the check
    "Constant": (lambda S, T: Constant(), ["Box"], {}),
    "Hedge": (lambda S, T: Hedge(S), EXPERTS, {}),
    "Hedge constant": (lambda S, T: Hedge(S, gamma=2 * T**-0.5, prior=(0.5, 0.3, 0.2)), EXPERTS, {"tuned": True}),
    "Hedge sequence": (lambda S, T: Hedge(S, gamma=[(t + 1) ** -0.5 for t in range(300)]), ["Hull"], {}),
    "AdaHedge": (lambda S, T: AdaHedge(S), EXPERTS, {}),
    "DiscountedHedge": (lambda S, T: DiscountedHedge(S), EXPERTS, {"regret": False}),
    "ShortMemoryHedge": (lambda S, T: ShortMemoryHedge(S), EXPERTS, {"regret": False}),
    "Squint": (lambda S, T: Squint(S, scale=2.0), EXPERTS, {}),  # losses in [-1, 1]
    "OGD": (lambda S, T: OGD(S), SETS, {}),
    "OGD constant": (lambda S, T: OGD(S, eta=2 * T**-0.5), ["Box"], {"tuned": True}),
    "OMD": (lambda S, T: OMD(S, eta=2 * T**-0.5), BASIC, {"tuned": True}),
    "OMD entropic": (lambda S, T: OMD(S, eta=2 * T**-0.5, mirror=Entropic()), COORDINATES, {"tuned": True}),
    "FTRL": (lambda S, T: FTRL(S, eta=2 * T**-0.5), BASIC, {"tuned": True}),
    "FTRL entropic": (lambda S, T: FTRL(S, eta=2 * T**-0.5, mirror=Entropic()), COORDINATES, {"tuned": True}),
    "OMD binary": (lambda S, T: OMD(S, eta=4 * T**-0.5, mirror=BinaryEntropic()), FACTORS, {"tuned": True}),
    "FTRL binary": (lambda S, T: FTRL(S, eta=4 * T**-0.5, mirror=BinaryEntropic()), FACTORS, {"tuned": True}),
    "CoinBetting": (lambda S, T: CoinBetting(S), SETS, {}),
    "CoinBetting scale": (lambda S, T: CoinBetting(S, scale=2.0), ["Hull", "SpectralBall"], {}),
    "FrankWolfe": (lambda S, T: FrankWolfe(S, eta=T**-0.75), UNCHANGING, {"tuned": True}),
    "AdaGrad": (lambda S, T: AdaGrad(S), COORDINATES, {}),
    "FullAdaGrad": (lambda S, T: FullAdaGrad(S), BASIC, {}),
    "OptimisticHedge": (lambda S, T: OptimisticHedge(S), EXPERTS, {}),
    "OptimisticHedge mean": (
        lambda S, T: OptimisticHedge(S, (0.5, 0.3, 0.2), lambda losses, h, t: 0.9 * h + 0.1 * losses),
        ["Hull"],
        {"comparator": Identity()},  # other hints than the last losses have no a-priori bound
    ),
    "OptimisticOMD": (lambda S, T: OptimisticOMD(S, eta=T**-0.5), BASIC, {"tuned": True}),
    "OptimisticOMD entropic": (lambda S, T: OptimisticOMD(S, T**-0.5, Entropic()), COORDINATES, {"tuned": True}),
    "OptimisticOMD binary": (lambda S, T: OptimisticOMD(S, T**-0.5, BinaryEntropic()), FACTORS, {"tuned": True}),
    "FixedShare": (
        lambda S, T: FixedShare(S, gamma=2 * T**-0.5, alpha=1 / T),
        EXPERTS,
        {"tuned": True, "comparator": Identity()},  # its bound counts rounds, so `regret_bound` is infinite
    ),
    "SoloFTRL": (lambda S, T: SoloFTRL(S), BASIC, {"comparator": Identity()}),  # no bound on a set that varies
    "Compared": (lambda S, T: Compared(OGD(S), [Identity()]), ["Box"], {}),
    "Adaptive": (lambda S, T: Adaptive([directions.Momentum(), directions.RMS(), directions.Sign()]), ["Box"], {}),
    "Product": (lambda S, T: Product([OGD(S), Constant()], [(2,), (1,)]), ["Box", "SpectralBall"], {}),
    "OverOracles": (lambda S, T: OverOracles([Constant(), OGD(S)]), ["Box", "Fantope"], {}),
}
QUICK = [("Hedge", "Hull"), ("OGD", "Box")]  # whose regret is measured on JAX as well
MATRIX = [(oracle, kind) for oracle, (_, kinds, _) in ORACLES.items() for kind in kinds]


@pytest.mark.parametrize(("name", "kind"), MATRIX, ids=lambda value: value.replace(" ", "-"))
def test_oracles(lib, name, kind, monkeypatch):
    """Oracle x set x array library; the regret, the same everywhere, is measured where that does not take long."""
    monkeypatch.setattr(full_adagrad, "ROUNDS", 20 if lib is NUMPY else 5)  # a rougher projection; still into the set
    S, (make, _, options) = SETS[kind](lib), ORACLES[name]
    tuned = (lambda T: make(S, T)) if options.get("tuned") and lib is NUMPY else None
    slow = (lib.name == "jax" and (name, kind) not in QUICK) or (lib is not NUMPY and name == "FullAdaGrad")
    regret = options.get("regret", True) and not slow
    check_oracle(
        make(S, TUNED_FOR),
        lib.array(np.zeros(D)),
        rounds=16,
        tuned=tuned,
        regret=regret,
        comparator=options.get("comparator"),
    )


ON_BLOCKS_TOO = [(lib, "Hedge") for lib in LIBRARIES]
ON_BLOCKS_TOO += [(lib, learner) for lib in ("numpy", "torch") for learner in ("OGD", "AdaGrad", "OMD entropic")]
ON_BLOCKS_TOO += [("torch", learner) for learner in ("OptimisticOMD", "OptimisticOMD entropic", "SoloFTRL")]
ON_BLOCKS_TOO += [
    (lib, learner) for lib in ("numpy", "torch") for learner in ("CoinBetting", "FrankWolfe", "OMD binary")
]


@pytest.mark.parametrize(("library", "learner"), ON_BLOCKS_TOO)
def test_oracles_on_blocks(library, learner):
    """The experts have a twin on Blocks; a Box serves both kinds of vectors."""
    lib = LIBRARIES[library]
    make = ORACLES[learner][0]
    if learner == "Hedge":
        flat, blocks = (Hull((Identity(), Diagonal(mask))) for mask in (lib.array(MASK), cut(lib, MASK)))
    else:
        flat = blocks = Box()
    x = lib.array(np.zeros(D))
    check_oracle(make(flat, TUNED_FOR), x, shapes=SHAPES, blocks=make(blocks, TUNED_FOR), regret=False)
    check_oracle(make(blocks, TUNED_FOR), cut(lib, np.zeros(D)), rounds=4, regret=lib is NUMPY)


def test_every_class_is_checked():
    public = {
        name
        for name in oracles.__all__
        if isinstance(getattr(oracles, name), type) and hasattr(getattr(oracles, name), "learn")
    }
    assert public - {"Oracle", "OverExperts"} <= set(ORACLES)
