"""Priors of many experts: their rounding grows with their number and is not refused."""

import numpy as np
import pytest

from o2nc.learners import Hedge
from o2nc.operators import Identity, Mixture


@pytest.mark.parametrize("K", [3, 1000, 1_000_000])
def test_a_normalised_prior_is_accepted(K):
    raw = np.random.default_rng(K).uniform(size=K) ** 6 + 1e-12
    Hedge(prior=(raw / float(sum(raw.tolist()))).tolist())
    Hedge(prior=[1 / K] * K)


@pytest.mark.parametrize("K", [3, 1000])
def test_a_prior_that_is_off_is_refused(K):
    with pytest.raises(ValueError, match="sum to 1"):
        Hedge(prior=[(1 + 1e-9) / K] * K)


@pytest.mark.parametrize("K", [3, 100_000])
def test_weights_of_many_operators_in_float32(K):
    w = np.full(K, 0.1, dtype=np.float32)
    total = np.float32(0)
    for one in w:
        total += one
    Mixture(w / total, (Identity(),) * K)
