"""Coin betting, online Frank-Wolfe and matrix weights beside their literal transcriptions."""

import numpy as np
import pytest

import games
import reference_coins_and_steps as literal
from conftest import numpy_of
from games import LinearLoss
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.oracles import FTRL, OMD, BinaryEntropic, CoinBetting, FrankWolfe
from o2nc.sets import Box, Hull, PositiveContractions, SpectralBall

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


def test_where_the_learners_start():
    x = np.zeros((2, D))
    half = np.broadcast_to(np.eye(D) / 2, (2, D, D))
    np.testing.assert_array_equal(OMD(PositiveContractions(), 0.1, BinaryEntropic()).init(x).u, half)
    np.testing.assert_array_equal(FTRL(Box(0.6, 0.9), 0.1, BinaryEntropic()).init(x).u, np.full((2, D), 0.6))
    np.testing.assert_array_equal(CoinBetting(games.hull().set).init(np.zeros((2, 4))).u, np.eye(4)[[0, 0]])
    np.testing.assert_array_equal(CoinBetting(Box(0.0, 0.5)).init(x).u, np.full((2, D), 0.5))
