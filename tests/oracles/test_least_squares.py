"""Online least squares: the plain loop, its bound on every kind of losses, and games that nearly reach it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import reference_predictions as literal
from conftest import numpy_of
from contracts import LIBRARIES, SHAPES, cut, in_every_library
from crowds import COMMON, rounds, seeds
from o2nc import Blocks
from o2nc.losses import PredictionLoss
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.oracles import FullLeastSquares, LeastSquares, Product
from o2nc.sets import BlockBox, Box, Fantope, Hull, Varying, WideBox
from o2nc.testing import check_oracle
from sentences import check

D, T, RUNS = 3, 12, 16
MASK, SWAP = [1.0, 0.0, -0.5], np.eye(D)[::-1].copy()
CUTS = ((2,), (1,))
CASES = {  # from an array library to the oracle, and the features of the plain loop
    "scalar": (lambda xp: LeastSquares([Identity()], 0.7), lambda m: [m]),
    "operators": (
        lambda xp: LeastSquares([Identity(), Diagonal(xp.array(MASK)), Dense(xp.array(SWAP))], 0.7),
        lambda m: [m, [p * q for p, q in zip(m, MASK, strict=True)], m[::-1]],
    ),
    "diagonal": (
        lambda xp: LeastSquares(Box(), 0.7), lambda m: [[p * (i == j) for j, p in enumerate(m)] for i in range(D)],
    ),
    "blocks": (
        lambda xp: LeastSquares(BlockBox(shapes=CUTS), 0.7), lambda m: [[m[0], m[1], 0.0], [0.0, 0.0, m[2]]],
    ),
    "full": (lambda xp: FullLeastSquares(0.7), None),
}  # fmt: skip
NUMPY = LIBRARIES["numpy"]
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_it_is_the_plain_loop(xp, name):
    make, features = CASES[name]
    oracle, rng = make(xp), np.random.default_rng(0)
    ms, ss = rng.normal(size=(2, T, 2, D)) * np.asarray([2.0, 0.5])[:, None]
    wanted = [
        literal.least_squares(features, ms[:, row].tolist(), ss[:, row].tolist(), 0.7)
        if features
        else literal.full_least_squares(ms[:, row].tolist(), ss[:, row].tolist(), 0.7)
        for row in range(2)
    ]
    step = xp.transform(lambda state, s, m: (oracle.play(state, m) @ m, oracle.learn(state, PredictionLoss(s, m, 0.3))))
    state = oracle.init(xp.array(ms[0]))
    for t in range(T):
        v, state = step(state, xp.array(ss[t]), xp.array(ms[t]))
        np.testing.assert_allclose(numpy_of(v), [rows[t] for rows in wanted], rtol=1e-9, atol=1e-10)


def played(oracle, directions, samples, T, runs=RUNS, d=D):
    """The state, the regret against the identity, and directions and samples; of scale 1."""
    state, regret, rows = oracle.init(np.zeros((runs, d))), 0.0, []
    for t in range(1, T + 1):
        m = directions(t)
        v = oracle.play(state, m) @ m
        s = samples(t, m, v)
        loss = PredictionLoss(s, m)
        regret, state = regret + loss(v) - loss(m), oracle.learn(state, loss)
        rows.append((m, s))
    return state, regret, rows


def direct_bound(features, rows, lam, row):
    """The stated bound against the identity, from the docstring, of one run."""
    k = len(features(rows[0][0][row].tolist()))
    A, H, total = lam * np.eye(k), np.zeros(k), 0.0
    for m, s in rows:
        F = np.asarray(features(m[row].tolist()))
        A, b = A + F @ F.T, F @ (s[row] - m[row])
        H, total = H + b, total + b @ np.linalg.solve(A, b) / 2
    return total - H @ np.linalg.solve(A, H) / 2


@every_case
@settings(max_examples=6, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_is_below_the_bound(name, seed, T):
    oracle = CASES[name][0](NUMPY)
    state, regret, rows = played(oracle, *literal.crowd(seed, RUNS, D), T)
    size = sum(np.sum(m**2 + s**2, axis=-1, keepdims=True) for m, s in rows)
    assert np.all(regret <= oracle.spent_bound(state) + 1e-9 * size)
    if CASES[name][1]:
        wanted = [direct_bound(CASES[name][1], rows, 0.7, row) for row in range(4)]
        assert np.all(np.abs(oracle.spent_bound(state)[:4, 0] - wanted) <= 1e-8 * (1 + size[:4, 0]))


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_against_any_other_combination(seed, T):
    """lambda |w|^2 / 2 + spent, and what is subtracted: the best w has the least to spare."""
    oracle = LeastSquares(Box(), 0.7)
    state, regret, rows = played(oracle, *literal.crowd(seed, RUNS, D), T)
    size = sum(np.sum(m**2 + s**2, axis=-1, keepdims=True) for m, s in rows)
    A = 0.7 + state.A
    for w in (state.H / A, np.ones(D), np.random.default_rng(seed).normal(size=(RUNS, D))):
        other = regret
        for m, s in rows:
            loss = PredictionLoss(s, m)
            other = other + loss(m) - loss((1 + w) * m)
        spare = np.sum(0.7 / 2 * w**2 - (state.H - A * w) ** 2 / (2 * A), axis=-1, keepdims=True)
        assert np.all(other <= state.spent + spare + 1e-9 * size * (1 + np.sum(w**2, axis=-1, keepdims=True)))


@every_case
def test_a_game_that_reaches_the_bound(name):
    """While H is 0 a round costs nothing; then b and -b by turns with small steps lose nearly what the bound says."""
    oracle, small = CASES[name][0](NUMPY), 1e-3
    directions = lambda t: np.full((1, D), small)

    def samples(t, m, v):
        return m + (1.0 if t % 2 else -1.0) * np.asarray([[1.0, 1.0, 1.0]])

    state, regret, _ = played(oracle, directions, samples, 200, runs=1)
    bound = float(oracle.spent_bound(state)[0, 0])
    assert 0.99 * bound < float(regret[0, 0]) <= bound


def test_the_bound_grows_as_log_T():
    """Noise of variance 1 around the identity, m = 1: E w_t^2 / 2 = (t - 1) / (2 (t + 1)^2) is lost in round t."""
    oracle, rng = LeastSquares([Identity()]), np.random.default_rng(3)
    samples = lambda t, m, v: m + rng.choice([-1.0, 1.0], size=m.shape)
    _, regret, _ = played(oracle, lambda t: np.ones((2000, 1)), samples, 400, runs=2000, d=1)
    limit = oracle.expected_bound(np.zeros(1), error=0.0, sigma=1.0, N=400.0)
    assert limit == pytest.approx(math.log(401) / 2)
    lost = sum((t - 1) / (2 * (t + 1) ** 2) for t in range(1, 401))
    assert lost > 0.7 * limit
    assert np.mean(regret) == pytest.approx(lost, rel=0.03)


@pytest.mark.parametrize("name", CASES)
def test_the_expected_bound(name):
    """Second moments alone: m is off the mean of the samples by e, noise has variance sigma^2 in all."""
    oracle, rng, runs, T = CASES[name][0](NUMPY), np.random.default_rng(5), 4000, 60
    base, e = rng.normal(size=(T, D)), 0.3 * rng.normal(size=(T, D))
    noise = lambda: rng.choice([-1.0, 1.0], size=(runs, D)) * np.asarray([1.0, 0.5, 0.1])
    state, regret, _ = played(
        oracle, lambda t: np.broadcast_to(base[t - 1], (runs, D)), lambda t, m, v: m - e[t - 1] + noise(), T, runs=runs
    )
    N, error, sigma = np.sum(base**2), np.sum(e**2), math.sqrt(1.26)
    spent = float(np.mean(oracle.spent_bound(state)))
    assert np.mean(regret) <= spent <= oracle.expected_bound(np.zeros(D), error, sigma, N)


def test_a_block_for_all_is_one_identity_and_a_product_is_its_parts():
    rng = np.random.default_rng(1)
    one, two = LeastSquares([Identity()]), LeastSquares(BlockBox(shapes=((D,),)))
    parts = Product([one, one], CUTS)
    blockwise = LeastSquares(BlockBox(shapes=CUTS))
    states = [oracle.init(np.zeros(D)) for oracle in (one, two, parts, blockwise)]
    for m, s in rng.normal(size=(T, 2, D)):
        a, b, c, d = (
            oracle.play(state, m) @ m for oracle, state in zip((one, two, parts, blockwise), states, strict=True)
        )
        np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_allclose(c, d, rtol=1e-12)
        states = [
            oracle.learn(state, PredictionLoss(s, m))
            for oracle, state in zip((one, two, parts, blockwise), states, strict=True)
        ]


@in_every_library
def test_the_contract_on_blocks(lib):
    for flat, blocks in (
        (LeastSquares(Box()), LeastSquares(Box())),
        (LeastSquares(BlockBox(shapes=tuple(SHAPES))), LeastSquares(BlockBox())),
        (
            LeastSquares([Identity(), Diagonal(lib.array(MASK))]),
            LeastSquares([Identity(), Diagonal(cut(lib, MASK))]),
        ),
    ):
        check_oracle(flat, lib.array(np.zeros(D)), shapes=SHAPES, blocks=blocks, regret=False, contraction=False)
        check_oracle(blocks, cut(lib, np.zeros(D)), regret=False, contraction=False)


def test_sets_that_vary():
    """The features of a round may be any: the bound is the same."""
    hull = lambda t: Hull((Identity(), Dense(SWAP / t)))
    oracle = LeastSquares(Varying(hull, holds_identity=True))
    state, regret, _ = played(oracle, *literal.crowd(3, RUNS, D), 20)
    assert np.all(regret <= oracle.spent_bound(state) + 1e-7 * (1 + np.abs(regret)))


def test_operators_may_have_any_size():
    oracle, m = LeastSquares(WideBox()), np.asarray([1.0, 1.0])
    state = oracle.init(m)
    for _ in range(200):
        state = oracle.learn(state, PredictionLoss(np.asarray([5.0, -4.0]), m))
    np.testing.assert_allclose(oracle.play(state, m) @ m, [5.0, -4.0], atol=0.1)


WRONG = {
    "a set without products": (lambda: LeastSquares(Fantope(1)), TypeError, "`LeastSquares(set=...)`", "`gram`"),
    "no identity": (
        lambda: LeastSquares([Diagonal(np.ones(2))]).init(np.ones(2)), ValueError, "hold the identity", "Hull",
    ),
    "lambda 0": (lambda: LeastSquares(Box(), 0.0), ValueError, "`LeastSquares(lam=...)`", "positive; got 0.0"),
    "full lambda": (lambda: FullLeastSquares(-1.0), ValueError, "`FullLeastSquares(lam=...)`", "got -1.0"),
    "full on blocks": (
        lambda: FullLeastSquares().init(Blocks((np.ones(2),))), TypeError, "`FullLeastSquares`", "got Blocks",
    ),
    "a negative error": (
        lambda: LeastSquares(Box()).expected_bound(np.ones(2), -1.0, 1.0, 1.0), ValueError, "`error`", "got -1.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(*WRONG[name])
