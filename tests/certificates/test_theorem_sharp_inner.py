"""The sharp theorem for short steps: its multipliers in exact fractions, its constants, and exact second moments."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from o2nc.certificates import inner_factors, theorem_sharp, theorem_sharp_inner

RATES = [F(1, 10**6), F(1, 100), F(1, 7), F(1, 3), F(1, 2), F(9, 10), F(1)]
DIVISORS = [F(2), F(5, 2), F(3), F(8), F(64), F(1000)]


@pytest.mark.parametrize("a", RATES)
@pytest.mark.parametrize("c", DIVISORS)
def test_the_multipliers(a, c):
    """Steps 5 and 6: P and E_tr vanish, S keeps X > 0, and the end is not positive."""
    gap, start, noise, regret = inner_factors(a, c)
    X, nu = 1 / regret, noise / regret / a
    mu = start / regret - a * nu
    assert gap == c * regret
    b, l = 1 - a, 2 * a / c
    omega = (1 + 1 / l) * (a / c) ** 2
    first = {"S": 1 - a / (2 * c), "P": 1 - a / c, "E": -a / (2 * c)}
    second = {"S": -1 / c - a / c**2, "P": -(1 + a / c + 2 * a / c**2), "E": -(1 + b**2) / (2 * c) - a / c**2}
    third = {"S": -omega, "P": -2 * omega, "E": 1 - (1 + l) * b**2 - omega}
    total = {name: first[name] + mu * second[name] + nu * third[name] for name in first}
    assert total == {"S": X, "P": 0, "E": 0}
    assert X > 0
    assert mu >= 0
    assert mu**2 / a**2 <= 4 * c / (2 * a) * nu


@pytest.mark.parametrize("a", RATES)
def test_the_mixed_terms_nearly_cancel(a):
    b = 1 - a
    for g, e in ((F(1), F(2)), (F(-3), F(1, 2)), (F(2), F(2))):
        half = ((g - b * e) ** 2 + (g + e) ** 2) / 2
        assert half == g**2 + (1 + b**2) / 2 * e**2 + a * g * e >= abs((g - b * e) * (g + e))
        for drift in (F(1, 3), F(-2)):
            assert (g + drift) * (b * e - drift) == b * g * e - (g - b * e + drift) * drift


@pytest.mark.parametrize(
    ("c", "k1", "k2", "k3", "constant"),
    [(4, 8.47, 0.2353, 1.353, 2.824), (8, 11.62, 0.0842, 1.147, 1.979), (16, 19.29, 0.0361, 1.068, 1.669),
     (64, 67.07, 0.0081, 1.016, 1.474), (1000, 1003.0, 0.0005, 1.001, 1.418)],
)  # fmt: skip
def test_the_constants(c, k1, k2, k3, constant):
    gap, start, noise, regret = inner_factors(1e-7, float(c))
    assert gap + 2 * start == pytest.approx(k1, abs=0.1 if c == 1000 else 0.006)
    assert (noise, regret) == pytest.approx((k2, k3), abs=6e-4)
    assert noise == pytest.approx(k2, abs=6e-5)
    assert 2 * math.sqrt((gap + 2 * start) * noise) == pytest.approx(constant, abs=6e-4)
    assert 2 * math.sqrt(inner_factors(1e-9, 1e5).gap * inner_factors(1e-9, 1e5).noise) == pytest.approx(
        math.sqrt(2), abs=1e-4
    )


def test_every_divisor_from_2_on_a_fine_grid():
    for a in np.concatenate([np.geomspace(1e-8, 0.1, 40), np.linspace(0.1, 1, 91)]):
        for c in [*np.geomspace(2, 1e4, 60)]:
            assert inner_factors(float(a), float(c)).regret > 1


def test_a_divisor_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match=r"`c` must be larger for a = 0\.1, as a rule at least 2; got 0\.5"):
        inner_factors(0.1, 0.5)


def test_for_long_runs_it_is_the_smallest_bound():
    known = dict(gap=0.5, beta=1.0, sigma=1.0, T=10**7, regret=0.0)
    a = math.sqrt(11.62 / 0.0842 * 0.5 / 10**7)
    assert theorem_sharp_inner(**known, a=a).bound < 0.5 * theorem_sharp(**known).bound


@pytest.mark.parametrize("c", [2.0, 3.0, 8.0, 30.0])
def test_no_contraction_on_a_quadratic_breaks_it(c):
    """Exact second moments, f = x' diag(curvatures) x / 2, beta = 1, linear loss, random orthogonal and scaled U_t."""
    rng, ratios = np.random.default_rng(0), []
    for _ in range(60):
        d, T, a = int(rng.integers(1, 4)), int(rng.choice([1, 5, 40])), float(rng.choice([1.0, 0.5, 0.1, 0.02]))
        curvatures, x = rng.choice([1.0, 0.5, 0.02], size=d), rng.normal(size=d)
        root = rng.normal(size=(d, d)) * rng.choice([0.0, 0.3, 3.0])
        kind, scale = rng.integers(3), rng.choice([1.0, -1.0, 0.5])
        C, S, regret = np.outer(z := np.concatenate([x, 0 * x]), z), 0.0, 0.0
        gradient, keep = np.hstack([np.diag(curvatures), 0 * np.eye(d)]), np.hstack([0 * np.eye(d), np.eye(d)])
        at = np.hstack([np.eye(d), 0 * np.eye(d)])
        turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
        for _ in range(T):
            if kind == 2:
                turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
            step = scale * (turned if kind else np.eye(d)) @ keep
            S += np.trace(gradient @ C @ gradient.T)
            regret += np.trace(gradient @ C @ (keep - step).T)
            move = np.vstack([at - a / c * step, (1 - a) * keep + a * gradient])
            C = move @ C @ move.T
            C[d:, d:] += a**2 * root @ root.T
        known = dict(gap=(curvatures * x**2).sum() / 2, beta=1.0, sigma=0.0, T=T, regret=regret, a=a, c=c)
        first, V_T = ((curvatures * x) ** 2).sum(), T * np.trace(root @ root.T)
        bound = theorem_sharp_inner(**known, first=first, V_T=V_T).bound * T
        assert bound * (1 + 1e-9) >= S
        ratios.append(S / bound)
    assert max(ratios) > 0.4
