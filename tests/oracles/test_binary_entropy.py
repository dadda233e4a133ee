"""The mirror map of the binary entropy: strong convexity, starts, rounding, and regret."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import stated_bounds as stated
from crowds import COMMON, POSITIVE, assert_below, assert_stated, crowd, rates, rounds, seeds
from games import ARENAS, FIXED, LinearLoss
from o2nc.oracles import FTRL, OMD, BinaryEntropic
from o2nc.sets import Box, PositiveContractions
from reached import ONE, TWO, against, assert_reached, drive, hold, share_of_regret_bound


@settings(max_examples=60, **COMMON)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(1, 5), spread=st.floats(0, 6))
def test_the_binary_entropy_is_four_strongly_convex(seed, d, spread):
    """D(U, V) >= 2 |U - V|^2, with the divergence from logarithms of matrices; nearly equal near I/2."""
    rng = np.random.default_rng(seed)
    Y = spread * rng.normal(size=(2, d, d))
    w, Q = np.linalg.eigh(Y + Y.swapaxes(1, 2))
    p = 1 / (1 + np.exp(-w))
    of = lambda k, values: (Q[k] * values) @ Q[k].T
    U, V = of(0, p[0]), of(1, p[1])
    entropies = [np.sum(q * np.log(q) + (1 - q) * np.log1p(-q)) for q in np.clip(p, 1e-300, 1 - 1e-16)]
    divergence = entropies[0] - entropies[1] - np.sum(of(1, w[1]) * (U - V))
    assert divergence >= 2 * np.sum((U - V) ** 2) - 1e-9
    found, peak = BinaryEntropic().divergence(PositiveContractions(), U, V).item(), np.abs(w).max()
    if peak < 20:  # log-odds of w are known to exp(w) roundings
        assert found == pytest.approx(divergence, abs=1e-12 + 1e-14 * math.exp(peak))
    if spread < 1e-2:
        assert divergence == pytest.approx(2 * np.sum((U - V) ** 2), rel=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operators", [Box(), PositiveContractions()], ids=["box", "matrices"])
def test_mirror_descent_forgets_nothing_but_rounding(operators, dtype):
    """Mirror descent reads its log-odds off the point: it may lose what is below rounding, and comes back from it."""
    eps, m = float(np.finfo(dtype).eps), np.ones(1, dtype)
    omd, ftrl = (learner(operators, eta=0.5, mirror=BinaryEntropic()) for learner in (OMD, FTRL))
    far = math.floor(-math.log(eps) / 0.5) - 4
    one, two = omd.init(m), ftrl.init(m)
    for t in range(3 * far):
        loss = LinearLoss(-m if t < far else m, m, 1.0)
        one, two = omd.learn(one, loss), ftrl.learn(two, loss)
        np.testing.assert_allclose(one.u, two.u, rtol=0, atol=20 * eps)
        p = 1 / (1 + math.exp(0.5 * min(t + 1, 2 * far - t - 1)))
        np.testing.assert_allclose(np.ravel(one.u)[0], p, rtol=100 * eps, atol=0)
    for _ in range(2 * far):  # beyond rounding
        one = omd.learn(one, LinearLoss(m, m, 1.0))
    for _ in range(far + 4):
        one = omd.learn(one, LinearLoss(-m, m, 1.0))
    assert np.ravel(one.u)[0] < 0.9


@pytest.mark.parametrize("name", [*POSITIVE, "positive-contractions"])
@pytest.mark.parametrize("learner", [OMD, FTRL])
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=rates)
def test_the_binary_entropy(name, learner, seed, T, eta):
    oracle = learner(ARENAS[name].set, eta=eta, mirror=BinaryEntropic())
    arena, record, comparators = crowd(oracle, name, seed, T)
    if learner is FTRL and name not in FIXED:
        return
    for u in comparators:
        assert_below(record, u, stated.binary_entropic(record, u, eta, None if name in POSITIVE else arena.d))
    assert_stated(oracle, arena, record)


BINARY = {  # a set, gradients that lead to a far corner, and the size of its matrices
    "box": (games.box(), [np.ones(3)], None),
    "interval of matrices": (games.spectral(0.0, d=1), [np.ones(1)], 1),
    "positive-contractions": (games.spectral(0.0), [ONE, TWO], 2),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("learner", [OMD, FTRL])
def test_the_binary_entropy_reaches_its_bound(name, learner):
    arena, ways, d = BINARY[name]
    eta = 0.08
    oracle = learner(arena.set, eta=eta, mirror=BinaryEntropic())
    holds, drives = (
        [way(g, n) for g in ways] for way, n in ((hold, round(4 * math.log(2) / eta**2)), (drive, round(5 / eta)))
    )
    record, best = against(oracle, arena, holds + drives)
    assert_reached(record, best, stated.binary_entropic(record, best, eta, d), ratio=0.97)
    if d == 1:
        back = [-g for g in ways]
        record, _ = against(oracle, arena, holds + [drive(g, round(5 / eta)) for g in back])
        assert 0.9 < share_of_regret_bound(oracle, arena, record) <= 1
