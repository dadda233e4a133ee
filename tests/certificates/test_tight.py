"""The tight certificates and their intervals, by hand and on Gaussian sums; test_certificates_smooth.py has runs."""

import math

import numpy as np
import pytest

from o2nc.certificates import (
    mean_interval,
    student_quantile,
    tight,
    tight_regret,
    tight_segment,
    tight_sgd,
    tracker_error_at,
    tracker_error_best,
    tracker_error_parts,
)
from o2nc.constants import Smooth
from o2nc.conversions import PredictionConversion, SmoothConversion
from o2nc.operators import Diagonal
from o2nc.oracles import Constant

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


def test_what_is_estimated_has_its_part_in_the_interval():
    """Replications that differ in |s_1|^2 or in the noise only; a number that is known has none."""
    sums = dict(Q=[1.0, 1.0], N=[2.0, 2.0], W=[0.0, 0.0])
    for name, other, factor in (("first", {"V_T": 1.0}, 1 / 0.64), ("V_T", {"first": 1.0}, 0.16 / 0.64)):
        seen = tight(C, **sums, **{name: [1.0, 3.0]}, **other)
        known = tight(C, **sums, **{name: 2.0}, **other)
        assert seen.bound == pytest.approx(known.bound)
        assert known.interval == pytest.approx((known.bound, known.bound))
        half = student_quantile(1 - 0.05 / 3, 1)  # the mean is 2, its standard error 1; never below 0
        assert seen.interval[0] == pytest.approx(seen.bound - 2 * factor / 400)
        top = min(2 + half, 32.0) if name == "first" else 2 + half  # E|g_1|^2 <= 2 beta D = 32
        assert seen.interval[1] == pytest.approx(seen.bound + (top - 2) * factor / 400)
    for kind in (tight_regret, tight_segment):
        assert kind(C, *sums.values(), first=[1.0, 3.0]).interval[1] > kind(C, *sums.values(), first=2.0).interval[1]
    with pytest.raises(ValueError, match="same number of replications; got `Q` 2, `N` 2, `W` 2, `first` 3"):
        tight(C, **sums, first=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="`the least of V_T` must be finite and nonnegative; got -1"):
        tight(C, **sums, V_T=[1.0, -1.0])


def test_the_noise_of_sgd_has_its_part_in_the_interval():
    seen, known = (tight_sgd(C, [0.5, 0.5], V_T) for V_T in ([100.0, 300.0], 200.0))
    assert seen.terms == pytest.approx(known.terms)
    half = C.beta * C.eta / 2
    assert seen.interval[1] - seen.bound == pytest.approx(student_quantile(0.95, 1) * 100 * half / (1 - half) / 400)


@pytest.mark.parametrize("n", [4, 16])
def test_the_interval_covers_with_an_estimated_start(n):
    """|s_1|^2 of a sample of 20 coordinates with standard deviation 1/2: as known the interval has width 0."""
    rng, covered = np.random.default_rng(n), 0
    g, ones = np.full(20, 0.3), [1.0] * n
    truth = tight(C, ones, ones, ones, first=float(g @ g) + 20 / 4).bound
    for _ in range(400):
        s = g + rng.normal(0.0, 0.5, size=(n, 20))
        low, high = tight(C, ones, ones, ones, first=(s**2).sum(axis=1)).interval
        covered += low <= truth <= high
    assert covered >= 0.95 * 400


@pytest.mark.parametrize("kappa", [0.0, 0.7, None])
def test_the_regret_on_the_loss_that_was_revealed_will_do(kappa):
    """The linear regret of the same rounds, summed by a plain loop, gives the same certificate."""
    c = Smooth(gap=1.0, M=3.0, beta=2.0, sigma=0.5, T=30)
    oracle = Constant(Diagonal(np.asarray([0.3, 0.9])))
    conversion = PredictionConversion(oracle, c) if kappa is None else SmoothConversion(oracle, c, kappa)
    rng, x = np.random.default_rng(0), np.full((3, 2), 0.4)
    state, linear = conversion.init(x), np.zeros((3, 1))
    for _ in range(c.T):
        s, m = 2 * np.sin(x) + rng.normal(size=x.shape), state.m
        linear += ((s * m).sum(-1) - (s * m * [0.3, 0.9]).sum(-1))[:, None] / c.G
        dx, state = conversion.update(s, state)
        x = x + dx
    given = dict(N=state.N[:, 0], W=state.W[:, 0])
    by_hand = tight_regret(c, linear[:, 0], **given)
    found = tight_regret(c, state.regret[:, 0], **given, kappa=conversion.kappa)
    assert found.terms == pytest.approx(by_hand.terms, rel=1e-12)
    assert found.interval == pytest.approx(by_hand.interval, rel=1e-12)
    if conversion.kappa:
        assert tight_regret(c, state.regret[:, 0], **given).bound < 0.99 * found.bound


@pytest.mark.parametrize("n", [8, 32])
def test_students_interval_misses_where_large_noise_is_rare(n):
    """If half of the batches see no event, the interval that is for 95% covers in about half of the cases."""
    rng, rate, missed = np.random.default_rng(n), 0.7 / n, 0
    for _ in range(1000):
        low, high = mean_interval(rng.normal(0.0, 0.01, n) + rng.poisson(rate, n))
        missed += not low <= rate <= high
    assert 400 < missed < 600
