"""A certificate for one run: its algebra in exact fractions, its inequalities round by round, and its refusals."""

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest

from o2nc.certificates import Certificate, one_run, one_run_factors, one_run_rate, sharp_rate, tracking_root
from o2nc.noise import Bounded, Guess, HeavyTailed, SubGaussian, clipping_radius

KNOWN = {"a": 0.1, "eta": 0.0125, "beta": 1.0, "first": 1.0, "T": 10_000}
SUMS = {"Q": 100.0, "N": 150.0, "W": 150.0}


def dot(u, v):
    return sum((p * q for p, q in zip(u, v, strict=True)), F(0))


def combination(*parts):
    return [sum((f * v[i] for f, v in parts), F(0)) for i in range(len(parts[0][1]))]


@pytest.mark.parametrize("a", [F(1, 10), F(1, 2), F(1)])
@pytest.mark.parametrize("gamma", [F(1), F(11, 10), F(5, 4)])
def test_the_identity_of_step_3_on_exact_paths(a, gamma):
    """Any vectors will do: g, m_1, noise and bias are drawn, and the excess of the lemma is what it is."""
    rng = random.Random(0)
    draw = lambda: [F(rng.randint(-9, 9), rng.randint(1, 5)) for _ in range(2)]
    kappa, excess = F(7, 3), gamma - 1
    nu = 1 / (kappa * (a - excess * (1 - a)))
    m, g = draw(), draw()
    S = Q = N = E = H = Z = biased = turned = F(0)
    first = dot(combination((1, m), (-1, g)), combination((1, m), (-1, g)))
    for _ in range(5):
        new, xi, b = draw(), draw(), draw()
        s = combination((1, g), (1, b), (1, xi))
        e, Delta = combination((1, m), (-1, g)), combination((1, new), (-1, g))
        h = combination((1 - a, e), (-1, Delta), (a, b))
        y = combination((1, h), (-nu, m))
        moved = combination((1, y), (a, xi))
        S, Q, N, E, H = S + dot(g, g), Q + dot(s, m), N + dot(m, m), E + dot(e, e), H + dot(h, h)
        Z += dot(moved, moved) - gamma * dot(y, y)
        biased, turned = biased + dot(b, m), turned + dot(Delta, m)
        m, g = combination((1 - a, m), (a, s)), new
    last = dot(combination((1, m), (-1, g)), combination((1, m), (-1, g)))
    leak = kappa * nu * excess
    assert (
        2 * Q - N + kappa * (first - last + Z) + (1 - kappa) * E + kappa * gamma * H
        + leak * (nu * N - 2 * (1 - a) * (N - Q) + 2 * turned) - 2 * (1 + leak) * biased
    ) == S  # fmt: skip


@pytest.mark.parametrize(("a", "growth"), [(0.1, 1.05), (0.5, 1.0), (0.9, 1.3), (1.0, 2.0)])
def test_the_factors_and_the_root_are_two_views_of_one_maximum(a, growth):
    """kappa Y + max_E of the rest is least at the kappa of the root, where it is the root: step 5."""
    drift, rest = 0.7, 2.5
    E = tracking_root(a, growth, drift, rest)
    assert pytest.approx(growth * ((1 - a) * math.sqrt(E) + drift) ** 2 + rest, rel=1e-12) == E
    left = 1 - growth * (1 - a) ** 2

    def dual(kappa):
        turned = (kappa * growth * (1 - a) * drift) ** 2
        return kappa * rest + (turned / (kappa * left - 1) if turned else 0.0) + kappa * growth * drift**2

    kappa = math.sqrt(E) / (left * math.sqrt(E) - growth * (1 - a) * drift)
    assert dual(kappa) == pytest.approx(E, rel=1e-12)
    assert a == 1 or (dual(kappa * 1.01) > E and dual(kappa * 0.999) > E)


def test_the_drift_is_the_maximum_over_the_tracking_error():
    """The bound beside a maximisation on a grid of E, which knows nothing of rho."""
    noise = Bounded(0.5)
    found = one_run(**KNOWN, **SUMS, noise=noise)
    kappa, nu, gamma, added = one_run_factors(**KNOWN, noise=noise, horizon=KNOWN["T"])
    a, drift = KNOWN["a"], KNOWN["beta"] * KNOWN["eta"] * math.sqrt(SUMS["W"])
    E = np.linspace(0.0, 1000.0, 1_000_001)
    grid = (1 - kappa) * E + kappa * gamma * ((1 - a) * np.sqrt(E) + drift) ** 2
    assert 0 < grid.argmax() < len(E) - 1
    assert found.terms["drift"] * KNOWN["T"] == pytest.approx(grid.max(), rel=1e-9)
    assert found.terms["noise"] * KNOWN["T"] == pytest.approx(kappa * added)
    leak = kappa * nu * (gamma - 1)
    crossed = 2 * KNOWN["beta"] * KNOWN["eta"] * math.sqrt(SUMS["W"] * SUMS["N"])
    deviation = leak * (nu * SUMS["N"] - 2 * (1 - a) * (SUMS["N"] - SUMS["Q"]) + crossed)
    assert found.terms["deviation"] * KNOWN["T"] == pytest.approx(deviation)
    assert nu * kappa * (a - (gamma - 1) * (1 - a)) == pytest.approx(1)


def moment(noise, a, y, atoms, weights, guess):
    """E exp(theta (|y + a xi|^2 - gamma |y|^2 - per round)), which the lemma says is at most 1."""
    delta = 0.01
    none, one = (noise.tracking(a, T, delta, guess) for T in (0, 1))
    theta = math.log(1 / delta) / none.noise
    squares = ((y + a * atoms) ** 2).sum(-1) - one.growth * (y**2).sum() - (one.noise - none.noise)
    return (weights * np.exp(theta * squares)).sum()


def signs(d):
    return np.asarray(list(itertools.product([-1.0, 1.0], repeat=d)))


def largest(noise, atoms, weights, longest=None, seed=0):
    """The largest moment over random rates, guesses and vectors y, no longer than the noise allows."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(400):
        a = float(rng.choice([1.0, 0.5, 0.1, 0.02]))
        guess = Guess(int(rng.choice([10, 1000])), float(rng.choice([0.1, 1.0, 100.0])), 1.0)
        length = rng.choice([0.0, 0.3, 1.0, 3.0, 30.0])
        y = rng.normal(size=atoms.shape[1])
        y *= (length if longest is None else min(length, longest)) / np.linalg.norm(y)
        found.append(moment(noise, a, y, atoms, weights, guess))
    return max(found)


def test_step_2_for_signs():
    scales = np.asarray([1.0, 0.5, 0.5, 0.1])
    atoms, weights = signs(4) * scales, np.full(16, 1 / 16)
    assert 0.99 < largest(SubGaussian(1.0, 1.51), atoms, weights) <= 1 + 1e-9
    assert largest(SubGaussian(0.7, 1.51 / 0.49), atoms, weights) > 1.001
    assert largest(SubGaussian(1.0, 1.2), atoms, weights) > 1.001
    assert 0.99 < largest(Bounded(math.sqrt(1.51)), atoms, weights) <= 1 + 1e-9
    assert largest(Bounded(0.9), atoms, weights) > 1.001


def test_step_2_for_gaussian_noise_by_quadrature():
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    assert 0.99 < largest(SubGaussian(1.0, 1), nodes[:, None], weights / weights.sum()) <= 1 + 1e-6
    assert largest(SubGaussian(0.8, 1), nodes[:, None], weights / weights.sum()) > 1.001


@pytest.mark.parametrize("rare", [0.5, 0.1, 1e-3])
def test_step_2_for_rare_events(rare):
    """B with a small probability, and a little of the other sign else."""
    atoms = np.asarray([[2.0], [-2.0 * rare / (1 - rare)]])
    weights = np.asarray([rare, 1 - rare])
    sigma = math.sqrt((weights[:, None] * atoms**2).sum())
    H = 2 * 1.0 + 2.0 + 1.0 * (1.0 + 2.0)  # of the docstring, with L = 1 and nu = 1
    assert largest(Bounded(2.0), atoms, weights) <= 1 + 1e-9
    assert largest(Bounded(2.0, sigma, 1.0), atoms, weights, longest=H) <= 1 + 1e-9
    assert largest(Bounded(2.0, sigma / 2, 1.0), atoms, weights, longest=H) > 1 + 1e-9


@pytest.mark.parametrize("q", [1.2, 1.5, 2.0])
@pytest.mark.parametrize("gradient", [0.0, 1.0, -1.0])
def test_bias_and_variance_of_clipped_samples(q, gradient):
    """Two atoms with the given moment: all bounds hold, and that of the bias is nearly reached."""
    L, R, biases = 1.0, 4.0, []
    for size in np.geomspace(0.1, 300, 60):
        for chance in np.geomspace(1e-4, 0.5, 12):
            atoms = np.asarray([size, -size * chance / (1 - chance)])
            weights = np.asarray([chance, 1 - chance])
            v = float((weights * abs(atoms) ** q).sum() ** (1 / q))
            noise = HeavyTailed(v, L=L, R=R, q=q)
            clipped = np.clip(gradient + atoms, -R, R)
            mean = float((weights * clipped).sum())
            biases.append(abs(mean - gradient) / noise.bias)
            assert biases[-1] <= 1 + 1e-12
            assert (weights * (clipped - mean) ** 2).sum() <= noise.sigma**2 * (1 + 1e-12)
            assert abs(clipped - mean).max() <= noise.B * (1 + 1e-12)
    assert gradient < L or max(biases) > 0.95


def test_the_bernstein_inequality_gains_where_events_are_rare():
    rare, bounded = Bounded(1.0, 0.01, 1.0), Bounded(1.0)
    first, second = (one_run(**KNOWN, **SUMS, noise=noise).bound for noise in (rare, bounded))
    assert first < second / 3


def test_without_noise_and_drift_it_is_the_identity():
    found = one_run(**KNOWN | {"first": 0.0}, Q=3.0, N=2.0, W=0.0, noise=SubGaussian(0.0, 1))
    assert found.bound * KNOWN["T"] == pytest.approx(2 * 3.0 - 2.0)


def test_it_grows_as_delta_falls_and_says_its_probability():
    bounds = [one_run(**KNOWN, **SUMS, noise=Bounded(0.3), delta=delta).bound for delta in (0.5, 0.1, 0.01, 1e-6)]
    assert bounds == sorted(bounds)
    found = one_run(**KNOWN, **SUMS, noise=Bounded(0.3), delta=0.05, measured=0.1, note="a test")
    assert found.label == "high-probability"
    assert found.note == "fails with probability 0.05 at most; a test"
    assert Certificate.from_json(found.to_json()) == found


def test_a_bad_guess_of_the_horizon_is_paid_for_and_no_more():
    right = one_run(**KNOWN, **SUMS, noise=Bounded(0.3)).bound
    near, far = (one_run(**KNOWN, **SUMS, noise=Bounded(0.3), horizon=horizon).bound for horizon in (1000, 100_000))
    assert 0.9 * right < near < 1.5 * right
    assert right < far < 1.5 * right


def test_a_noise_is_the_call_that_it_prints():
    for noise in (SubGaussian(0.1, 64), Bounded(2.0), Bounded(2.0, 0.1, 1.0), HeavyTailed(1.0, 1.0, 3.0, 1.5)):
        assert eval(repr(noise)) == noise


def test_the_rate():
    a, eta = one_run_rate(0.5, 2.0, 1.0, 10**6)
    assert a == pytest.approx(4 * sharp_rate(0.5, 2.0, 1.0, 10**6))
    assert eta == pytest.approx(a / 16)
    assert one_run_rate(0.5, 2.0, 0.0, 10) == (1.0, 1 / 16)
    assert clipping_radius(1.0, 1.0, 10**6, q=1.5) > clipping_radius(1.0, 1.0, 10**6, q=2.0)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SubGaussian(-1.0, 2), "`p` must be finite and nonnegative; got -1.0."),
        (lambda: SubGaussian(1.0, 0), "`d` must be finite and positive; got 0."),
        (lambda: Bounded(1.0, sigma=0.5), "`sigma` and `L` must be given both or neither; got 0.5 and None."),
        (lambda: Bounded(1.0, L=0.5), "`sigma` and `L` must be given both or neither; got None and 0.5."),
        (lambda: Bounded(1.0, 2.0, 1.0), "`sigma` must be at most B = 1.0; got 2.0."),
        (lambda: HeavyTailed(1.0, L=2.0, R=1.0), "`R` must be larger than L = 2.0; got 1.0."),
        (lambda: HeavyTailed(1.0, L=1.0, R=2.0, q=3.0), r"`q` must lie in \(1, 2\]; got 3.0."),
        (lambda: one_run(**KNOWN, **SUMS, noise=Bounded(1.0), delta=1.0), r"`delta` must lie in \(0, 1\); got 1.0."),
        (lambda: one_run(**KNOWN, **SUMS | {"N": -1.0}, noise=Bounded(1.0)), "`N` must be finite and nonnegative"),
        (lambda: clipping_radius(-1.0, 1.0, 10), "`v` must be finite and nonnegative; got -1.0."),
        (lambda: clipping_radius(1.0, 1.0, 0), "`horizon` must be at least 1; got 0."),
        (lambda: clipping_radius(1.0, 1.0, 10, q=0.5), r"`q` must lie in \(1, 2\]; got 0.5."),
        (lambda: tracking_root(0.1, 2.0, 1.0, 1.0), r"`growth` must be less than 1 / \(1 - a\)\^2; got 2.0"),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
