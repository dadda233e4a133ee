"""Least squares over block-diagonal and Kronecker factors: the plain loop, its relatives, its bound, a certificate."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import o2nc
import reference_predictions as literal
from conftest import BACKENDS, numpy_of
from crowds import COMMON, rounds, seeds
from o2nc import Blocks, PredictionConversion, Smooth
from o2nc.losses import PredictionLoss
from o2nc.oracles import FullLeastSquares, LeastSquares, LeftLeastSquares, Product, RightLeastSquares
from o2nc.sets import BlockBox
from o2nc.testing import check_oracle
from sentences import check

D, LAM, RUNS = 12, 0.7, 8
CASES = {  # the oracle, and the shape of its matrices as it sees them: the factor is from the left or from the right
    "blocks": (LeftLeastSquares((3, 1), LAM), (3, 1), "left"),
    "kronecker": (LeftLeastSquares((3, 4), LAM), (3, 4), "left"),
    "several": (LeftLeastSquares((2, 3), LAM), (2, 3), "left"),
    "right": (RightLeastSquares((3, 4), LAM), (3, 4), "right"),
    "right, several": (RightLeastSquares((3, 2), LAM), (3, 2), "right"),
}
every_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(params=[backend for backend in BACKENDS if backend.name != "jax"], ids=repr)
def xp(request):
    """JAX is compiled here: its eager mode is slow."""
    return request.param


def features(shape, side):
    """For every entry (i, j) of the factor of every matrix, what it makes of m: one row or column of X elsewhere."""
    p, q = shape

    def of(m):
        found = []
        for start in range(0, len(m), p * q):
            X = np.asarray(m[start : start + p * q]).reshape(q, p).T
            size = p if side == "left" else q
            for i in range(size):
                for j in range(size):
                    E = np.zeros((size, size))
                    E[i, j] = 1.0
                    v = np.zeros(len(m))
                    v[start : start + p * q] = (E @ X if side == "left" else X @ E.T).T.ravel()
                    found.append(v.tolist())
        return found

    return of


@every_case
def test_it_is_the_plain_loop(xp, name):
    oracle, shape, side = CASES[name]
    ms, ss = np.random.default_rng(0).normal(size=(2, 3, 2, D)) * np.asarray([2.0, 0.5])[:, None]
    wanted = [
        literal.least_squares(features(shape, side), ms[:, row].tolist(), ss[:, row].tolist(), LAM) for row in range(2)
    ]
    step = xp.transform(lambda state, s, m: (oracle.play(state, m) @ m, oracle.learn(state, PredictionLoss(s, m, 0.3))))
    state = oracle.init(xp.array(ms[0]))
    for t in range(3):
        v, state = step(state, xp.array(ss[t]), xp.array(ms[t]))
        np.testing.assert_allclose(numpy_of(v), [rows[t] for rows in wanted], rtol=0, atol=1e-12)


def run(oracle, ms, ss):
    """What is played, and the bounds after each round."""
    state, played, bounds = oracle.init(ms[0]), [], []
    for m, s in zip(ms, ss, strict=True):
        played.append(oracle.play(state, m) @ m)
        state = oracle.learn(state, PredictionLoss(s, m))
        bounds.append(oracle.spent_bound(state))
    return np.stack(played), np.stack(bounds)


TWINS = {  # the same learner in other words
    "blocks": (LeftLeastSquares((3, 1), LAM), Product([FullLeastSquares(LAM)] * 4, [(3,)] * 4)),
    "one block": (LeftLeastSquares((12, 1), LAM), FullLeastSquares(LAM)),
    "a factor for each block": (LeftLeastSquares((1, 4), LAM), LeastSquares(BlockBox(shapes=((4,),) * 3), LAM)),
    "the other side": (RightLeastSquares((4, 1), LAM), LeastSquares(BlockBox(shapes=((4,),) * 3), LAM)),
    "a row": (RightLeastSquares((1, 3), LAM), LeftLeastSquares((3, 1), LAM)),
}


@pytest.mark.parametrize("name", TWINS)
def test_it_is_its_relatives(name):
    ms, ss = np.random.default_rng(1).normal(size=(2, 8, RUNS, D))
    one, other = TWINS[name]
    state, there, bounds = other.init(ms[0]), [], []
    for m, s in zip(ms, ss, strict=True):
        there.append(other.play(state, m) @ m)
        state = other.learn(state, PredictionLoss(s, m))
        parts = zip(other.oracles, state.parts, strict=True) if name == "blocks" else [(other, state)]
        bounds.append(sum(oracle.spent_bound(part) for oracle, part in parts))
    played, mine = run(one, ms, ss)
    np.testing.assert_allclose(played, there, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mine, bounds, rtol=0, atol=1e-11)


@every_case
@settings(max_examples=5, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_is_below_the_bound(name, seed, T):
    oracle = CASES[name][0]
    directions, samples = literal.crowd(seed, RUNS, D)
    state, regret, size = oracle.init(np.zeros((RUNS, D))), 0.0, 0.0
    for t in range(1, T + 1):
        m = directions(t)
        v = oracle.play(state, m) @ m
        loss = PredictionLoss(samples(t, m, v), m)
        regret, state = regret + loss(v) - loss(m), oracle.learn(state, loss)
        size = size + np.sum(m**2 + loss.s**2, axis=-1, keepdims=True)
        assert np.all(regret <= oracle.spent_bound(state) + 1e-9 * size)


@every_case
def test_a_game_that_reaches_the_bound(name):
    """Residuals by turns with small steps lose nearly what the bound says, as for `LeastSquares`."""
    oracle, m = CASES[name][0], np.full(D, 1e-3)
    state, regret = oracle.init(m), 0.0
    for t in range(200):
        v = oracle.play(state, m) @ m
        loss = PredictionLoss(m + (-1.0) ** t, m)
        regret, state = regret + float((loss(v) - loss(m))[0]), oracle.learn(state, loss)
    assert 0.9 < regret / float(oracle.spent_bound(state)[0]) <= 1 + 1e-9


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_matrix_as_blocks(side):
    """The contract on `Blocks` of one matrix, with the same numbers."""
    kind = LeftLeastSquares if side == "left" else RightLeastSquares
    x = np.zeros(6)
    check_oracle(kind((3, 2)), x, shapes=[(3, 2)], regret=False, contraction=False)
    check_oracle(kind((3, 2)), Blocks((np.zeros((3, 2)),)), regret=False, contraction=False)


def test_the_certificate_knows_the_structure():
    """The price of learning in the a-priori theorem is that of the size of a factor, not of the dimension."""
    constants = Smooth.least_squares(gap=2.0, beta=1.0, sigma=0.5, T=500)
    bound = lambda oracle: PredictionConversion(oracle, constants).a_priori(np.zeros(D)).bound
    scalar, blocks, kronecker = (bound(LeftLeastSquares(shape)) for shape in ((1, 12), (2, 1), (3, 4)))
    full = bound(FullLeastSquares())
    assert scalar < blocks < kronecker < full
    assert bound(LeftLeastSquares((12, 1))) == pytest.approx(full)
    assert LeftLeastSquares((3, 4), 0.5).regret_moments(np.zeros(D), 2.0) == (12.0, 1.5)
    error, N = 1.0, 10.0
    expected = (error + 12.0 * math.log1p(N / 1.5)) / 2
    assert LeftLeastSquares((3, 4), 0.5).expected_bound(np.zeros(D), error, 2.0, N) == pytest.approx(expected)


def test_it_learns_a_factor_that_it_is_not_told():
    """The noise of a matrix is in one direction of its rows: a factor from the left keeps the others."""
    constants = Smooth.least_squares(gap=8.0, beta=1.0, sigma=4.0, T=400)
    noisy = np.asarray([[0.6], [0.8], [0.0]])

    def gradient(x, rng):
        noise = noisy @ rng.normal(size=(len(x), 1, 4))
        return np.sin(x) + 2 * noise.swapaxes(1, 2).reshape(len(x), D)

    ends = {}
    for name, oracle in {"left": LeftLeastSquares((3, 4)), "none": LeftLeastSquares((3, 4), 1e12)}.items():
        conversion = PredictionConversion(oracle, constants)
        result = o2nc.minimize(gradient, np.full((16, D), 1.0), conversion, seed=1)
        ends[name] = float(np.mean(np.sin(np.asarray(result.last)) ** 2))
    assert ends["left"] < 0.5 * ends["none"]


ERRORS = {
    "shape": (lambda: LeftLeastSquares((3, 0)), ValueError, "`LeftLeastSquares(shape=...)`", "got (3, 0)"),
    "lambda": (lambda: RightLeastSquares((3, 1), 0.0), ValueError, "`RightLeastSquares(lam=...)`", "got 0.0"),
    "size": (lambda: LeftLeastSquares((5, 1)).init(np.ones(D)), ValueError, "must divide the 12 entries", "got (5, 1)"),
    "block": (
        lambda: LeftLeastSquares((3, 2)).init(Blocks((np.ones((2, 3)),))), ValueError, "one block of shape (3, 2)",
        "((2, 3),)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    check(*ERRORS[name])
