"""Coin betting, online Frank-Wolfe and matrix weights against literal loops, and the inequalities of their proofs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
import reference_coins_and_steps as literal
from conftest import numpy_of
from o2nc.losses import LinearLoss
from o2nc.oracles import FTRL, OMD, BinaryEntropic, CoinBetting, FrankWolfe
from o2nc.oracles.coin_betting import inward
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall

COMMON = {"deadline": None, "derandomize": True, "database": None}
D, T = 3, 12
ONES, EYE = [1.0] * D, np.eye(D).ravel().tolist()
MATRICES = ("SpectralBall", "PositiveContractions")
SETS = {  # the set, where a learner starts that starts at the identity, the projection, the linear minimiser
    "Box": (Box(), ONES, literal.clip(0.0, 1.0), literal.best_corner(literal.box_corners(0.0, 1.0, D))),
    "inner box": (
        Box(-0.25, 0.75), [0.75] * D, literal.clip(-0.25, 0.75),
        literal.best_corner(literal.box_corners(-0.25, 0.75, D)),
    ),
    "Hull": (None, [1.0, 0.0, 0.0], literal.to_simplex, literal.best_corner(np.eye(D).tolist())),
    "SpectralBall": (SpectralBall(), EYE, literal.to_spectral(-1.0, D), literal.best_matrix(-1.0, D)),
    "PositiveContractions": (
        PositiveContractions(), EYE, literal.to_spectral(0.0, D), literal.best_matrix(0.0, D),
    ),
}  # fmt: skip


def hull(xp):
    from o2nc.operators import Dense, Diagonal, Identity

    return Hull((Identity(), Diagonal(xp.array([1.0, 0.0, -0.5])), Dense(xp.array(np.eye(D)[::-1].copy()))))


def coordinates(name, s, m):
    """The gradient of -<s, U m> as a list."""
    if name in MATRICES:
        return (-0.5 * (np.outer(s, m) + np.outer(m, s))).ravel().tolist()
    if name == "Hull":
        return [-float(s @ m), -float(s @ (np.asarray([1.0, 0.0, -0.5]) * m)), -float(s @ m[::-1])]
    return (-s * m).tolist()


def compare(xp, oracle, name, references, atol, seed=0):
    """T rounds of the oracle on two replications, each beside a reference of its own."""
    rng = np.random.default_rng(seed)
    ss, ms = rng.normal(size=(2, T, 2, D)) * np.asarray([0.3, 2.0])[:, None]
    learn = xp.transform(lambda state, s, m: oracle.learn(state, LinearLoss(s, m, 1.0)))
    state = oracle.init(xp.array(ms[0]))
    for s, m in zip(ss, ms, strict=True):
        found = numpy_of(state.u).reshape(2, -1)
        for row, reference in enumerate(references):
            np.testing.assert_allclose(found[row], reference.ask(), rtol=0, atol=atol)
            reference.reveal(coordinates(name, s[row], m[row]))
        state = learn(state, xp.array(s), xp.array(m))
    return state


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scale", [0.0, 3.0])
def test_coin_betting_is_the_literal_one(xp, name, scale):
    S, start, project, _ = SETS[name]
    oracle = CoinBetting(S or hull(xp), endowment=0.7, scale=scale)
    references = [literal.Bettor(start, project, 0.7, scale) for _ in range(2)]
    state = compare(xp, oracle, name, references, 1e-12)
    assert np.max(np.abs(numpy_of(state.w - state.u))) > 0.01  # the bets have left the set, so that all was tried


@pytest.mark.parametrize("name", SETS)
def test_frank_wolfe_is_the_literal_one(xp, name):
    S, start, _, minimize = SETS[name]
    start = [1 / D] * D if name == "Hull" else start
    oracle = FrankWolfe(S or hull(xp), eta=0.2)
    compare(xp, oracle, name, [literal.ConditionalGradient(start, minimize, 0.2) for _ in range(2)], 1e-12)


@pytest.mark.parametrize("learner", [OMD, FTRL])
def test_matrix_weights_are_the_literal_ones(xp, learner):
    oracle = learner(PositiveContractions(), eta=0.3, mirror=BinaryEntropic())
    references = [literal.MatrixWeights(D, 0.3) for _ in range(2)]
    compare(xp, oracle, "PositiveContractions", references, 1e-12)


def potential(A, x):
    """log of 2^A Gamma((A + 1 + x) / 2) Gamma((A + 1 - x) / 2) / (pi Gamma(A + 1)), the money of a bettor."""
    gamma = math.lgamma
    return A * math.log(2) + gamma((A + 1 + x) / 2) + gamma((A + 1 - x) / 2) - math.log(math.pi) - gamma(A + 1)


sizes, shares = st.floats(0, 1e3), st.floats(-1, 1)


@settings(max_examples=300, **COMMON)
@given(A=sizes, share=shares, c=st.lists(shares, min_size=2, max_size=2), k=st.floats(1, 50))
def test_the_inequalities_of_coin_betting(A, share, c, k):
    """A bet wins what the potential grows by; a new scale costs what it is endowed with; the potential is large."""
    x = A * share
    c = np.asarray(c) / max(1.0, np.linalg.norm(c))
    grown = potential(A + np.linalg.norm(c), np.hypot(x + c[0], c[1]))
    assert grown <= potential(A, x) + math.log1p(c[0] * x / (A + 1)) + 1e-9
    if potential(A, x) < 600:
        assert math.exp(potential(A / k, x / k)) <= 1 - 1 / k + math.exp(potential(A, x)) / k + 1e-9
    assert potential(A, x) >= x**2 / (2 * (A + 1)) - 0.5 * math.log1p(math.pi * A / 2) - 1e-9


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


def test_where_the_learners_start():
    x = np.zeros((2, D))
    half = np.broadcast_to(np.eye(D) / 2, (2, D, D))
    np.testing.assert_array_equal(OMD(PositiveContractions(), 0.1, BinaryEntropic()).init(x).u, half)
    np.testing.assert_array_equal(FTRL(Box(0.6, 0.9), 0.1, BinaryEntropic()).init(x).u, np.full((2, D), 0.6))
    np.testing.assert_array_equal(CoinBetting(games.hull().set).init(np.zeros((2, 4))).u, np.eye(4)[[0, 0]])
    np.testing.assert_array_equal(CoinBetting(Box(0.0, 0.5)).init(x).u, np.full((2, D), 0.5))


def test_a_gradient_longer_than_the_scale_is_survived():
    """The scale is a promise that may be broken: the money stays positive."""
    oracle, m = CoinBetting(Box(-1.0, 1.0), scale=1e-3), np.ones(1)
    state = oracle.init(m)
    for t in range(40):
        state = oracle.learn(state, LinearLoss((-1.5) ** t * m, m, 1.0))
        assert state.M > 0
        assert abs(state.u) <= 1


def test_silence_changes_nothing():
    """Gradients of 0, before the first that is not and after."""
    m, zero = np.ones((1, D)), LinearLoss(np.zeros((1, D)), np.ones((1, D)), 1.0)
    for oracle in (CoinBetting(SpectralBall()), CoinBetting(Box()), CoinBetting(Box(), scale=2.0)):
        state = oracle.init(m)
        for _ in range(3):
            before, state = state, oracle.learn(state, zero)
            np.testing.assert_allclose(state.u, before.u, rtol=0, atol=1e-15)
        state = oracle.learn(oracle.learn(state, LinearLoss(-m, m, 1.0)), LinearLoss(-m, m, 1.0))
        before, state = state, oracle.learn(state, zero)
        np.testing.assert_allclose(state.u, before.u, rtol=0, atol=1e-15)
        assert np.all(state.u.sum() < before.start.sum())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_rounding_takes_out_of_a_set_is_inside(dtype):
    """The projection of an inner point differs from it by rounding, and that is no direction out of the set."""
    rng = np.random.default_rng(0)
    A, g = (B + B.swapaxes(1, 2) for B in rng.normal(size=(2, 50, 8, 8)).astype(dtype))
    S, w = SpectralBall(), 0.9 * A / np.linalg.norm(A, axis=(1, 2), keepdims=True)
    oracle = CoinBetting(S)
    state = oracle.init(np.zeros((50, 8), dtype))._replace(w=w, u=S.project(w))
    assert np.all(np.any(state.w != state.u, axis=(1, 2)))
    np.testing.assert_array_equal(inward(S, g, state), g)
    out = state._replace(w=2 * w, u=S.project(2 * w))
    changed = np.any(inward(S, g, out) != g, axis=(1, 2))
    outside = np.linalg.norm(2 * w, ord=2, axis=(1, 2)) > 1
    along = np.sum((out.w - out.u) * g, axis=(1, 2))
    np.testing.assert_array_equal(changed, outside & (along < 0))
    assert 0 < changed.sum() < outside.sum()


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
