"""Online Newton step: the plain loop, its bound on every kind of losses, and games that reach it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import reference_predictions as literal
from conftest import numpy_of
from contracts import LIBRARIES, SHAPES, cut
from crowds import COMMON, rounds, seeds
from o2nc.losses import PredictionLoss
from o2nc.operators import Identity
from o2nc.oracles import OnlineNewtonStep
from o2nc.sets import BlockBox, Box, Hull, PositiveContractions, WideBlockBox, WideBox
from o2nc.testing import check_oracle
from sentences import check

D, RUNS = 3, 16
EACH = [slice(i, i + 1) for i in range(D)]
SETS = {  # the set, its bounds, and the slices that share a factor
    "box": (Box(-0.5, 1.0), (-0.5, 1.0), EACH),
    "wide": (WideBox(-1.0, 3.0), (-1.0, 3.0), EACH),
    "blocks": (BlockBox(shapes=((2,), (1,))), (0.0, 1.0), [slice(0, 2), slice(2, 3)]),
    "scalar": (WideBlockBox(0.0, 5.0, shapes=((D,),)), (0.0, 5.0), [slice(0, D)]),
    "without the identity": (WideBox(1.5, 4.0), (1.5, 4.0), EACH),
}
every_set = pytest.mark.parametrize("name", SETS)


@every_set
def test_it_is_the_plain_loop(xp, name):
    S, (low, high), cuts = SETS[name]
    oracle, rng = OnlineNewtonStep(S, 0.7), np.random.default_rng(0)
    ms, ss = rng.normal(size=(2, 12, 2, D)) * np.asarray([0.7, 1.5])[:, None]
    wanted = [literal.newton_steps(ms[:, row].tolist(), ss[:, row].tolist(), 0.7, low, high, cuts) for row in range(2)]
    step = xp.transform(lambda state, s, m: (oracle.play(state, m) @ m, oracle.learn(state, PredictionLoss(s, m, 0.3))))
    state = oracle.init(xp.array(ms[0]))
    for t in range(12):
        v, state = step(state, xp.array(ss[t]), xp.array(ms[t]))
        np.testing.assert_allclose(numpy_of(v), [rows[t] for rows in wanted], rtol=1e-10, atol=1e-12)


@every_set
@settings(max_examples=6, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_is_below_the_bound(name, seed, T):
    S, (low, high), cuts = SETS[name]
    oracle, (directions, samples) = OnlineNewtonStep(S, 0.7), literal.crowd(seed, RUNS, D)
    start = oracle.init(np.zeros((RUNS, D)))
    rng, state, k = np.random.default_rng(seed), start, len(cuts)
    others = [start.u, np.full((RUNS, k), low), np.full((RUNS, k), high), rng.uniform(low, high, size=(RUNS, k))]
    regrets, size, A, direct = [0.0] * len(others), 0.0, np.full((RUNS, k), 0.7), 0.0
    for t in range(1, T + 1):
        m = directions(t)
        v = oracle.play(state, m) @ m
        s = samples(t, m, v)
        loss = PredictionLoss(s, m)
        g = np.stack([np.sum(m[:, c] * (v[:, c] - s[:, c]), axis=-1) for c in cuts], axis=-1)
        A = A + np.stack([np.sum(m[:, c] ** 2, axis=-1) for c in cuts], axis=-1)
        direct = direct + np.sum(g**2 / (2 * A), axis=-1, keepdims=True)
        regrets = [r + loss(v) - loss(S.operator(u) @ m) for r, u in zip(regrets, others, strict=True)]
        size = size + np.sum(m**2 + v**2 + s**2, axis=-1, keepdims=True)
        state = oracle.learn(state, loss)
    np.testing.assert_allclose(oracle.spent_bound(state), direct, rtol=1e-9)
    for regret, u in zip(regrets, others, strict=True):
        distance = 0.7 / 2 * np.sum((u - start.u) ** 2, axis=-1, keepdims=True)
        assert np.all(regret <= distance + direct + 1e-9 * size)


def test_a_game_that_reaches_the_bound():
    """One step from the start, back in the next round: both terms of the proof are equalities but for the last."""
    oracle, m = OnlineNewtonStep(WideBlockBox(-9.0, 9.0, shapes=((1,),)), 1.0), np.asarray([1e-3])
    state, regret = oracle.init(m), 0.0
    for t in range(400):
        v = oracle.play(state, m) @ m
        loss = PredictionLoss(v + (1.0 if t % 2 else -1.0), m)
        regret, state = regret + loss(v) - loss(m), oracle.learn(state, loss)
    assert 0.99 * state.spent[0] < regret[0] <= state.spent[0]


def test_the_bound_is_of_order_log_T():
    """Where predictions miss by at most B, the regret is below B^2 log(1 + N / lambda) / 2, d times; here B = 3."""
    oracle, rng = OnlineNewtonStep(WideBox(0.0, 2.0)), np.random.default_rng(2)
    m = np.ones((RUNS, D))
    state, regret = oracle.init(m), 0.0
    for t in range(1, 801):
        v, s = oracle.play(state, m) @ m, rng.choice([-1.0, 1.0], size=(RUNS, D))
        loss = PredictionLoss(s, m)
        regret, state = regret + loss(v) - loss(0.5 * m), oracle.learn(state, loss)
        assert np.all(regret <= D * (0.125 + 9 / 2 * math.log(1 + t)))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_contract_on_blocks_and_beyond_contractions(library):
    lib = LIBRARIES[library]
    oracle = OnlineNewtonStep(WideBox())
    check_oracle(oracle, lib.array(np.zeros(D)), shapes=SHAPES, regret=False, contraction=False)
    check_oracle(oracle, cut(lib, np.zeros(D)), regret=False, contraction=False)
    check_oracle(OnlineNewtonStep(Box()), lib.array(np.zeros(D)), regret=False)


WRONG = {
    "a hull": (lambda: OnlineNewtonStep(Hull((Identity(),))), TypeError, "`OnlineNewtonStep(set=...)`", "factorwise"),
    "matrices": (lambda: OnlineNewtonStep(PositiveContractions()), TypeError, "`OnlineNewtonStep(set=...)`", "gram"),
    "lambda": (lambda: OnlineNewtonStep(Box(), -1.0), ValueError, "`OnlineNewtonStep(lam=...)`", "got -1.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(*WRONG[name])
