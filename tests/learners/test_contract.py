"""Every learner of the registry on every array library: weights of K numbers, and the same over operators."""

import math

import numpy as np
import pytest

from conftest import numpy_of
from o2nc import learners
from o2nc.learners.base import check_learner
from o2nc.losses import LinearLoss
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import OverExperts
from o2nc.states import leaves

ROUNDS, RUNS, K = 12, 2, 3
LOSSES = np.random.default_rng(0).normal(size=(ROUNDS, RUNS, K)) / 3


def made(name):
    return learners.registry[name].make(0.5, 2.0)


@pytest.mark.parametrize("name", learners.registry)
def test_weights_are_a_distribution_and_each_row_is_alone(xp, name):
    learner = made(name)
    learn = xp.transform(learner.learn)
    both, first = learner.init(xp.array(np.zeros((RUNS, K)))), learner.init(xp.array(np.zeros(K)))
    for losses in LOSSES:
        w = numpy_of(learner.weights(both))
        assert w.shape == (RUNS, K)
        assert np.all(w >= 0)
        np.testing.assert_allclose(w.sum(axis=-1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(learner.weights(first)), w[0], rtol=0, atol=1e-12)
        both, first = learn(both, xp.array(losses)), learn(first, xp.array(losses[0]))


@pytest.mark.parametrize("name", learners.registry)
def test_over_operators_it_sees_their_losses(name):
    learner, factors = made(name), (1.0, 0.5, -1.0)
    oracle = OverExperts(learner, [Identity(), *(Diagonal(np.full(1, c)) for c in factors[1:])])
    one = np.ones(1)
    state, beside = oracle.init(one), learner.init(np.zeros(K))
    for s in LOSSES[:, 0, 0]:
        np.testing.assert_allclose(oracle.weights(state), learner.weights(beside), rtol=0, atol=1e-14)
        state = oracle.learn(state, LinearLoss(s * one, one, 1.0))
        beside = learner.learn(beside, -s * np.asarray(factors))
    assert oracle.regret_bound(one, 4.0) == learner.regret_bound([True, False, False], 4.0)


@pytest.mark.parametrize("name", learners.registry)
def test_bounds_and_states(name):
    learner = made(name)
    assert learner.regret_bound([False] * K, 1.0) == math.inf
    bounds = [learner.regret_bound([True] * n + [False] * (K - n), 1.0) for n in (1, 2)]
    assert bounds[0] >= bounds[1]  # more experts that all lose the same have more prior mass
    assert math.isinf(bounds[0]) or learner.regret_bound([True], 1.0) == 0
    state = learner.init(np.zeros((RUNS, K), np.float32))
    after = learner.learn(state, LOSSES[0].astype(np.float32))
    assert [(path, a.shape, a.dtype) for path, a in leaves(state)] == [
        (path, a.shape, a.dtype) for path, a in leaves(after)
    ]


def test_what_is_no_learner():
    for wrong in (learners.Hedge, None, 3):
        with pytest.raises(
            TypeError, match=r"`OverExperts\(learner=...\)` must be a learner, as `o2nc.learners.AdaHedge"
        ):
            OverExperts(wrong, [Identity()])
    with pytest.raises(ValueError, match=r"`Hedge\(prior=...\)` must have one weight an expert, 3; got \(0.5, 0.5\)"):
        check_learner("learner", learners.Hedge(prior=(0.5, 0.5)), 3)


BY_SIZE = {"hedge-self-tuned"}  # the rate of the paper is told by the largest loss; the page of `Hedge` says so


@pytest.mark.parametrize("name", learners.registry)
def test_a_constant_that_is_added_to_all_losses_changes_nothing(name):
    learner = made(name)
    plain = shifted = learner.init(np.zeros(K))
    for losses in LOSSES[:, 0]:
        plain, shifted = learner.learn(plain, losses), learner.learn(shifted, losses + 10.0)
    away = np.abs(learner.weights(plain) - learner.weights(shifted)).max()
    assert (away > 1e-3) == (name in BY_SIZE), away
