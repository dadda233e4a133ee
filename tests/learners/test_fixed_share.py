"""Fixed share: equal to a plain loop, regret and shifting regret below the bounds, and instances that reach them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loops
import reference_toolbox
import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, UNIFORM, assert_below, crowd, rates, rounds, seeds
from games import ARENAS
from o2nc import learners
from o2nc.oracles import FixedShare
from reached import HULL2, against, assert_reached, drive, hold


def fixed_share_bound(record, u, prior, gamma, alpha):
    pi = np.asarray(prior)[np.argmax(u, axis=-1)]
    stay = -(len(record.g) - 1) * np.log(1 - alpha + alpha * pi)
    return [np.log(1 / pi) / gamma, stay / gamma, gamma / 8 * stated.ranges(record).sum(axis=0)]


@pytest.mark.parametrize("prior", loops.PRIORS)
def test_fixed_share(xp, prior):
    oracle = FixedShare(loops.hull(xp), gamma=0.7, alpha=0.1, prior=loops.PRIORS[prior])
    found = loops.played(xp, oracle, oracle.weights)
    loops.assert_literal(
        found,
        lambda losses: reference_toolbox.fixed_share(losses, loops.PRIORS[prior] or loops.UNIFORM, 0.7, 0.1),
        loops.LOSSES,
    )


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_shares_are_a_mixture_over_all_sequences_of_experts(rounds):
    losses, prior = loops.LOSSES[:rounds, 0].tolist(), loops.PRIORS["skewed"]
    expected = reference_toolbox.mixture_of_sequences(losses, prior, 0.7, 0.1)
    np.testing.assert_allclose(reference_toolbox.fixed_share(losses, prior, 0.7, 0.1)[-1], expected, rtol=1e-12)


def test_shares_follow_an_expert_that_becomes_good():
    """300 rounds for the first expert, 20 for the second: Hedge still plays the first, fixed share the second."""
    losses = np.concatenate([np.tile([0.0, 1.0], (300, 1)), np.tile([1.0, 0.0], (20, 1))])
    weights = {}
    for learner in (learners.Hedge(gamma=0.5), learners.FixedShare(gamma=0.5, alpha=0.01)):
        state = learner.init(np.zeros(2))
        for loss in losses:
            state = learner.learn(state, loss)
        weights[type(learner)] = learner.weights(state)
    assert weights[learners.Hedge][0] > 0.99
    assert weights[learners.FixedShare][1] > 0.9


shares = st.floats(0.0, 0.5)


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, alpha=shares)
def test_the_regret(name, prior, seed, T, gamma, alpha):
    oracle = FixedShare(ARENAS[name].set, gamma=gamma, alpha=alpha, prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, fixed_share_bound(record, u, prior or UNIFORM, gamma, alpha))
    assert oracle.regret_bound(np.zeros((1, arena.d)), 1.0) == math.inf


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=12, **COMMON)
@given(seed=seeds, T=rounds, gamma=rates, alpha=st.floats(0.01, 0.5))
def test_the_shifting_regret_of_fixed_share(prior, seed, T, gamma, alpha):
    """Against the sequence of experts for which loss plus bound is least, by dynamic programming: so against all."""
    oracle, pi = FixedShare(ARENAS["hull"].set, gamma=gamma, alpha=alpha, prior=prior), np.asarray(prior or UNIFORM)
    _, record, _ = crowd(oracle, "hull", seed, T)
    cost = np.log(1 / pi) / gamma + record.g[0]  # (runs, K), of the best sequence that ends with k
    for g in record.g[1:]:
        stay = cost - np.log(1 - alpha + alpha * pi) / gamma
        change = cost.min(axis=-1, keepdims=True) + np.log(1 / (alpha * pi)) / gamma
        cost = np.minimum(stay, change) + g
    size = np.sum(np.abs(record.g), axis=(0, 2))
    total = cost.min(axis=-1) + gamma / 8 * stated.ranges(record).sum(axis=0)
    assert np.all(record.loss.sum(axis=0) <= total + 1e-11 * (1 + size))


@pytest.mark.parametrize(("prior", "lead"), [((0.5, 0.5), 0), ((0.2, 0.8), 28)])
def test_fixed_share_reaches_its_bound(prior, lead):
    """A few large losses hold the weights at 1/2, many small ones drive them to an expert and pay for the shares."""
    gamma, alpha = 0.5, 1e-3
    oracle = FixedShare(HULL2.set, gamma=gamma, alpha=alpha, prior=prior)
    to_the_middle = drive([-0.05, 0.05], lead)
    record, best = against(oracle, HULL2, [to_the_middle, hold([0.5, -0.5], 30), drive([-0.01, 0.01], 2000)])
    assert_reached(record, best, fixed_share_bound(record, best, prior, gamma, alpha), ratio=0.92)
