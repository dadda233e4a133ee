"""AdaHedge: regret below its bounds, and instances that nearly reach the one from the energy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, UNIFORM, assert_below, assert_stated, crowd, rounds, seeds
from games import ARENAS
from o2nc import learners
from o2nc.oracles import AdaHedge
from reached import lock_hit_drive, played


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds)
def test_adahedge(name, prior, seed, T):
    oracle = AdaHedge(ARENAS[name].set, prior=prior)
    arena, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, [2 * record.state.learner.Delta[:, 0]])
        assert_below(record, u, stated.adahedge(record, prior or UNIFORM))
        l, kl = math.log(1 / min(prior or UNIFORM)), stated.log_inverse(prior or UNIFORM, u)
        assert_below(record, u, [(1 + kl / l) * np.sqrt((l + 4) * stated.peaks(record).sum(axis=0))])
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize(("K", "way", "share"), [(2, 3.0, 0.64), (4, 3.0, 0.73), (16, 2.0, 0.72), (64, 2.0, 0.68)])
def test_two_thirds_of_the_bound_from_the_energy_are_reached(K, way, share):
    learner, losses = learners.AdaHedge(), lock_hit_drive(K, 3, 1e-6, way, 100)
    regret, energy = played(learner, losses)
    bound = learner.regret_bound([True] + [False] * (K - 1), energy)
    assert bound == pytest.approx(2 * math.sqrt((math.log(K) + 4) * energy))
    assert share < regret / bound < 0.75


def test_an_expert_that_the_prior_prefers_has_a_smaller_bound():
    learner, l = learners.AdaHedge(prior=(0.5, 0.3, 0.2)), math.log(5)
    assert learner.regret_bound([True, False, False], 3.0) == pytest.approx(
        (1 + math.log(2) / l) * math.sqrt((l + 4) * 3)
    )
    assert learner.regret_bound([True, True, True], 3.0) == pytest.approx(math.sqrt((l + 4) * 3))
    assert learners.AdaHedge().regret_bound([True], 3.0) == 0
