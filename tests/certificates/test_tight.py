"""The tight certificates and their intervals, by hand and on Gaussian sums; test_certificates_smooth.py has runs."""

import math

import numpy as np
import pytest

from o2nc.certificates import (
    mean_interval,
    student_quantile,
    tight,
    tight_regret,
    tracker_error_at,
    tracker_error_best,
    tracker_error_parts,
)
from o2nc.constants import Smooth

C = Smooth.paper(M=2.0, beta=8.0, sigma=0.5, T=400)  # sqrt(M beta) = 4, a = 4/10, eta = 1/1280


def test_student_quantile():
    stats = pytest.importorskip("scipy.stats")
    for df in (1, 2, 3, 4, 5, 7, 30, 127, 1000):
        for confidence in (0.1, 0.5, 0.95, 0.975, 0.999):
            assert student_quantile(confidence, df) == pytest.approx(stats.t.ppf((1 + confidence) / 2, df), rel=1e-9)


def test_mean_interval():
    """Mean 2, variance 10/3, four values: 2 +- 3.1824 sqrt(10/3) / 2."""
    assert mean_interval([0.0, 1.0, 3.0, 4.0]) == mean_interval([0.0, 1.0, 3.0, 4.0], 0.95)
    low, high = mean_interval([0.0, 1.0, 3.0, 4.0])
    assert (low + high) / 2 == pytest.approx(2.0)
    assert (high - low) / 2 == pytest.approx(3.182446 * math.sqrt(10 / 3) / 2)


def test_tight_by_hand():
    """a (2 - a) = 0.64, W = 4096: A = 1 + 0.16 + 0.16 V_T, B = 0.36/0.64 * 0.16 = 0.09; V_T = 4 makes A + B 1.89."""
    error = (math.sqrt(1.89) + 0.3) ** 2 / 0.64
    assert tracker_error_best(0.4, 1.0, 4096.0, 4.0) == pytest.approx(error)
    theta = 0.3 / (0.3 + math.sqrt(1.89))
    assert tracker_error_at(theta * 0.64 / 0.36, 0.4, 1.0, 4096.0, 4.0) == pytest.approx(error)
    certificate = tight(C, Q=[10.0, 14.0], N=[5.0, 7.0], W=[4000.0, 4192.0], first=1.0, V_T=4.0)
    assert certificate.bound == pytest.approx((24 - 6 + error) / 400)
    by_regret = tight_regret(C, [1.0, 3.0], [5.0, 7.0], [4000.0, 4192.0], [0.5, 0.7], first=1.0, V_T=4.0)
    assert by_regret.bound == pytest.approx((2 * 0.6 * 1280 + 2 * 4 * 2 + 0.4 / 64 * 4096 - 6 + error) / 400)


def test_tight_defaults():
    given = tight(C, [1.0], [2.0], [3.0], first=2 * 2.0 * 8.0, V_T=0.25 * 400, rounds=400)
    assert tight(C, [1.0], [2.0], [3.0]).terms == pytest.approx(given.terms)
    part = tight(C, [1.0], [2.0], [3.0], first=1.0, rounds=100)
    assert part.terms["noise"] == pytest.approx(tracker_error_parts(0.4, 1.0, 3.0, 25.0)["noise"] / 100)
    assert part.terms["tracker"] == -0.02
    ranged = tight_regret(C, [1.0], [2.0], [3.0])
    assert ranged.terms["decrease"] == pytest.approx(2 * C.M / C.eta / 400)


def test_labels_of_the_tight_certificate():
    for kind in (tight, tight_regret):
        one, two = kind(C, [1.0], [2.0], [3.0]), kind(C, [1.0, 1.0], [2.0, 2.0], [3.0, 3.0])
        assert (one.label, one.interval, one.replications) == ("plug-in", None, 1)
        assert (two.label, two.replications) == ("a-posteriori", 2)
        assert two.interval == pytest.approx((two.bound, two.bound))
        assert one.bound == pytest.approx(two.bound)


def test_the_intervals_open_by_the_spread():
    """Replications that differ in one sum only: that sum's Student interval, at 97.5%, around the bound."""
    half = student_quantile(0.975, 1) / 2  # of the mean of 0 and 1
    for sums, factor in (
        (dict(Q=[0.0, 1.0], N=[2.0, 2.0]), 2),
        (dict(Q=[1.0, 1.0], N=[0.0, 1.0]), 1),
        (dict(regret=[0.0, 1.0], N=[2.0, 2.0], decrease=[0.5, 0.5]), 2 * 4),
        (dict(regret=[1.0, 1.0], N=[0.0, 1.0], decrease=[0.5, 0.5]), 1),
        (dict(regret=[1.0, 1.0], N=[2.0, 2.0], decrease=[0.0, 1.0]), 2 * 1280),
    ):
        certificate = (tight if "Q" in sums else tight_regret)(C, **sums, W=[3.0, 3.0])
        low, high = certificate.interval
        assert (low + high) / 2 == pytest.approx(certificate.bound)
        assert (high - low) / 2 == pytest.approx(factor * half / 400)


def test_no_movement_and_no_noise():
    assert tracker_error_parts(0.5, 0.0, 0.0, 0.0) == {"start": 0.0, "drift": 0.0, "noise": 0.0}


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize(("scale", "least", "most"), [(1e-3, 0.93, 0.97), (1.0, 0.97, 1.0)])
def test_the_interval_covers_the_bound_of_the_expectations(n, scale, least, most):
    """Asked for 90%, Gaussian sums are covered in 95% of 600 tries if W hardly matters, in more if it does."""
    rng = np.random.default_rng(0)
    mean = np.array([20.0, 10.0, 2e5 * scale])
    mixing = np.array([[4.0, 1.0, 0.0], [0.0, 3.0, 4e4 * scale], [2.0, 0.0, 2e4 * scale]])
    sums = mean + rng.normal(size=(600, n, 3)) @ mixing
    exact = tight(C, *([float(v)] for v in mean), first=1.0, V_T=4.0).bound
    intervals = [tight(C, *run.T, first=1.0, V_T=4.0, confidence=0.9).interval for run in sums]
    assert least < sum(low <= exact <= high for low, high in intervals) / 600 <= most


def test_replications_are_averaged_before_the_error_is_bounded():
    """The bound is concave in W: the mean of plug-in bounds would be smaller than the bound of the means."""
    sums = dict(Q=[1.0, 1.0], N=[1.0, 1.0])
    both = tight(C, **sums, W=[0.0, 8e5], first=1.0).bound
    alone = [tight(C, [1.0], [1.0], [w], first=1.0).bound for w in (0.0, 8e5)]
    assert both > 1.01 * sum(alone) / 2


@pytest.mark.parametrize("a", [0.01, 0.2, 0.9, 1.0])
@pytest.mark.parametrize(
    ("first", "W", "V_T"), [(1.0, 4096.0, 1.0), (0.0, 1e5, 0.0), (3.0, 1.0, 50.0), (1.0, 0.0, 0.0)]
)
def test_the_best_weight_is_the_best_of_a_fine_grid(a, first, W, V_T):
    most = 1 / (1 - a) ** 2 - 1 if a < 1 else 1e9
    grid = [most * k / 4000 for k in range(1, 4000)]
    best = tracker_error_best(a, first, W, V_T)
    on_grid = min(tracker_error_at(l, a, first, W, V_T) for l in grid)
    assert best <= on_grid * (1 + 1e-12)
    assert on_grid == pytest.approx(best, rel=1e-3)
