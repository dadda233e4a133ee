"""The sharp theorem, step by step in exact fractions; test_theorem_sharp_runs.py attacks it with runs."""

import math
import random
from fractions import Fraction as F

import pytest

from o2nc.certificates import (
    decreasing_rate,
    decreasing_weight,
    least_squares_rate,
    least_squares_regret,
    segment_growth,
    segment_moments,
    sharp_alignment,
    sharp_rate,
    sharp_step,
    theorem_sharp,
    theorem_sharp_decreasing,
    theorem_sharp_least_squares,
    tracker_error_convex,
)

RATES = [F(1, 1000), F(1, 100), F(1, 7), F(1, 3), F(1, 2), F(9, 10), F(1)]
PLACES = [F(k, 8) for k in range(9)]


def path(rng, a, c, factors, curvatures=(1, F(1, 3)), T=6, m=None, weights=None):
    """Exact sums of a run without noise on f = sum_i lam_i x_i^2 / 2, beta = 1; ``factors`` gives U_t's diagonal."""
    x = [F(rng.randint(-8, 8), 8) for _ in curvatures]
    m = [F(0) for _ in x] if m is None else m
    sums = dict.fromkeys(["S", "Q", "N", "W", "E", "played"], F(0))
    value = lambda x: sum(l * v * v for l, v in zip(curvatures, x, strict=True)) / 2
    dot = lambda u, v: sum(p * q for p, q in zip(u, v, strict=True))
    sums["gap"] = value(x)
    for t in range(T):
        g = [l * v for l, v in zip(curvatures, x, strict=True)]
        d = [u * v for u, v in zip(factors(rng), m, strict=True)]
        e = [p - q for p, q in zip(m, g, strict=True)]
        sums["first"] = sums.get("first", dot(e, e))
        for name, u, v in (("S", g, g), ("Q", g, m), ("N", m, m), ("W", d, d), ("E", e, e), ("played", g, d)):
            sums[name] += dot(u, v)
        x = [v - a / c * w for v, w in zip(x, d, strict=True)]
        rate = a if weights is None else weights[t]
        m = [(1 - rate) * p + rate * q for p, q in zip(m, g, strict=True)]
    g = [l * v for l, v in zip(curvatures, x, strict=True)]
    e = [p - q for p, q in zip(m, g, strict=True)]
    return sums | {"left": value(x), "last": dot(e, e)}


def regret(sums, a, c, kappa):
    return sums["Q"] - sums["played"] + kappa * a / (2 * c) * (sums["W"] - sums["N"])


def contraction(rng):
    return [F(rng.randint(-8, 8), 8) for _ in range(2)]


def anything(rng):
    return [F(rng.randint(-24, 24), 8) for _ in range(2)]


@pytest.mark.parametrize("a", RATES)
def test_the_steps_on_exact_paths(a):
    rng = random.Random(0)
    for _ in range(4):
        for factors, kappas in ((contraction, (F(0), F(1), (1 + a) / a / 2, (1 + a) / a)), (anything, ((1 + a) / a,))):
            c = 1 + a
            run = path(rng, a, c, factors, m=[F(rng.randint(-3, 3), 2) for _ in range(2)])
            assert run["S"] == 2 * run["Q"] - run["N"] + run["E"]
            assert run["E"] <= tracker_error_convex(a, c, run["first"], run["W"], F(0))
            for kappa in kappas:
                R = regret(run, a, c, kappa)
                known = {name: run[name] for name in ("gap", "N", "W")}
                assert 2 * run["Q"] <= sharp_alignment(F(1), a, c, regret=R, kappa=kappa, **known)
                assert run["S"] <= 2 * c * run["gap"] / a + run["first"] / a + 2 * R


@pytest.mark.parametrize("a", RATES)
def test_the_square_is_convex(a):
    for e, drift in ((F(1), F(1)), (F(-3), F(1, 9)), (F(0), F(2)), (F(5), -5 * a)):
        gap = (1 - a) * e**2 + drift**2 / a - ((1 - a) * e - drift) ** 2
        assert gap == (1 - a) * (a * e + drift) ** 2 / a >= 0


@pytest.mark.parametrize("a", RATES)
@pytest.mark.parametrize("over", [F(0), F(1, 10), F(3)])
def test_the_brackets_of_step_4(a, over):
    """They add up to 1/c^2 + a/c - 1 for every kappa; contractions take W <= N, the prediction loss takes any W."""
    c = 1 + a + over
    for kappa in (F(0), F(1, 2), F(1), c / a / 3, c / a):
        first, second = kappa * a / c - 1, 1 / c**2 + (1 - kappa) * a / c
        assert first + second == 1 / c**2 + a / c - 1 <= 0
        assert first <= 0
        for W in (F(0), F(1, 2), F(1)):
            assert first * 1 + second * W <= 0
    assert first == 0
    assert second <= 0


@pytest.mark.parametrize("a", [float(a) for a in RATES])
def test_the_smallest_divisor(a):
    c, eta = sharp_step(2.0, a)
    assert 1 / c**2 + a / c == pytest.approx(1)
    assert c <= 1 + a / 2 + a**2 / 8 + 1e-15
    assert eta == pytest.approx(a / (2 * c))
    twice, _ = sharp_step(2.0, a, tracked=2)
    assert twice == pytest.approx((a + math.sqrt(a**2 + 8)) / 2)
    assert sharp_step(2.0, a, r=None)[0] == pytest.approx(1 + a)
    for r in PLACES:
        q, k = float(segment_moments(r)[2]), float(segment_growth(r, a)[1])
        c, _ = sharp_step(2.0, a, r=float(r))
        assert k / c**2 + q * a / c == pytest.approx(1)
        assert c <= (1 + a) * (1 + 1e-15)


@pytest.mark.parametrize("c", [F(11, 10), F(3, 2), F(8, 5), F(2), F(9)])
def test_at_a_1_nothing_is_lost_but_the_end(c):
    run = path(random.Random(1), F(1), c, lambda rng: [1, 1], curvatures=(1, 1), T=12)
    bound = 2 * c * run["gap"] + run["first"]
    assert run["S"] == bound + (1 / c**2 + 1 / c - 1) * run["N"] - run["last"] - 2 * c * run["left"]


@pytest.mark.parametrize(("a", "ratio", "shorter"), [(1.0, 1.0, 1.0797), (0.95, 0.9669, 1.0377), (0.5, 0.7138, 0.7347)])
def test_the_divisor_is_sharp_near_a_1(a, ratio, shorter):
    """f = x^2 / 2, U = I, no noise, m_1 = 0: the bound is attained at a = 1, and .95 c is too small."""

    def measured(c):
        x, m, S = 1.0, 0.0, 0.0
        for _ in range(200):
            S += x**2
            x, m = x - a / c * m, (1 - a) * m + a * x
        return S / ((c + 1) / a)

    c, _ = sharp_step(1.0, a)
    assert measured(c) == pytest.approx(ratio, abs=1e-4)
    assert measured(0.95 * c) == pytest.approx(shorter, abs=1e-4)


@pytest.mark.parametrize("a", RATES)
def test_the_multipliers_of_decreasing_weights(a):
    T = math.ceil(2 / a) + 3
    weights = [decreasing_weight(a, t) for t in range(1, T + 1)]
    p = [1 / a]
    for weight in reversed(weights[1:]):
        p.append(1 + p[-1] * (1 - weight))
    p.reverse()
    assert weights[0] == 1
    early = [t for t in range(1, T + 1) if t + 1 <= 2 / a]
    assert p[early[-1] - 1] == 1 / a
    for t in range(1, T + 1):
        assert 0 < p[t - 1] <= 1 / a
        assert p[t - 1] * a**2 / weights[t - 1] <= 1  # the factor of |d_t|^2 / c^2
        noise = p[t - 1] * weights[t - 1] ** 2
        assert noise <= F(4, t + 1) if t in early else noise == a
    assert sum(4 / (t + 1) for t in early) <= 4 * math.log(2 / a) + 1e-12


@pytest.mark.parametrize("a", [F(1, 10), F(1, 3), F(1)])
def test_decreasing_weights_on_exact_paths(a):
    rng, c = random.Random(2), 1 + a
    weights = [decreasing_weight(a, t) for t in range(1, 9)]
    for factors in (contraction, anything):
        run = path(rng, a, c, factors, T=8, weights=weights)
        assert run["E"] <= run["first"] + run["W"] / c**2
        assert run["S"] <= 2 * c * run["gap"] / a + run["first"] + 2 * regret(run, a, c, c / a)


@pytest.mark.parametrize("a", RATES)
@pytest.mark.parametrize("r", PLACES)
def test_the_fractions_of_the_segment(a, r):
    if r:
        assert (1 + 1 / (r * a)) * r**2 * a**2 == (1 + r * a) * r * a
    inverse = a * (1 - r + r * a)
    assert (1 - a) * (1 + r * a) + inverse == 1
    assert (1 - r) ** 2 * a**2 / inverse <= (1 - r) * a
    A = 1 / (1 + r * a) - a / (1 + a)
    assert (1 - r * a**2) / ((1 + r * a) * (1 + a)) == A
    if a < 1:
        assert (1 - a) ** 2 < A
        assert a * (1 - r) * A / (A - (1 - a) ** 2) <= 1 + 2 * a
    assert F(1, 2) + (1 + 2 * a) / 2 == 1 + a
    c, (_, k), q = 1 + a, segment_growth(r, a), segment_moments(r)[2]
    assert k / c**2 + q * a / c <= 1
    assert segment_growth(None, a)[1] / c**2 == 1


@pytest.mark.parametrize("lam", [F(1, 10), F(3)])
def test_the_regret_of_least_squares_on_each_path(lam):
    rng = random.Random(3)
    for _ in range(20):
        A, H, lost, bound = lam, F(0), F(0), F(0)
        for _ in range(8):
            m, s = F(rng.randint(-9, 9), 4), F(rng.randint(-9, 9), 4)
            before, A, h = A, A + m * m, m * (s - m)
            theta = 1 + H / A
            cost = ((theta * m - s) ** 2 - (m - s) ** 2) / 2
            assert cost <= h * h / (2 * A) + H * H / (2 * before) - (H + h) ** 2 / (2 * A)
            lost, bound, H = lost + cost, bound + h * h / (2 * A), H + h
        assert lost <= bound - H * H / (2 * A)


def test_the_terms():
    known = dict(gap=0.5, beta=2.0, sigma=3.0, T=10)
    terms = theorem_sharp(**known, regret=7.0, a=0.5, first=4.0, V_T=5.0).terms
    c = (0.5 + math.sqrt(4.25)) / 2
    assert terms == pytest.approx({"start": 0.8, "gap": 0.4 * c, "noise": 0.25, "regret": 1.4})
    ends = theorem_sharp(**known, regret=7.0, a=0.5, first=4.0, V_T=5.0, r=1.0).terms
    assert ends == pytest.approx({"start": 1.2, "gap": 0.6, "noise": 0.375, "regret": 1.4})
    terms = theorem_sharp_decreasing(**known, regret=7.0, a=0.5, first=4.0).terms
    noise = 0.5 * 9 + 3.6 * math.log(4)
    assert terms == pytest.approx({"start": 0.4, "gap": 0.4 * c, "noise": noise, "regret": 1.4})
    certificate = theorem_sharp_least_squares(**known, lam=2.0, variance=4.0, a=0.5, first=4.0)
    twice = (0.5 + math.sqrt(8.25)) / 2
    X = 4 * twice + 16 + 90
    assert certificate.label == "a-priori"
    assert certificate.bound == pytest.approx((X + 4 / (1 - 4 / (92 + X)) * math.log(1 + (90 + X) / 2)) / 10)
    assert least_squares_regret(1.0, 0.0, 3.0, 1.0) == 0.5


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("T", [1, 40, 10**6])
def test_the_displays_with_the_best_rates(sigma, T):
    known = dict(gap=0.7, beta=3.0, sigma=sigma, T=T)
    root, once = sigma * math.sqrt(2.1 / T), 2.1 / T
    a = sharp_rate(**known)
    assert theorem_sharp(**known, regret=1.0).bound <= 4 * root + (2 if a < 1 else 6) * once + 2 / T + 1e-12
    assert theorem_sharp(**known, regret=0.0).bound <= 4 * root + (1.25 if a < 1 else 3 + math.sqrt(5)) * once + 1e-12
    a = decreasing_rate(**known)
    log = 4 * sigma**2 / T * math.log(2 / a)
    bound = theorem_sharp_decreasing(**known, regret=0.0).bound
    assert bound <= math.sqrt(8) * root + (4 if a < 1 else 6) * once + log + 1e-12


def test_the_rates_are_the_best():
    known = dict(gap=0.7, beta=3.0, sigma=2.0, T=10**10)
    for rate, kind, extra, constant in (
        (sharp_rate, theorem_sharp, {"regret": 0.0}, 4),
        (decreasing_rate, theorem_sharp_decreasing, {"regret": 0.0}, math.sqrt(8)),
        (least_squares_rate, theorem_sharp_least_squares, {"lam": 1.0}, 2 * math.sqrt(8 + 4 * math.sqrt(2))),
    ):
        a = rate(**known)
        best = kind(**known, **extra).bound
        assert best == pytest.approx(constant * 2 * math.sqrt(2.1 / 10**10), rel=2e-3)
        assert best < min(kind(**known, **extra, a=1.2 * a).bound, kind(**known, **extra, a=a / 1.2).bound)


def test_what_is_refused():
    known = dict(gap=0.5, beta=2.0, sigma=1.0, T=10)
    with pytest.raises(ValueError, match="`gap` must be finite and positive; got 0"):
        sharp_rate(gap=0.0, beta=2.0, sigma=1.0, T=10)
    with pytest.raises(ValueError, match=r"`a` must lie in \(0, 1\]; got 1.5"):
        theorem_sharp(**known, regret=0.0, a=1.5)
    with pytest.raises(ValueError, match="`regret` must be finite; got nan"):
        theorem_sharp(**known, regret=math.nan)
    with pytest.raises(ValueError, match=r"`r` must be None or lie in \[0, 1\]; got 2"):
        theorem_sharp(**known, regret=0.0, r=2.0)
    with pytest.raises(ValueError, match="`lam` must be finite and positive; got 0"):
        theorem_sharp_least_squares(**known, lam=0.0)
    with pytest.raises(ValueError, match="`variance` must be less than lam"):
        theorem_sharp_least_squares(**known, lam=1.0, variance=1e6)
