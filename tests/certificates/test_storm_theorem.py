"""Variance reduction: its algebra in exact fractions, and the theorem on exact second moments and on random runs."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from o2nc.certificates import storm_batch, storm_rate, storm_step, theorem_storm, theorem_storm_decreasing

RATES = [F(1, 1000), F(1, 100), F(1, 7), F(1, 3), F(1, 2), F(9, 10), F(1)]


@pytest.mark.parametrize("a", [float(a) for a in RATES])
def test_the_smallest_divisor(a):
    c, eta = storm_step(2.0, a)
    assert 2 * (1 - a) ** 2 / (2 - a) / c**2 + math.sqrt(a) / c == pytest.approx(1)
    assert eta == pytest.approx(math.sqrt(a) / c / 2)
    assert 2 * (1 - a) ** 2 * (2 * eta) ** 2 / (a * (2 - a)) + 2 * eta == pytest.approx(1)


def test_the_divisor_is_at_most_1_1():
    found = [storm_step(1.0, a)[0] for a in np.linspace(1e-6, 1, 20001)]
    assert max(found) == pytest.approx(1.0984, abs=1e-4)
    assert found[-1] == 1  # a = 1 is gradient descent
    assert found[0] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("a", RATES)
def test_the_multipliers_of_decreasing_weights(a):
    """p_{t-1} = 1 + p_t (1 - a_t)^2 from 1/(a(2 - a)): below it, and below 2t in the early rounds."""
    last = math.floor(1 / a)
    p = {t: 1 / (a * (2 - a)) for t in range(last, last + 4)}
    for t in range(last, 1, -1):
        p[t - 1] = 1 + p[t] * (1 - F(1, t)) ** 2
    assert 1 + p[last + 1] * (1 - a) ** 2 == p[last]
    for t in range(1, last + 1):
        assert p[t] <= min(1 / (a * (2 - a)), 2 * t)
    early = p[1] + sum(2 * p[t] * F(1, t * t) for t in range(2, last + 1))
    assert early <= 2 + 4 * math.log(1 / a) + 1e-12


def moments(A, b, x, m, operators, a, eta, kappa, weights=None):
    """Exact sums for F(x, k) = x' A_k x / 2 + b_k' x with k uniform; the state is (x, m, 1), affine for every k."""
    n, d = b.shape
    H = A.mean(axis=0)
    z = np.concatenate([x, m, [1.0]])
    C, zero, eye, one = np.outer(z, z), np.zeros((d, d)), np.eye(d), np.zeros((1, 2 * d))
    at, keep = np.hstack([eye, zero, np.zeros((d, 1))]), np.hstack([zero, eye, np.zeros((d, 1))])
    constant = lambda v: np.hstack([zero, zero, v[:, None]])
    S = regret = V_T = N = 0.0
    for t, U in enumerate(operators):
        step, g, rate = U @ keep, H @ at, a if weights is None else weights[t]
        S += np.trace(g @ C @ g.T)
        size = [np.trace(v @ C @ v.T) for v in (step, keep)]
        N += size[1]
        regret += np.trace(g @ C @ (keep - step).T) + kappa / 2 * (size[0] - size[1])
        after = at - eta * step
        moves = []
        for k in range(n):
            noise = (A[k] - H) @ after + constant(b[k])
            V_T += np.trace(noise @ C @ noise.T) / n
            again, s = A[k] @ after + constant(b[k]), A[k] @ at + constant(b[k])
            moves.append(np.vstack([after, again + (1 - rate) * (keep - s), np.hstack([one, [[1.0]]])]))
        C = np.mean([move @ C @ move.T for move in moves], axis=0)
    known = {"regret": regret, "V_T": V_T, "first": float(((m - H @ x) ** 2).sum()), "gap": float(x @ H @ x) / 2}
    return S, N, known


def setting(rng, prediction):
    """Samples with beta = 1 in mean square, whose mean is convex and whose linear parts add up to 0."""
    d, n, T = int(rng.integers(1, 4)), int(rng.integers(2, 5)), int(rng.choice([1, 3, 10, 40]))
    roots = rng.normal(size=(n, d, d))
    A = roots @ roots.transpose(0, 2, 1) * rng.choice([1.0, 1.0, 0.1], size=(n, 1, 1))
    if rng.random() < 0.3:
        A = np.broadcast_to(A.mean(axis=0), A.shape)  # additive noise
    if rng.random() < 0.3:
        A = np.broadcast_to(np.eye(d), A.shape)
    A = A / np.sqrt(np.linalg.eigvalsh((A @ A).mean(axis=0)).max())
    b = rng.normal(size=(n, d)) * rng.choice([0.0, 0.1, 1.0])
    b = b - b.mean(axis=0)
    x = rng.normal(size=d) * rng.choice([0.1, 1.0, 10.0])
    H = A.mean(axis=0)
    m = rng.choice([0.0, 1.0]) * H @ x + rng.choice([0.0, 0.3]) * rng.normal(size=d)
    scale = rng.choice([1.0, -1.0, 3.0, 1.5, 0.0]) if prediction else rng.choice([1.0, 1.0, -1.0, 0.5])
    kind, fixed = rng.integers(3), np.linalg.qr(rng.normal(size=(d, d)))[0]
    operators = []
    for _ in range(T):
        turned = np.linalg.qr(rng.normal(size=(d, d)))[0] if kind == 2 else fixed if kind == 1 else np.eye(d)
        operators.append(scale * turned)
    return A, b, x, m, operators


@pytest.mark.parametrize("prediction", [False, True])
def test_no_operator_on_random_quadratics_breaks_it(prediction):
    rng, ratios = np.random.default_rng(1), []
    for _ in range(150):
        A, b, x, m, operators = setting(rng, prediction)
        a, T = float(rng.choice([1.0, 0.9, 0.5, 0.2, 0.05, 0.01])), len(operators)
        _, eta = storm_step(1.0, a)
        kappa = 1.0 if prediction else rng.choice([0.0, eta, 1.0])  # kappa beta eta
        S, _, found = moments(A, b, x, m, operators, a, eta, kappa)
        bound = T * theorem_storm(beta=1.0, sigma=0.0, T=T, a=a, **found).bound
        assert bound * (1 + 1e-9) >= S
        ratios.append(S / bound)
    assert max(ratios) > 0.5


@pytest.mark.parametrize("prediction", [False, True])
def test_nor_decreasing_weights(prediction):
    """Linear noise, so that the variance is the same everywhere; the random runs below have noise of another kind."""
    rng, ratios = np.random.default_rng(2), []
    for _ in range(100):
        A, b, x, m, operators = setting(rng, prediction)
        a, T = float(rng.choice([1.0, 0.5, 0.2, 0.05])), len(operators)
        A = np.broadcast_to(A.mean(axis=0), A.shape)
        _, eta = storm_step(1.0, a)
        weights = [max(a, 1 / t) for t in range(1, T + 1)]
        S, _, found = moments(A, b, x, m, operators, a, eta, 1.0 if prediction else 0.0, weights)
        sigma = math.sqrt(found.pop("V_T") / T)
        bound = T * theorem_storm_decreasing(beta=1.0, sigma=sigma, T=T, a=a, **found).bound
        assert bound * (1 + 1e-9) >= S
        ratios.append(S / bound)
    assert max(ratios) > 0.5


@pytest.mark.parametrize("c", [1.1, 1.5, 2.0, 5.0])
def test_a_larger_divisor_leaves_some_of_the_trackers(c):
    """Linear loss and contractions: mu N is left on the left side, which pays for the regret."""
    rng, shares = np.random.default_rng(4), []
    for _ in range(60):
        A, b, x, m, operators = setting(rng, prediction=False)
        a = float(rng.choice([0.9, 0.5, 0.2, 0.05, 0.01]))
        S, N, found = moments(A, b, x, m, operators, a, math.sqrt(a) / c, 0.0)
        mu = 1 - 2 * (1 - a) ** 2 / (2 - a) / c**2 - math.sqrt(a) / c
        start, noise = found["first"] / a / (2 - a), 2 * a * found["V_T"] / (2 - a)
        right = 2 * c * found["gap"] / math.sqrt(a) + start + noise + 2 * found["regret"]
        assert mu > 0
        assert S + mu * N <= right * (1 + 1e-9)
        shares.append((S + mu * N) / right)
    assert max(shares) > 0.5


def test_the_polynomials_of_steps_4_and_5():
    p = lambda u: 2 * u**4 - F(11, 10) * u**3 - F(279, 100) * u**2 + F(22, 10) * u - F(42, 100)
    for u in (F(k, 200) for k in range(201)):
        a = u * u
        assert p(u) == 2 * (1 - a) ** 2 - (2 - a) * (F(121, 100) - F(11, 10) * u)
        assert p(u) == (1 - a) * (F(11, 10) * u - 2 * a) - (F(79, 100) * a - F(11, 10) * u + F(42, 100))
        assert p(u) < 0
        assert u > F(63, 100) or 24 * a - F(66, 10) * u - F(558, 100) < 0
        rest = (4 - 3 * a) ** 2 - (1 + a) / 2 * (4 - 3 * a) * (2 - a) - 2 * (1 - a) ** 2 * (2 - a)
        assert rest == (1 - a) * (8 - 5 * a - a * a / 2) >= 0
        assert 2 * storm_step(1.0, float(a) or 1e-9)[0] + 4 / (2 - float(a)) <= 6 + 1e-12
    u = F(39, 100)
    assert p(u) < F(-53, 10**4)
    assert abs(8 * u**3 - F(33, 10) * u**2 - F(558, 100) * u + F(22, 10)) < F(36, 10**4)


def test_at_a_1_it_is_attained_and_no_longer_step_is_allowed():
    """Gradient descent on x^2 / 2, of which step 1 / beta needs one step, and longer ones break the bound."""
    one = np.ones((1, 1, 1)), np.zeros((1, 1)), np.ones(1), np.ones(1), [np.eye(1)] * 200
    for eta, ratio in ((1.0, 1.0), (1.1, 1 / 0.9), (1.5, 2.0)):
        S, _, found = moments(*one, 1.0, eta, 0.0)
        assert S / (2 * found["gap"] / eta) == pytest.approx(ratio)  # S = 1 / (eta (2 - eta))


def play(factor, a, eta, T, prediction, decreasing, batch, replications=1000, seed=0):
    """Means on f = sum 1 - cos x_i, F = f + r / w cos(w x_i + phase): the variance is d r^2 / 2 at every point."""
    rng, d = np.random.default_rng(seed), 3
    noise = lambda x, phase: -R * np.sin(W * x + phase)
    draw = lambda: 2 * np.pi * rng.random((replications, d))
    x = np.broadcast_to(np.linspace(0.5, 2.5, d), (replications, d)).copy()
    gap = (1 - np.cos(x[0])).sum()
    m = np.sin(x) + np.mean([noise(x, draw()) for _ in range(batch)], axis=0)
    squares, regrets = np.zeros(replications), np.zeros(replications)
    for t in range(1, T + 1):
        phase, played = draw(), factor(m, t) * m
        s = np.sin(x) + noise(x, phase)
        squares += (np.sin(x) ** 2).sum(1)
        regrets += (s * (m - played)).sum(1) + prediction * (played**2 - m**2).sum(1) / 2
        x = x - eta * played
        rate = max(a, 1 / t) if decreasing else a
        m = np.sin(x) + noise(x, phase) + (1 - rate) * (m - s)
    return squares, regrets, gap


R, W = 0.5, 2.0
SIGMA, BETA = math.sqrt(3 * R**2 / 2), math.sqrt(1 + R**2 * W**2 / 2)
FACTORS = {
    "identity": (lambda m, t: 1.0, True),
    "minus": (lambda m, t: -1.0, True),
    "half": (lambda m, t: 0.5, True),
    "mask": (lambda m, t: np.asarray([1.0, 0.0, 1.0]), True),
    "three": (lambda m, t: 3.0, False),
    "random": (lambda m, t: np.random.default_rng(t).uniform(-2, 4, size=m.shape), False),
}


@pytest.mark.parametrize("a", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("decreasing", [False, True])
@pytest.mark.parametrize("name", FACTORS)
def test_random_runs(name, decreasing, a):
    (factor, contraction), T = FACTORS[name], 60
    _, eta = storm_step(BETA, a)
    kind = theorem_storm_decreasing if decreasing else theorem_storm
    for prediction in (False, True) if contraction else (True,):
        squares, regrets, gap = play(factor, a, eta, T, prediction, decreasing, batch=2)
        rest = kind(gap=gap, beta=BETA, sigma=SIGMA, T=T, regret=0.0, a=a, batch=2).bound
        slack = (squares - 2 * regrets) / T  # the theorem bounds its mean by what was known before
        assert slack.mean() <= rest + 4 * slack.std() / math.sqrt(len(slack))
        if name == "identity":
            assert slack.mean() > 0.1 * rest


def test_the_samples_of_the_runs_are_smooth_in_mean_square():
    phase = 2 * np.pi * np.arange(1000) / 1000
    for x, y in ((0.0, 0.1), (1.0, 3.0), (-2.0, 0.5)):
        sample = lambda v: np.sin(v) - R * np.sin(W * v + phase)
        assert np.mean((sample(x) - sample(y)) ** 2) <= BETA**2 * (x - y) ** 2
        assert np.var(sample(x)) == pytest.approx(SIGMA**2 / 3)


def test_the_terms():
    known = dict(gap=0.5, beta=2.0, sigma=3.0, T=10, regret=7.0, a=0.25)
    c, _ = storm_step(2.0, 0.25)
    terms = theorem_storm(**known, first=4.0, V_T=5.0).terms
    expected = {"start": 4 / 0.25 / 1.75 / 10, "gap": 0.4 * c, "noise": 0.5 * 5 / 1.75 / 10, "regret": 1.4}
    assert terms == pytest.approx(expected)
    assert theorem_storm(**known, batch=3).terms["start"] == pytest.approx(3 / 0.25 / 1.75 / 10)
    noise = 0.5 * 90 / 1.75 / 10 + 0.9 * (2 + 4 * math.log(4))
    expected = {"start": 0.9, "gap": 0.4 * c, "noise": noise, "regret": 1.4}
    assert theorem_storm_decreasing(**known).terms == pytest.approx(expected)


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("T", [1, 40, 10**6, 10**12])
def test_the_display_with_the_best_rate_and_batch(sigma, T):
    known = dict(gap=0.7, beta=3.0, sigma=sigma, T=T)
    power, once = (2.1 * sigma / T) ** (2 / 3), 2.1 / T
    a = storm_rate(**known)
    bound = theorem_storm(**known, regret=1.0).bound
    assert bound <= (6 * power + 2 * once + 2 / T) * (1 + 1e-9)
    if a < 1e-5 and storm_batch(a, T) > 1000:  # so that its rounding is small
        assert bound == pytest.approx(4 * power + 2 / T, rel=5e-3)
        logs = sigma**2 * (3 - 4 * math.log(a)) / T
        assert theorem_storm_decreasing(**known, regret=1.0).bound == pytest.approx(3 * power + logs + 2 / T, rel=5e-3)


def test_the_rate_is_the_best_and_the_batch_grows_like_the_cubic_root():
    known = dict(gap=0.7, beta=3.0, sigma=2.0, T=10**12, regret=0.0, first=0.0)
    a = storm_rate(0.7, 3.0, 2.0, 10**12)
    best = theorem_storm(**known, a=a).bound
    assert best < min(theorem_storm(**known, a=1.2 * a).bound, theorem_storm(**known, a=a / 1.2).bound)
    batches = [storm_batch(storm_rate(0.7, 3.0, 2.0, T), T) for T in (10**9, 10**12, 10**15)]
    assert batches[2] / batches[1] == pytest.approx(10, rel=1e-2)
    assert batches[1] == pytest.approx((4 / 2.1) ** (4 / 3) * 10**4 / 2, rel=1e-3)
    start, noise = (
        theorem_storm(gap=0.7, beta=3.0, sigma=2.0, T=10**12, regret=0.0).terms[k] for k in ("start", "noise")
    )
    assert start <= noise == pytest.approx(start, rel=1e-3)


@pytest.mark.parametrize("T", [10**9, 10**12])
def test_with_one_first_sample_the_rate_is_lost(T):
    """S / T falls like T^(-1/3) at that rate, and like T^(-1/2) at the best one."""
    known = dict(gap=0.7, beta=3.0, sigma=2.0, regret=0.0, batch=1)
    at = lambda T, a: theorem_storm(**known, T=T, a=a).bound
    plain = lambda T: at(T, storm_rate(0.7, 3.0, 2.0, T))
    best = lambda T: min(at(T, a) for a in np.geomspace(1e-9, 1, 2001))
    assert math.log10(plain(10 * T) / plain(T)) == pytest.approx(-1 / 3, abs=0.02)
    assert math.log10(best(10 * T) / best(T)) == pytest.approx(-1 / 2, abs=0.02)


def test_what_is_refused():
    known = dict(gap=0.5, beta=2.0, sigma=1.0, T=10, regret=0.0)
    for change, sentence in (
        ({"a": 1.5}, r"`a` must lie in \(0, 1\]; got 1.5"),
        ({"regret": math.nan}, "`regret` must be finite; got nan"),
        ({"batch": 0}, "`batch` must be at least 1; got 0"),
        ({"beta": 0.0}, "`beta` must be finite and positive; got 0.0"),
        ({"first": -1.0}, "`first` must be finite and nonnegative; got -1.0"),
    ):
        for kind in (theorem_storm, theorem_storm_decreasing):
            with pytest.raises(ValueError, match=sentence):
                kind(**(known | change))
