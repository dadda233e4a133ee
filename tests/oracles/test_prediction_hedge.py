"""Exponential weights for the prediction loss: the plain loop, the bound, and that the rate is the largest allowed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import reference_predictions as literal
from conftest import numpy_of
from contracts import LIBRARIES, SHAPES, cut
from crowds import COMMON, rounds, seeds
from o2nc.losses import PredictionLoss
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.oracles import PredictionHedge
from o2nc.sets import Box
from o2nc.testing import check_oracle
from sentences import check

D, T, RUNS = 3, 12, 16
MASK, SWAP = [1.0, 0.0, -0.5], -np.eye(D)[::-1].copy()
PRIOR = (0.5, 0.3, 0.2)
FUNCTIONS = [
    lambda m: m,
    lambda m: [p * q for p, q in zip(m, MASK, strict=True)],
    lambda m: [-p for p in reversed(m)],
]


def experts(xp):
    return [Identity(), Diagonal(xp.array(MASK)), Dense(xp.array(SWAP))]


@pytest.mark.parametrize("prior", [None, PRIOR])
def test_it_is_the_plain_loop(xp, prior):
    oracle, rng = PredictionHedge(experts(xp), prior), np.random.default_rng(0)
    ms, ss = rng.normal(size=(2, T, 2, D)) * np.linspace(0.1, 2.0, T)[:, None, None]
    wanted = [
        literal.prediction_hedge(FUNCTIONS, ms[:, row].tolist(), ss[:, row].tolist(), prior or [1 / 3] * 3)
        for row in range(2)
    ]
    step = xp.transform(lambda state, s, m: (oracle.play(state, m) @ m, oracle.learn(state, PredictionLoss(s, m, 0.3))))
    state = oracle.init(xp.array(ms[0]))
    for t in range(T):
        v, state = step(state, xp.array(ss[t]), xp.array(ms[t]))
        np.testing.assert_allclose(numpy_of(v), [rows[t] for rows in wanted], rtol=1e-10, atol=1e-12)


@settings(max_examples=20, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_is_below_the_bound(seed, T):
    oracle, (directions, samples) = PredictionHedge(experts(LIBRARIES["numpy"]), PRIOR), literal.crowd(seed, RUNS, D)
    state, losses, size, worst = oracle.init(np.zeros((RUNS, D))), 0.0, 0.0, 0.0
    for t in range(1, T + 1):
        m = directions(t)
        v = oracle.play(state, m) @ m
        s = samples(t, m, v)
        loss, images = PredictionLoss(s, m), [U @ m for U in oracle.experts.operators]
        losses = losses + loss(v) - np.concatenate([loss(w) for w in images], axis=-1)
        missed = np.max([np.sum((w - s) ** 2, axis=-1, keepdims=True) for w in images], axis=0)
        worst = np.maximum(worst, missed)
        size = size + np.sum(m**2 + s**2, axis=-1, keepdims=True)
        state = oracle.learn(state, loss)
    bound = oracle.spent_bound(state)
    assert np.all(losses <= bound + 1e-9 * size)
    assert np.all(bound <= 2 * worst * (1 + np.log(1 / np.asarray(PRIOR))) + 1e-9 * size)


def test_the_regret_does_not_grow_with_T():
    """Signs that nobody predicts: after 3000 rounds the regret against the best is below B_T (log 2 + 1)."""
    rng, runs = np.random.default_rng(1), 200
    oracle, m = PredictionHedge([Identity(), Diagonal(np.asarray([-1.0]))]), np.ones((runs, 1))
    state, losses = oracle.init(m), 0.0
    for _ in range(3000):
        s = rng.choice([-1.0, 1.0], size=(runs, 1))
        loss, v = PredictionLoss(s, m), oracle.play(state, m) @ m
        losses, state = losses + loss(v) - np.concatenate([loss(m), loss(-m)], axis=-1), oracle.learn(state, loss)
    assert np.max(losses) <= 4 * (math.log(2) + 1)
    np.testing.assert_array_equal(state.B, 4.0)


@pytest.mark.slow
def test_a_game_that_nearly_reaches_the_logarithm():
    """Many experts, one of which predicts: the others fade, and the part B log K of the bound is lost."""
    K, small = 64, 2e-3
    directions = [Diagonal(np.asarray([1.0]))] + [Diagonal(np.asarray([1 - small]))] * (K - 1)
    oracle, m = PredictionHedge(directions), np.ones(1)
    state = oracle.learn(oracle.init(m), PredictionLoss(np.zeros(1), m))  # B = 1, nearly nothing learned
    regret = 0.0
    for _ in range(9000):
        loss, v = PredictionLoss(2 * m, m), oracle.play(state, m) @ m  # all miss by 1 or a little more
        regret, state = regret + loss(v) - loss(m), oracle.learn(state, loss)
    assert 0.99 * math.log(K) * state.B[0] < regret[0] <= state.B[0] * (math.log(K) + 1)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_contract_on_blocks(library):
    lib = LIBRARIES[library]
    flat, blocks = (PredictionHedge([Identity(), Diagonal(mask)]) for mask in (lib.array(MASK), cut(lib, MASK)))
    check_oracle(flat, lib.array(np.zeros(D)), shapes=SHAPES, blocks=blocks, regret=False)
    check_oracle(blocks, cut(lib, np.zeros(D)), regret=False)


WRONG = {
    "a box": (lambda: PredictionHedge(Box()), TypeError, "`PredictionHedge(experts=...)`", "Box"),
    "prior": (lambda: PredictionHedge([Identity()], [0.5, 0.5]), ValueError, "`PredictionHedge(prior=...)`", "1;"),
    "no experts": (lambda: PredictionHedge([]), ValueError, "`Hull(operators=...)`", "got none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(*WRONG[name])
