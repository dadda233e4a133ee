"""Every oracle of the registry, on the sets that it takes and on every array library, keeps the contract."""

import numpy as np
import pytest

from contracts import BASIS, EVERY_LIBRARY, LIBRARIES, MASK, NUMPY, SHAPES, SWAP, D, cut
from o2nc import oracles, sets
from o2nc.operators import Dense, Diagonal, Identity, Projector
from o2nc.oracles import full_adagrad
from o2nc.oracles.base import example, registry
from o2nc.testing import check_oracle

BASIC = ("hull", "box", "spectral", "positive", "varying")
THOROUGH = (
    "ogd",
    "coin-betting",
    "frank-wolfe",
    "augmented-leader",
    "perturbed-leader",
)  # checked on all other sets as well
QUICK = [("hedge-self-tuned", "hull"), ("ogd", "box")]  # whose regret is measured on JAX as well
TUNED_FOR = 400  # where an oracle with a rate for one horizon is checked without `tuned`, the rate is small enough


def operators(lib, kind):
    """The set of that name, with experts and vectors of three numbers."""
    identity, projector, swap = Identity(), Projector(lib.array(BASIS)), lib.array(SWAP)
    if kind == "varying":  # that of the registry stays the same
        hull = lambda t: sets.Hull((identity, projector, Dense(swap / t)))
        return sets.Varying(hull, True, sets.Hull((identity, projector, Dense(swap))))
    return sets.registry[kind].make((identity, projector, Dense(swap)), lib.array(np.zeros(D)))


def takes(name, kind):
    """Whether the oracle can be over such a set; one that cannot says so with a TypeError."""
    try:
        example(name, operators(NUMPY, kind), np.zeros(D)).init(np.zeros(D))
    except TypeError:
        return False
    return True


def cases():
    """The oracles of the registry, each on the sets that it takes; circuits, which bring other oracles, on a box."""
    kinds = {name: tuple(sets.registry) if name in THOROUGH else BASIC for name in registry}
    kinds |= {name: ("box",) for name, entry in registry.items() if entry.facts.get("circuit")}
    return [(name, kind) for name in registry for kind in kinds[name] if takes(name, kind)]


def check(lib, make, kind, **options):
    """``make`` is a function of the set and the horizon that the oracle is tuned for."""
    S = operators(lib, kind)
    tuned = (lambda T: make(S, T)) if options.pop("tuned", False) and lib is NUMPY else None
    check_oracle(make(S, TUNED_FOR), lib.array(np.zeros(D)), rounds=16, tuned=tuned, **options)


@pytest.fixture(params=EVERY_LIBRARY)
def lib(request, monkeypatch):
    # a rougher projection of the full metric; still into the set
    monkeypatch.setattr(full_adagrad, "ROUNDS", 20 if request.param is NUMPY else 5)
    return request.param


def check_registered(lib, name, kind):
    """The regret, the same everywhere, is measured where that does not take long."""
    facts, S = registry[name].facts, operators(lib, kind)
    make = lambda S, T: example(name, S, lib.array(np.zeros(D)), T)
    slow = (lib.name == "jax" and (name, kind) not in QUICK) or (lib is not NUMPY and name == "full-adagrad")
    bound = make(S, TUNED_FOR).regret_bound(lib.array(np.zeros((1, D))), 1.0)
    wide = getattr(S, "any_size", False)
    unstated = np.isinf(bound) and S.holds_identity  # the regret is small, but the bound counts more than the energy
    check(
        lib, make, kind, tuned=facts.get("rate") == "needs a rate", regret=facts.get("static", True) and not slow,
        comparator=Identity() if unstated else None, contraction=not (facts.get("any_size") or wide),
    )  # fmt: skip


def everywhere():
    """The cases on every library; on JAX most are slow."""
    for lib in LIBRARIES.values():
        for name, kind in cases():
            is_slow = lib.name == "jax" and (name, kind) not in QUICK
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(lib, name, kind, marks=marks, id=f"{lib.name}-{name}-{kind}")


@pytest.mark.parametrize(("lib", "name", "kind"), list(everywhere()), indirect=["lib"])
def test_registered_oracles(lib, name, kind):
    check_registered(lib, name, kind)


def test_what_the_oracles_take():
    """The cases are found by trial: were one refused by mistake, this would say so."""
    found = cases()
    kinds = lambda name: {kind for other, kind in found if other == name}
    assert {name for name, _ in found} == set(registry)
    assert kinds("adahedge") == kinds("squint") == {"hull", "varying"}
    assert kinds("least-squares") == {"hull", "box", "varying"}
    assert kinds("online-newton-step") == {"box"}
    assert kinds("prediction-hedge") == {"hull"}
    assert kinds("omd") == kinds("ftrl") == kinds("solo-ftrl") == kinds("full-adagrad") == set(BASIC)
    assert kinds("omd-entropic") == kinds("adagrad") == {"hull", "box", "varying"}
    balls = {"spectral", "positive", "wide-spectral", "contractions", "left-factors", "right-factors"}
    assert kinds("augmented-leader") == kinds("perturbed-leader") == balls
    assert kinds("omd-binary") == {"box", "positive"}
    assert kinds("ogd") == kinds("coin-betting") == set(sets.registry) == {*kinds("frank-wolfe"), "varying"}


def test_every_class_is_registered():
    public = [getattr(oracles, name) for name in oracles.__all__ if name not in ("Oracle", "registry", "OverExperts")]
    found = {shown(example(name, operators(NUMPY, kind), np.zeros(D))) for name, kind in cases()}
    assert {thing.__name__ for thing in public if not hasattr(thing, "divergence")} == found  # mirror maps are none


def shown(oracle):
    return getattr(oracle, "name", type(oracle).__name__)


VARIANTS = {  # what the registry does not make: from a set and a horizon, on which sets, with which options
    "Hedge constant": (
        lambda S, T: oracles.Hedge(S, gamma=2 * T**-0.5, prior=(0.5, 0.3, 0.2)), ("hull", "varying"), {"tuned": True},
    ),
    "Hedge sequence": (lambda S, T: oracles.Hedge(S, gamma=[(t + 1) ** -0.5 for t in range(300)]), ("hull",), {}),
    "OGD constant": (lambda S, T: oracles.OGD(S, eta=2 * T**-0.5), ("box",), {"tuned": True}),
    "FTRL binary": (
        lambda S, T: oracles.FTRL(S, 4 * T**-0.5, oracles.BinaryEntropic()), ("box", "positive"), {"tuned": True},
    ),
    "CoinBetting scale": (lambda S, T: oracles.CoinBetting(S, scale=2.0), ("hull", "spectral"), {}),
    "OptimisticHedge mean": (
        lambda S, T: oracles.OptimisticHedge(S, (0.5, 0.3, 0.2), lambda losses, h, t: 0.9 * h + 0.1 * losses),
        ("hull",), {"comparator": Identity()},  # other hints than the last losses have no a-priori bound
    ),
    "OptimisticOMD entropic": (
        lambda S, T: oracles.OptimisticOMD(S, T**-0.5, oracles.Entropic()), ("hull", "box", "varying"), {"tuned": True},
    ),
    "OptimisticOMD binary": (
        lambda S, T: oracles.OptimisticOMD(S, T**-0.5, oracles.BinaryEntropic()), ("box", "positive"), {"tuned": True},
    ),
    "FixedShare tuned": (
        lambda S, T: oracles.FixedShare(S, gamma=2 * T**-0.5, alpha=1 / T), ("hull", "varying"),
        {"tuned": True, "comparator": Identity()},  # its bound counts rounds, so `regret_bound` is infinite
    ),
    "Product beside the identity": (
        lambda S, T: oracles.Product([oracles.OGD(S), oracles.Constant()], [(2,), (1,)]), ("box", "spectral"), {},
    ),
    "OverOracles": (lambda S, T: oracles.OverOracles([oracles.Constant(), oracles.OGD(S)]), ("fantope",), {}),
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in VARIANTS for kind in VARIANTS[name][1]])
def test_variants(lib, name, kind):
    make, _, options = VARIANTS[name]
    check(lib, make, kind, regret=lib.name != "jax", **options)


ON_BLOCKS = [(lib, "hedge-self-tuned") for lib in LIBRARIES]
ON_BLOCKS += [
    (lib, name)
    for lib in ("numpy", "torch")
    for name in ("ogd", "adagrad", "omd-entropic", "coin-betting", "frank-wolfe", "omd-binary")
]
ON_BLOCKS += [("torch", name) for name in ("optimistic-omd", "solo-ftrl")]


@pytest.mark.parametrize(("library", "name"), ON_BLOCKS)
def test_on_blocks(library, name):
    """The experts have a twin on Blocks; a Box serves both kinds of vectors."""
    lib = LIBRARIES[library]
    if name == "hedge-self-tuned":
        flat, blocks = (sets.Hull((Identity(), Diagonal(mask))) for mask in (lib.array(MASK), cut(lib, MASK)))
    else:
        flat = blocks = sets.Box()
    make, x = lambda S: example(name, S, None, TUNED_FOR), lib.array(np.zeros(D))
    check_oracle(make(flat), x, shapes=SHAPES, blocks=make(blocks), regret=False)
    check_oracle(make(blocks), cut(lib, np.zeros(D)), rounds=4, regret=lib is NUMPY)


def test_entropic_hints_on_blocks():
    lib, oracle = LIBRARIES["torch"], oracles.OptimisticOMD(sets.Box(), TUNED_FOR**-0.5, oracles.Entropic())
    check_oracle(oracle, lib.array(np.zeros(D)), shapes=SHAPES, regret=False)
    check_oracle(oracle, cut(lib, np.zeros(D)), rounds=4, regret=False)


def test_a_comparator_other_than_the_identity():
    half = Diagonal(np.full(D, 0.5))
    oracle = oracles.Hedge([half, Diagonal(MASK)])
    check_oracle(oracle, np.zeros(D))  # no bound against the identity, which it does not have: nothing to measure
    check_oracle(oracle, np.zeros(D), comparator=half, rounds=16)
    with pytest.raises(AssertionError, match="`OverExperts` must have sublinear regret"):
        check_oracle(oracle, np.zeros(D), comparator=Identity(), rounds=16)
