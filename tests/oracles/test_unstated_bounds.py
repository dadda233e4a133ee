"""Where a hypothesis of a regret bound is not known to hold, the bound is infinite: all oracles, all sets."""

import math

import numpy as np
import pytest

from o2nc import sets
from o2nc.constants import Smooth
from o2nc.conversions import SmoothConversion
from o2nc.operators import Dense, Diagonal, Identity, Mixture, declares
from o2nc.oracles import OGD, Compared, Constant, OverOracles, Product
from o2nc.oracles.base import contracts, example, registry, stated_bound

X = np.zeros(3)
OTHER = Diagonal(np.asarray([1.0, 0.0, 1.0]))


class Longer:
    """No contraction, and no word of it."""

    def __matmul__(self, v):
        return 4.0 * v


class Minus(Identity):
    """An identity in name only."""

    def __matmul__(self, v):
        return -1.0 * v


class Told(Longer):
    """Says that it is a contraction, and is one."""

    contraction = True

    def __matmul__(self, v):
        return 0.5 * v


def made(name, S):
    """The registered oracle over the set, or None if it takes no such set."""
    if registry[name].facts.get("circuit"):
        return None
    try:
        return example(name, S, X)
    except (TypeError, ValueError):
        return None


def stated(oracle):
    return stated_bound(oracle, X, 1.0)


@pytest.mark.parametrize("name", registry)
@pytest.mark.parametrize("kind", sets.registry)
def test_a_set_that_may_grow_has_no_bound(name, kind):
    S = sets.registry[kind].make((Identity(), OTHER), X)
    fixed = made(name, S)
    if fixed is None or isinstance(S, sets.Varying):
        return
    growing = made(name, sets.Varying(lambda t: S, S.holds_identity))
    if growing is not None:
        assert stated(growing) == growing.regret_bound(X, 1.0) == math.inf
        assert not contracts(growing, X)
    held = made(name, sets.Varying(lambda t: S, S.holds_identity, S))
    if held is not None and "ftrl" not in name:  # whose bounds are about one set
        assert stated(held) == stated(fixed)
        assert contracts(held, X) == contracts(fixed, X)


@pytest.mark.parametrize("name", registry)
@pytest.mark.parametrize(
    "U",
    [Longer(), Minus(), Mixture(np.asarray([0.5, 0.5]), (Identity(), Longer()))],
    ids=["longer", "minus", "mixture"],
)
def test_experts_that_need_not_be_contractions_have_no_bound(name, U):
    for experts in ((Identity(), U), (U, Identity())):
        if (oracle := made(name, sets.Hull(experts))) is None:
            continue
        assert stated(oracle) == math.inf
        assert not contracts(oracle, X)
        honest = made(name, sets.Hull((Identity(), Told())))
        assert stated(honest) == stated(made(name, sets.Hull((Identity(), OTHER))))


def test_what_operators_say_of_themselves():
    assert [declares(U, "contraction") for U in (Identity(), OTHER, Dense(np.eye(3)), Told())] == [True] * 4
    assert [declares(U, "contraction") for U in (Longer(), Minus())] == [False] * 2
    assert [declares(U, "identity") for U in (Identity(), OTHER, Minus())] == [True, False, False]
    assert not sets.Hull((Minus(), OTHER)).holds_identity
    assert stated(Constant(Minus())) == math.inf


WIDE = OGD(sets.WideBox())


class Own:
    """A user's oracle, which says nothing of its operators."""

    def init(self, x):
        return ()

    def play(self, state, m):
        return Longer()

    def learn(self, state, loss):
        return state

    def regret_bound(self, x, energy):
        return 0.0


@pytest.mark.parametrize(
    "member",
    [WIDE, Constant(Longer()), Own(), Compared(WIDE, [Identity()])],
    ids=["wide", "constant", "own", "compared"],
)
def test_oracles_over_others_ask_them(member):
    good = OverOracles([Constant(), OGD(sets.Box())])
    assert stated(good) < math.inf
    bad = OverOracles([Constant(), member])
    for oracle in (bad, OverOracles([Constant(), bad]), Compared(bad, [Identity()]), OverOracles([good, bad])):
        assert stated(oracle) == math.inf
    halves = OverOracles([Product([Constant(), member], shapes=[(1,), (2,)])])
    assert stated(halves) == math.inf
    conversion = SmoothConversion(bad, Smooth(gap=1.0, M=2.0, beta=1.0, sigma=0.5, T=10))
    assert "states no regret bound" in conversion.a_priori(X)
