"""Theorem 2, its lemmas and certificates on runs of Algorithm 2."""

import functools

import numpy as np
import pytest
from scipy import stats

from o2nc.certificates import held_out_nonsmooth, output_mass, tight_nonsmooth
from o2nc.constants import Nonsmooth
from o2nc.lab.nonsmooth import theory
from o2nc.lab.nonsmooth.methods import ALGORITHM2, paper_output
from o2nc.lab.nonsmooth.rounds import NonsmoothCell
from o2nc.lab.objectives import objective as named
from o2nc.lab.runner.noise import uniforms

nonsmooth_objective = functools.partial(named, kind="nonsmooth")


def test_the_law_of_tau():
    """Chi-square over 4000 replications: not rejected for the law, rejected for the uniform one."""
    c = nonsmooth_objective("bowl").constants(200, 1.0)
    assert theory.law_of_tau(c, 0, "bowl")["p"] > 1e-3
    u = uniforms(0, "bowl", "tau", range(theory.DRAWS), 0, 1, 1)[0, :, 0]
    counts = np.bincount((paper_output(c).tau(u) - 1) // 10, minlength=20)
    assert stats.chisquare(counts).pvalue < 1e-6


@functools.cache
def many(objective, T=300, R=48):
    f = nonsmooth_objective(objective)
    return f.constants(T, 1.0), NonsmoothCell(objective, ALGORITHM2, 0, R, T=T).run()


@pytest.mark.parametrize("objective", ["bowl", "valley"])
@pytest.mark.parametrize("method", ALGORITHM2)
def test_the_certificates_bound_the_measure(objective, method):
    """Theorem 2 by far, the tight one within a factor of two, the held-out one within its interval."""
    c, records = many(objective)
    kinds = theory.certify(c, records[method])
    measured = float(records[method].sums["measure"].mean())
    assert kinds["theorem2"]["bound"] > 4 * measured
    assert kinds["theorem2"]["bound"] <= kinds["theorem2_tuned"]["bound"]
    assert measured <= kinds["tight"]["bound"] < 2 * measured
    assert 0.9 * measured < kinds["held_out"]["bound"] < 1.15 * measured
    assert measured <= kinds["held_out"]["interval"][1]


@pytest.mark.parametrize("objective", ["bowl", "valley"])
def test_every_rung_is_lower(objective):
    c, records = many(objective)
    rungs = list(theory.ladder(c, records["identity"]).values())
    assert rungs[:7] == sorted(rungs[:7], reverse=True)
    assert rungs[6] < rungs[0] / 4
    assert abs(rungs[7] / rungs[8] - 1) < 0.15


@pytest.mark.parametrize("objective", ["bowl", "valley"])
@pytest.mark.parametrize("method", ALGORITHM2)
def test_the_lemmas_hold_on_the_runs(objective, method):
    c, records = many(objective)
    found = theory.lemmas(c, records[method])
    for name, row in found.items():
        assert row["interval"][0] <= row["bound"], name
    assert found["9, identity"]["interval"][1] >= 0


@pytest.mark.parametrize("objective", ["bowl", "valley"])
def test_products_of_held_out_trackers_have_the_mean_of_the_squared_gradient(objective):
    """Within 4 standard errors, which are below 5%."""
    _, records = many(objective)
    sums = records["identity"].sums
    difference = sums["held_out"].sum(axis=1) - sums["squares"]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert abs(difference.mean()) < 4 * error < 0.2 * sums["squares"].mean()


def test_the_certificates_on_exact_numbers():
    """No noise and a straight slope: m = h, so the tight certificate without variance is the measure itself."""
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=5, a=0.5, eta=0.1, rho=0.5)
    h = [1 - 0.5**t for t in range(1, 6)]
    w = [1 / 5] * 4 + [1 / 2.5]
    tracker = sum(weight * value for weight, value in zip(w, h, strict=True))
    assert tight_nonsmooth(c, [tracker], [0.25], [0.0]).bound == pytest.approx(tracker + 0.25)
    assert sum(output_mass(c, 3)) == pytest.approx(sum(w))
    each = [[w[t] * h[t] ** 2] for t in range(5)]
    assert held_out_nonsmooth(c, each, [0.25]).bound == pytest.approx(tracker + 0.25)
    assert held_out_nonsmooth(c, each, [0.25]).label == "plug-in"
    with pytest.raises(ValueError, match="`blocks` must be at least 1 and at most T = 5; got 6"):
        output_mass(c, 6)
    with pytest.raises(ValueError, match="same number of replications"):
        tight_nonsmooth(c, [tracker], [0.25, 0.3])
