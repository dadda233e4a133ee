"""The constants of the theorems, derived step by step from the lemmas in exact fractions."""

import math
from fractions import Fraction as F

import pytest

from o2nc.certificates import (
    descent_lower_bound,
    identity_correlation,
    law_of_tau,
    localization,
    output_weight,
    segment_identity,
    sharp_factors,
    smoothness,
    theorem1,
    theorem1_sharp,
    theorem2,
    theorem2_tuned,
    tracker_error,
    tracker_error_at,
    tracker_noise,
    tracker_norm,
    young,
)
from o2nc.constants import Nonsmooth, Smooth

RATES = [F(1, 1000), F(1, 100), F(1, 7), F(1, 3), F(1, 2), F(9, 10), F(1)]


def assembled(kappa):
    """The factors of G^2/a, G R and a V_T, from the lemmas alone, for a = 1, the worst case of a/64 <= 1/64."""
    from_range = -descent_lower_bound(F(1), F(1), F(0))
    from_m = -descent_lower_bound(F(1), F(1), F(1)) - from_range  # of sum E|m|^2
    m_in_S_and_E = 2 * from_m * kappa  # |m|^2 <= 2|g|^2 + 2|e|^2
    root_in_S, root_in_E = F(1, 4), F(1)  # sqrt(S E) <= S/4 + E
    left = 1 - m_in_S_and_E - root_in_S
    in_E = (m_in_S_and_E + root_in_E) / left
    E_range, E_noise, E_S = (tracker_error(*map(F, unit)) for unit in ((1, 1, 0, 0), (0, 1, 1, 0), (0, 1, 0, 1)))
    left_again = 1 - in_E * E_S
    return (
        (from_range / left + in_E * E_range) / left_again,
        1 / left / left_again,
        in_E * E_noise / left_again,
    )


def test_the_fractions_of_theorem_1_follow_from_its_lemmas():
    assert assembled(F(1)) == (F(574208, 5951), F(8192, 5951), F(24960, 5951)) == sharp_factors()


@pytest.mark.parametrize("kappa", [1, 2, 4, F(13, 2), 47])
def test_the_descent_loss_has_the_same_theorem_with_kappa_in_it(kappa):
    assert sharp_factors(kappa) == assembled(F(kappa))


@pytest.mark.parametrize("kappa", [0, F(1, 2), 1])
def test_up_to_kappa_one_the_fractions_are_the_papers(kappa):
    assert sharp_factors(kappa) == sharp_factors()


@pytest.mark.parametrize("kappa", [F(6080, 129), 48, 100.0])
def test_kappa_has_an_end(kappa):
    with pytest.raises(ValueError, match="`kappa` must be less than 6080/129; got"):
        sharp_factors(kappa)


def test_the_printed_constants_are_the_next_whole_numbers():
    of_range, _, of_noise = sharp_factors()
    assert of_range + of_noise == F(599168, 5951)
    assert 96 < of_range < 97
    assert 100 < of_range + of_noise < 101


@pytest.mark.parametrize("sigma", [0.0, 1e-3, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("T", [1, 100, 10**6])
def test_the_sharp_form_is_the_smaller_one_but_not_by_much(sigma, T):
    c = Smooth.paper(M=2.0, beta=3.0, sigma=sigma, T=T)
    G = math.sqrt(6.0)
    assert G**2 / c.a <= (G**2 + G * sigma * math.sqrt(T)) * (1 + 1e-15)
    assert c.a * sigma**2 * T <= G * sigma * math.sqrt(T) * (1 + 1e-15)
    sharp, printed = theorem1_sharp(c, regret=3.0), theorem1(c, regret=3.0)
    assert 0.49 < sharp.bound / printed.bound <= 1
    assert sharp.terms["regret"] == pytest.approx(printed.terms["regret"], rel=1e-15)


def test_the_terms_of_theorem_1():
    c = Smooth.paper(M=2.0, beta=8.0, sigma=0.5, T=400)  # sqrt(M beta) = 4, sqrt(T) = 20, a = 4/10
    assert theorem1(c, regret=5.951).terms == pytest.approx({"noise": 10.1, "regret": 8.192 / 100, "range": 3.88})
    terms = theorem1_sharp(c, regret=5.951, V_T=59.51).terms
    assert terms == pytest.approx({"noise": 249.6 * 0.4 / 400, "regret": 0.08192, "range": 574208 / 5951 / 10})
    assert theorem1_sharp(c, regret=0.0).terms["noise"] == pytest.approx(24960 / 5951 * 0.4 / 4)


@pytest.mark.parametrize("a", RATES)
def test_young_has_room_in_both_factors(a):
    assert (1 + a / 2) * (1 - a) ** 2 == 1 - 3 * a / 2 + a**3 / 2 <= 1 - a / 2
    assert 1 + 2 / a <= 4 / a
    assert young(a, F(1), F(0)) == 1 - a / 2
    assert young(a, F(0), F(1)) == 4 / a
    p, A, B = 1 - a, young(a, F(1), F(0)), young(a, F(0), F(1))
    largest = p**2 / A + 1 / B  # sup over x of (p + x)^2 / (A + B x^2): e and -Delta aligned
    assert largest <= 1
    if p:
        x = A / (B * p)
        assert (p + x) ** 2 / young(a, F(1), x**2) == largest


def test_young_is_tight_for_small_rates_and_four_times_too_large_in_delta():
    a = F(1, 1000)
    assert (1 - a) ** 2 / (1 - a / 2) + a / 4 > F(998, 1000)
    for a in RATES:  # convexity of the square: (1 - a) e^2 + Delta^2 / a, an equality at Delta = -a e
        for x in (F(0), a / 2, a, 2 * a, F(1), F(5)):
            assert (1 - a + x) ** 2 <= (1 - a) + x**2 / a <= young(a, F(1), x**2)
        assert (1 - a + a) ** 2 == (1 - a) + a**2 / a


@pytest.mark.parametrize("a", RATES)
def test_the_steps_of_the_tracker_lemma(a):
    assert young(a, F(0), (a / 64) ** 2) == a / 1024
    assert F(1, 2) - F(1, 512) > F(1, 3)
    assert 3 * F(1, 512) <= F(1, 128)


@pytest.mark.parametrize("a", RATES)
@pytest.mark.parametrize(("G", "V_T", "S"), [(1, 0, 0), (1, 1, 1), (0, 1, 0), (F(1, 9), 5, 700)])
def test_the_tight_family_contains_the_tracker_lemma(a, G, V_T, S):
    """At l = a/2, W <= 2 S + 2 E_tr, solved for E_tr, is below 6 G^2/a + 3 a V_T + S/128: by a third at least."""
    of_W = tracker_error_at(a / 2, a, F(0), F(1), F(0))
    rest = tracker_error_at(a / 2, a, 2 * F(G) ** 2, F(0), F(V_T))
    E_tr = (rest + 2 * S * of_W) / (1 - 2 * of_W)
    assert E_tr <= F(2, 3) * tracker_error(F(G), a, F(V_T), F(S))


def test_fractions_go_through_the_lemmas_without_roots():
    third = F(1, 3)
    assert smoothness(third, -third, F(6), F(1, 9)) == third
    assert tracker_error(F(3), F(1, 2), F(5), F(64)) == 108 + F(15, 2) + F(1, 2)
    assert descent_lower_bound(F(3), F(1, 2), F(64)) == -1152 - F(1, 4)
    assert segment_identity(F(1, 3), F(1, 7)) == F(-7, 3)
    assert identity_correlation(third, F(1, 7), F(-1, 3)) == 2
    assert tracker_noise(F(1, 2), F(3)) == 3
    assert tracker_norm(*map(F, (1, 2, 3, 4, F(1, 5), 6, 7)), T=3) == F(7, 3) + 4 + F(85, 20)
    assert localization(F(1, 2), F(1, 3)) == F(10, 9)
    assert tracker_error_at(F(1, 2), F(1, 2), F(1), F(4096), F(4)) == (1 + F(3, 4) + 1) / (1 - F(3, 8))


def test_eleven_is_two_and_two_and_one_and_six():
    """eps = 1/4, B = 1, lam = 1, M = 1, T = 128: every number of the tuned form is a fraction."""
    eps, L, sigma, T = F(1, 4), F(3, 5), F(4, 5), 128
    a, eta, rho = eps**2, F(1, 32), eps
    assert (L**2 + sigma**2, eps**7, eta**2) == (1, F(1, T**2), eps**5)
    assert tracker_norm(F(1), eta, F(0), rho, a, L, sigma, T) == (2 + 2) * eps
    assert tracker_noise(a, sigma) <= (1 * eps) ** 2
    assert localization(a, eta) <= 6 * eps
    assert L / (a * T) == L * F(1, 8)
    assert F(1, 8) ** 2 == eps**3
    c = Nonsmooth(L=0.6, M=1.0, sigma=0.8, lam=1.0, T=T)
    assert (c.eps, c.a, c.eta) == pytest.approx((1 / 4, 1 / 16, 1 / 32))
    assert theorem2_tuned(c, regret=3.0).bound == pytest.approx(11 / 4 + 0.6 / 8 + 6 / T)
    assert theorem2(c, regret=3.0).bound <= theorem2_tuned(c, regret=3.0).bound


@pytest.mark.parametrize("a", [F(1, 10**4), F(1, 30)])
def test_six_is_needed_in_the_tuned_form_up_to_a_factor(a):
    """(2 + 4 (1 - a)/a^2) a^2 tends to 4 for small a and is 4 - 4 a + 2 a^2: 6 is loose by at most 1.5."""
    assert localization(a, a) == 4 - 4 * a + 2 * a**2 <= 6


def test_the_terms_of_theorem_2():
    c = Nonsmooth(L=3.0, M=5.0, sigma=4.0, lam=7.0, T=10, a=0.5, eta=0.25, rho=2.0)
    expected = {
        "range": 4.0,
        "regret": 0.2,
        "smoothing": 2.0,
        "potential": 6.25,
        "noise": 4 / math.sqrt(3),
        "output": 0.6,
        "localization": 10 * 7 / 16,
    }
    assert theorem2(c, regret=1.0).terms == pytest.approx(expected)


def test_the_terms_of_theorem_2_tuned():
    """Each term of the general form at the tuned constants, with B, M and lam not 1."""
    c = Nonsmooth(L=3.0, M=5.0, sigma=4.0, lam=7.0, T=10_000)
    general, tuned = theorem2(c, regret=6.0).terms, theorem2_tuned(c, regret=6.0).terms
    assert tuned["output"] == pytest.approx(general["output"])
    assert tuned["regret"] == general["regret"] == 12 / 10_000
    assert general["range"] + general["smoothing"] + general["potential"] == pytest.approx(4 * c.eps)
    assert tuned["scale"] == pytest.approx(11 * c.eps)


@pytest.mark.parametrize("a", [F(1, 50), F(1, 3), F(1, 2), F(1)])
@pytest.mark.parametrize("T", [1, 2, 3, 17])
def test_the_law_of_tau_and_its_marginal(a, T):
    rounds = range(1, T + 1)
    assert sum(law_of_tau(a, t, T) for t in rounds) == 1
    for t in rounds:
        assert sum(output_weight(a, t, s) for s in range(1, t + 1)) == 1
    for s in rounds:
        assert sum(law_of_tau(a, t, T) * output_weight(a, t, s) for t in range(s, T + 1)) == F(1, T)


@pytest.mark.parametrize("a", [F(1, 50), F(1, 3), F(1, 2)])
def test_the_output_weights_are_those_of_line_10(a):
    b, weights = 1 - a, [F(1)]
    for t in range(2, 12):
        c, before = 1 - b**t, 1 - b ** (t - 1)
        weights = [b * before / c * q for q in weights] + [a / c]
        assert weights == [output_weight(a, t, s) for s in range(1, t + 1)]


def test_the_law_of_tau_is_the_one_that_is_drawn_from():
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=9, a=0.125, eta=0.1, rho=0.1)
    law = [c.tau_cdf(t) - c.tau_cdf(t - 1) for t in range(1, 10)]
    assert law == pytest.approx([law_of_tau(0.125, t, 9) for t in range(1, 10)])


def path_weight(a, k, T):
    """C_k of Appendix C, its definition."""
    return sum(
        law_of_tau(a, t, T) * output_weight(a, t, s) * (t - s) for t in range(k + 1, T + 1) for s in range(1, k + 1)
    )


@pytest.mark.parametrize("a", [F(1, 20), F(1, 3), F(1, 2)])
def test_the_path_weights(a):
    T, b = 14, 1 - a
    for k in range(1, T):
        assert path_weight(a, k, T) <= b * (1 + b) / (a**2 * T) <= 2 * b / (a**2 * T)


def test_the_path_weights_are_tight_in_the_middle_of_a_long_run():
    a, b, T = 0.2, 0.8, 120
    assert 0.999 < path_weight(a, 60, T) / (b * (1 + b) / (a**2 * T)) <= 1


def test_leakage_and_that_a_would_do_for_a_half():
    """Phi(m) - Phi(b m) >= (a/2) (|m| - rho) leaves out a factor of two: Phi is convex and Phi(0) = rho."""
    closest = math.inf
    for a in (0.001, 0.01, 0.1, 0.3, 0.5):
        for r in (0.0, 0.1, 0.9, 1.0, 1.1, 2.0, 10.0, 100.0, 1000.0):
            leak = math.hypot(r, 1) - math.hypot((1 - a) * r, 1)
            assert leak >= a * (r - 1) * (1 - 1e-9)
            if r > 1:
                closest = min(closest, leak / (a / 2 * (r - 1)))
    assert 2 <= closest < 2.003
