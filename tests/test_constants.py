"""Every derived constant against exact fractions or fifty digits, and the law of tau against the literal one."""

import math
import pickle
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import reference
from o2nc import Nonsmooth, Smooth

COMMON = {"deadline": None, "derandomize": True, "database": None}
sizes = st.floats(-4, 4).map(lambda p: 10**p)
horizons = st.integers(1, 10**7)


def close(found, exact):
    """Equal up to rounding of the last digits."""
    return abs(Fraction(found) - Fraction(exact)) <= Fraction(1, 10**14) * abs(Fraction(exact))


def root(value, n=2):
    """The n-th root to fifty digits."""
    with localcontext() as context:
        context.prec = 50
        value = Fraction(value)
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)) ** (Decimal(1) / n))


@settings(max_examples=60, **COMMON)
@given(M=sizes, beta=sizes, sigma=st.just(0.0) | sizes, T=horizons)
def test_the_constants_of_algorithm_1(M, beta, sigma, T):
    constants = Smooth.paper(M=M, beta=beta, sigma=sigma, T=T)
    square = Fraction(M) * Fraction(beta)
    G, noise = root(square), Fraction(sigma) * root(T)
    a = G / max(G, noise)
    tracker = min(2 * square, (G + Fraction(sigma) * root(a / (2 - a))) ** 2)  # a bound on E|m_t|^2
    for found, exact in (
        (constants.G, G),
        (constants.G0, root(2 * square)),
        (constants.a, a),
        (constants.eta, a / (64 * Fraction(beta))),
        (constants.energy(), T * (square + Fraction(sigma) ** 2) * tracker / square),  # T (G^2 + sigma^2) E|m|^2 / G^2
    ):
        assert close(found, exact)
    largest = root(square + Fraction(sigma) ** 2) + 3 * a / 64 * root(2 * square)  # of |s| + kappa a G0 / 64
    assert close(constants.energy(kappa=3.0), T * largest**2 * tracker / square)
    assert constants.energy() <= 2 * T * (2 * constants.G**2 + sigma**2)  # by the paper's own bounds on g and m
    assert constants.values == (constants.G, constants.G0, constants.a, constants.eta)
    assert 0 < constants.a <= 1


@settings(max_examples=60, **COMMON)
@given(gap=sizes | st.none(), M=sizes | st.none(), beta=sizes, sigma=st.just(0.0) | sizes, T=horizons)
def test_the_sharp_constants(gap, M, beta, sigma, T):
    assume(gap is not None or M is not None)
    constants = Smooth(gap=gap, M=M, beta=beta, sigma=sigma, T=T)
    D = min(Fraction(bound) for bound in (gap, M) if bound is not None)
    a = min(Fraction(1), 2 * root(Fraction(beta) * D / T) / Fraction(sigma)) if sigma else Fraction(1)
    for found, exact in (
        (constants.D, D),
        (constants.a, a),
        (constants.c, 1 + a),
        (constants.eta, a / ((1 + a) * Fraction(beta))),
    ):
        assert close(found, exact)
    if M is None:
        assert (constants.G, constants.G0, constants.energy()) == (1.0, None, math.inf)
    else:
        square = Fraction(M) * Fraction(beta)
        assert constants.G == constants.G0
        assert close(constants.G, root(square))
        longest = root(square + Fraction(sigma) ** 2) + 3 * a / (1 + a) * root(square)
        assert close(constants.energy(kappa=3.0), T * longest**2)
    assert eval(repr(constants)) == constants


def test_rates_that_are_given():
    constants = Smooth(gap=1.0, beta=2.0, sigma=1.0, T=100, a=0.5, c=8.0)
    assert (constants.a, constants.c, constants.eta) == (0.5, 8.0, 1 / 32)
    assert eval(repr(constants)) == constants
    assert replace(constants, T=200).a == 0.5
    derived = Smooth(gap=1.0, beta=2.0, sigma=1.0, T=100)
    with pytest.raises(ValueError, match="`a` must be tuned again for these constants"):
        replace(derived, T=200)
    assert replace(derived, T=200, a=None, c=None) == Smooth(gap=1.0, beta=2.0, sigma=1.0, T=200)


@settings(max_examples=60, **COMMON)
@given(gap=sizes, beta=sizes, sigma=sizes, T=horizons)
def test_the_constants_of_least_squares(gap, beta, sigma, T):
    constants = Smooth.least_squares(gap=gap, beta=beta, sigma=sigma, T=T)
    a, c = Fraction(constants.a), Fraction(constants.c)
    assert close(a, min(Fraction(1), root((2 + root(2)) * Fraction(beta) * Fraction(gap) / T) / Fraction(sigma)))
    assert abs(2 / c**2 + a / c - 1) < Fraction(1, 10**14)  # the root of step 8


@pytest.mark.parametrize(
    ("sigma", "T", "share"), [(0.0, 400, 0.99), (0.25, 400, 0.83), (1.0, 4000, 0.82), (8.0, 4000, 0.52)]
)
def test_the_energy_is_nearly_reached(sigma, T, share):
    """A gradient of the largest length G = 1 that never turns, signs as noise: linear losses, the ball of radius G0."""
    constants = Smooth.paper(M=1.0, beta=1.0, sigma=sigma, T=T)
    rng, m, energy = np.random.default_rng(0), np.zeros(2000), 0.0
    for _ in range(T):
        s = 1 + sigma * rng.choice([-1.0, 1.0], size=m.shape)
        energy += np.mean(s**2 * m**2)
        m = np.clip((1 - constants.a) * m + constants.a * s, -constants.G0, constants.G0)
    assert share < energy / constants.energy() <= 1


@pytest.mark.parametrize("T", [1, 7, 10**9])
def test_an_exact_gradient_has_a_equal_to_one(T):
    constants = Smooth.paper(M=3.0, beta=2.0, sigma=0.0, T=T)
    assert constants.a == 1
    assert constants.eta == 1 / 128


def test_a_is_one_until_the_noise_is_felt():
    """sigma sqrt(T) = G at T = 24 for M beta = 6, sigma = 1/2."""
    assert Smooth.paper(M=3.0, beta=2.0, sigma=0.5, T=24).a == 1
    assert Smooth.paper(M=3.0, beta=2.0, sigma=0.5, T=25).a == pytest.approx(math.sqrt(24 / 25), rel=1e-15)


def threshold(L, M, sigma, lam):
    """2^(7/4) M sqrt(lam) / B^(3/2) to the fourth power, exactly, then its root."""
    B2 = Fraction(L) ** 2 + Fraction(sigma) ** 2
    return root(2**7 * Fraction(M) ** 4 * Fraction(lam) ** 2 / B2**3, 4)


@settings(max_examples=60, **COMMON)
@given(L=sizes, M=sizes, sigma=st.just(0.0) | sizes, lam=sizes, T=horizons)
def test_the_tuned_constants_of_algorithm_2(L, M, sigma, lam, T):
    assume(threshold(L, M, sigma, lam) <= T * Fraction(99, 100))
    constants = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=T)
    B2 = Fraction(L) ** 2 + Fraction(sigma) ** 2
    eps7 = B2**2 * Fraction(M) ** 2 * Fraction(lam) / T**2
    for found, exact in (
        (constants.B, root(B2)),
        (constants.eps, root(eps7, 7)),
        (constants.rho, root(eps7, 7)),
        (constants.a, root(eps7**2, 7) / B2),
        (constants.eta, root(eps7**5, 14) / B2 / root(lam)),
        (constants.energy(), T * B2),
    ):
        assert close(found, exact)
    assert constants.b == 1 - constants.a
    assert constants.values == (L, constants.a, constants.b, constants.eta, constants.rho)
    assert 0 < constants.a <= 0.5
    assert constants.is_tuned


@settings(max_examples=200, **COMMON)
@given(L=sizes, M=sizes, sigma=st.just(0.0) | sizes, lam=sizes)
def test_the_threshold_of_the_horizon(L, M, sigma, lam):
    """The least T is accepted, with a at most 1/2; one less is an error that names the least."""
    exact = threshold(L, M, sigma, lam)
    needed = math.ceil(exact)
    assume(needed < 10**12)
    assume(abs(exact - round(exact)) > Fraction(1, 10**9) * exact)  # else the rounding of a float decides
    constants = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=max(needed, 1))
    assert constants.a <= 0.5
    if needed > 1:
        with pytest.raises(
            ValueError, match=rf"`T` must be at least .* = {needed} for the tuned .* got {needed - 1}\."
        ):
            Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=needed - 1)
        general = Nonsmooth(L=L, M=M, sigma=sigma, lam=lam, T=needed - 1, a=0.5, eta=0.1, rho=0.1)
        assert general.a == 0.5


def test_at_the_threshold_itself_a_is_one_half():
    """B = 2^(1/2), M = 2, lam = 1: 2^(7/4) 2 / 2^(3/4) = 4 exactly."""
    constants = Nonsmooth(L=1.0, M=2.0, sigma=1.0, lam=1.0, T=4)
    assert constants.a == pytest.approx(0.5, rel=1e-15)
    assert constants.a <= 0.5
    with pytest.raises(ValueError, match="= 4 for the tuned"):
        Nonsmooth(L=1.0, M=2.0, sigma=1.0, lam=1.0, T=3)


def test_given_constants_are_kept_and_the_others_tuned():
    tuned = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000)
    for name in ("a", "eta", "rho"):
        constants = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000, **{name: 0.25})
        assert getattr(constants, name) == 0.25
        assert not constants.is_tuned
        for other in {"a", "eta", "rho"} - {name}:
            assert getattr(constants, other) == getattr(tuned, other)


def law(constants):
    """Pr(tau = t) as the differences of tau_cdf."""
    return np.diff([constants.tau_cdf(t) for t in range(constants.T + 1)])


def nonsmooth(a, T):
    return Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=T, a=a, eta=0.1, rho=0.1)


@pytest.mark.parametrize("a", [0.5, 0.3, 0.01, 1e-4, 1e-9])
@pytest.mark.parametrize("T", [1, 2, 5, 300])
def test_the_law_of_tau_is_the_literal_one(a, T):
    constants = nonsmooth(a, T)
    exact = reference.law_of_tau(Fraction(a), T)
    assert sum(exact) == 1
    np.testing.assert_allclose(law(constants), [float(p) for p in exact], rtol=0, atol=4e-16 * max(1, T / 100))
    assert constants.tau_cdf(0) == 0
    assert constants.tau_cdf(T) == constants.tau_cdf(T + 5) == 1


@pytest.mark.parametrize("a", [0.5, 0.01, 1e-4, 1e-6, 1e-9])
def test_tau_cdf_is_increasing(a):
    assert np.all(law(nonsmooth(a, 2000)) > 0)


@pytest.mark.parametrize("a", [0.5, 0.07, 0.001])
@pytest.mark.parametrize("T", [1, 2, 40])
def test_inversion_gives_the_law_exactly(a, T):
    """tau(u) = t exactly for u in [cdf(t - 1), cdf(t)): at the ends of every interval, and just below."""
    constants = nonsmooth(a, T)
    for t in range(1, T + 1):
        low, high = constants.tau_cdf(t - 1), constants.tau_cdf(t)
        assert constants.tau(low) == t
        assert constants.tau((low + high) / 2) == t
        assert constants.tau(math.nextafter(high, 0)) == t
    assert constants.tau(0.0) == 1
    assert constants.tau(math.nextafter(1.0, 0)) == T


def test_tau_of_many_uniforms_passes_a_chi_square_test():
    constants, n = nonsmooth(0.07, 30), 20_000
    counts = np.bincount([constants.tau(u) for u in np.random.default_rng(0).random(n)], minlength=31)[1:]
    expected = n * np.asarray(reference.law_of_tau(0.07, 30))
    assert np.sum((counts - expected) ** 2 / expected) < chi2.ppf(0.99, df=29)


def test_replaced_constants_are_tuned_again_or_refused():
    tuned = Nonsmooth(L=1.0, M=1.0, sigma=1.0, lam=1.0, T=1000)
    with pytest.raises(
        ValueError, match=r"`a` must be tuned again for these constants, by a=None, or kept, by a=float"
    ):
        replace(tuned, T=2000)
    again = replace(tuned, T=2000, a=None, eta=None, rho=None)
    assert again == Nonsmooth(L=1.0, M=1.0, sigma=1.0, lam=1.0, T=2000)
    kept = {name: float(getattr(tuned, name)) for name in ("a", "eta", "rho")}
    assert replace(tuned, T=2000, **kept).eta == tuned.eta
    assert not replace(tuned, T=2000, **kept).is_tuned
    longer = replace(tuned, eta=4 * tuned.eta)
    assert (longer.a, longer.eta, longer.rho) == (tuned.a, 4 * tuned.eta, tuned.rho)
    assert {type(value) for value in tuned.values} == {float}
    assert pickle.loads(pickle.dumps(tuned)) == tuned


def test_tau_is_quick_for_a_long_horizon():
    """By bisection, 30 evaluations and not 10^9."""
    constants = Nonsmooth(L=1.0, M=1.0, sigma=1.0, lam=1.0, T=10**9)
    assert constants.tau(0.5) == pytest.approx(5e8, rel=1e-2)
    assert 1 <= constants.tau(1e-30) <= constants.tau(0.5) <= constants.tau(1 - 1e-16) <= 10**9
