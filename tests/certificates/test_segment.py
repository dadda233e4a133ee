"""Theorem 1 at any point of the segment: its algebra in exact fractions, and its bounds on runs."""

from fractions import Fraction

import numpy as np
import pytest

from o2nc import SegmentConversion, Smooth
from o2nc.certificates import (
    segment_factors,
    segment_moments,
    segment_tracker_error,
    sharp_factors,
    theorem1_segment,
    tight_segment,
    tracker_error_best,
)
from o2nc.operators import Identity, Projector
from o2nc.oracles import AdaHedge

GRID = [Fraction(k, 40) for k in range(1, 41)]
PLACES = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1), None]


def test_the_contraction_of_the_tracker_is_at_least_a():
    for a in GRID:
        assert 1 - (1 + a / 4) ** 2 * (1 - a) ** 2 >= a
        assert 1 + a / 4 <= Fraction(5, 4)


@pytest.mark.parametrize("r", PLACES)
def test_the_drift_has_the_same_bound_for_every_law_of_r(r):
    square, complement, _ = segment_moments(r)
    for a in GRID:
        l = n = a / 4
        drift = ((1 + l) * (1 + 1 / n) * complement + (1 + 1 / l) * square) * a  # times a W / 4096, over the rest >= a
        assert drift <= Fraction(25, 4)


def test_the_tracking_error_solved_for_itself():
    """E <= 5/2 G^2/a + 5/4 a V + (25/4)/4096 (2 S + 2 E) is E <= (20480 G^2/a + 10240 a V + 25 S) / 8167."""
    share = Fraction(25, 4) * 2 / 4096
    for coefficient, solved in ((Fraction(5, 2), 20480), (Fraction(5, 4), 10240), (share, 25)):
        assert coefficient / (1 - share) == Fraction(solved, 8167)


@pytest.mark.parametrize("k", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(16)])
def test_the_factors_follow_from_the_two_inequalities(k):
    """S <= 64 G^2/a + G R + S/4 + E + (k/64)(S + E), with E as above and a <= 1."""
    left = 1 - Fraction(1, 4) - k / 64 - (1 + k / 64) * Fraction(25, 8167)
    expected = (
        (64 + (1 + k / 64) * Fraction(20480, 8167)) / left,
        1 / left,
        (1 + k / 64) * Fraction(10240, 8167) / left,
    )
    assert segment_factors(None, k) == expected
    if k >= 1:
        assert segment_factors(Fraction(1), k) == segment_factors(Fraction(0), k) == expected


def test_the_printed_constants_hold_at_every_point():
    for r in PLACES:
        range_factor, regret_factor, noise_factor = segment_factors(r, Fraction(0))
        assert range_factor < 97
        assert range_factor + noise_factor < 101
        assert regret_factor <= Fraction(8192, 5951)
    for kappa in (Fraction(1), Fraction(4), Fraction(16)):
        assert all(new < old for new, old in zip(segment_factors(1, kappa), sharp_factors(kappa), strict=True))


def test_wrong_arguments_are_sentences():
    with pytest.raises(ValueError, match="`kappa` must be less than 390416/8192; got 48"):
        segment_factors(1, 48)
    with pytest.raises(ValueError, match=r"`r` must be None or lie in \[0, 1\]; got 1.5"):
        segment_moments(1.5)


@pytest.mark.parametrize("a", [0.05, 0.4, 1.0])
def test_the_start_of_the_segment_has_the_tracking_error_of_algorithm_1(a):
    best, grid = tracker_error_best(a, 2.0, 3000.0, 40.0), segment_tracker_error(0.0, a, 2.0, 3000.0, 40.0)
    assert best <= grid <= 1.02 * best


@pytest.mark.parametrize("kappa", [0.0, 1.0, 16.0])
@pytest.mark.parametrize("r", [0.0, 0.5, 1.0, None])
def test_on_runs_the_certificates_hold_and_the_tight_one_is_tight(r, kappa):
    runs, d, sigma, T = 64, 3, 0.6, 400
    constants = Smooth.paper(M=2.0 * d, beta=1.0, sigma=sigma, T=T)
    oracle = AdaHedge([Identity(), Projector.from_mask(np.asarray([True, True, False]))])
    conversion = SegmentConversion(oracle, constants, r=r, kappa=kappa)
    rng = np.random.default_rng(5)
    y = np.full((runs, d), 2.0)
    state, squares, error, first = conversion.init(y), 0.0, 0.0, d * np.sin(2.0) ** 2
    for _ in range(T):
        g = np.sin(y)
        squares = squares + np.sum(g * g, axis=-1)
        error = error + np.sum((state.run.m - g) ** 2, axis=-1)
        s = g + sigma / np.sqrt(d) * rng.choice([-1.0, 1.0], size=y.shape)
        dy, state = conversion.update(s, state, y, r=rng.random((runs, 1)) if r is None else None)
        y = y + dy
    measured = float(np.mean(squares)) / T
    loose = theorem1_segment(constants, float(np.mean(state.run.regret)), r=r, kappa=kappa, measured=measured)
    sums = (v.ravel().tolist() for v in (state.run.Q, state.run.N, state.run.W))
    tight = tight_segment(constants, *sums, first=first, r=r, measured=measured)
    bound = segment_tracker_error(r, constants.a, first, float(np.mean(state.run.W)), sigma**2 * T)
    assert loose.holds
    assert np.mean(error) <= bound
    assert np.mean(error) >= 0.8 * bound  # a tracking error half as large would fail
    assert tight.interval[0] <= tight.bound <= tight.interval[1]
    assert measured <= tight.interval[1]
    assert tight.bound <= 1.3 * measured < loose.bound
