"""AdaHedge: regret below the bound."""

import pytest
from hypothesis import given, settings

import stated_bounds as stated
from crowds import COMMON, HULLS, PRIOR, UNIFORM, assert_below, crowd, rounds, seeds
from games import ARENAS
from o2nc.oracles import AdaHedge


@pytest.mark.parametrize("name", HULLS)
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["uniform", "skewed"])
@settings(max_examples=8, **COMMON)
@given(seed=seeds, T=rounds)
def test_adahedge(name, prior, seed, T):
    oracle = AdaHedge(ARENAS[name].set, prior=prior)
    _, record, (best, _, identity) = crowd(oracle, name, seed, T)
    for u in (best, identity):
        assert_below(record, u, [2 * record.state.learner.Delta[:, 0]])
        assert_below(record, u, stated.adahedge(record, prior or UNIFORM))
