"""`Compared` and `Constant`: the regret that is kept is the regret."""

import math

import numpy as np
from hypothesis import given, settings

import games
from crowds import COMMON, RUNS, rates, rounds, seeds
from games import ARENAS
from o2nc.operators import Dense, Diagonal, Identity
from o2nc.oracles import Compared, Constant, Hedge


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_constant_oracle_has_no_regret_against_itself(seed, T):
    x = np.zeros((1, 3))
    for U, bound in ((Identity(), 0.0), (Diagonal(np.asarray([0.5, 0.5, 0.5])), math.inf)):
        oracle = Compared(Constant(U), [U, Identity()])
        rng, state = np.random.default_rng(seed), oracle.init(np.zeros((RUNS, 3)))
        for _ in range(T):
            s, m = rng.normal(size=(2, RUNS, 3))
            state = oracle.learn(state, games.LinearLoss(s, m, 1.0))
        assert np.all(state.regrets[:, 0] == 0)
        assert oracle.regret_bound(x, 1.0) == Constant(U).regret_bound(x, 1.0) == bound
        assert np.all(state.regrets[:, 1] <= oracle.regret_bound(x, 1.0))


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates)
def test_compared_measures_the_regret_and_keeps_the_bound(seed, T, gamma):
    arena = ARENAS["hull"]
    experts = arena.set.operators
    inside = Hedge(experts, gamma=gamma)
    oracle = Compared(inside, [*experts, lambda t: Dense(np.eye(4)[::-1] / t)])
    record = games.play(oracle, arena, games.adversary(seed, RUNS, 4), T, RUNS, seed)
    for j, e in enumerate(np.eye(4)):
        np.testing.assert_allclose(record.state.regrets[:, j], record.regret(e), rtol=0, atol=1e-9)
    moving = record.loss - record.g[:, :, 3] / np.arange(1, T + 1)[:, None]  # the reversal sends e_1 to e_4
    np.testing.assert_allclose(record.state.regrets[:, 4], moving.sum(axis=0), rtol=0, atol=1e-9)
    assert oracle.regret_bound(np.zeros((1, 4)), 7.0) == inside.regret_bound(np.zeros((1, 4)), 7.0)
