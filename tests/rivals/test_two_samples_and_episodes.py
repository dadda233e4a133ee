"""The doubly optimistic conversion, surrogate losses and convex episodes: literal loops, and what was derived."""

import math

import numpy as np
import pytest

import reference_rivals
import reference_updates as literal
import sentences
from conftest import numpy_of
from o2nc.rivals import BallOGD, DoublyOptimisticConversion, EpisodicConversion, SurrogateSGD
from runs import NOISE, ROUNDS, RUNS, X1, D, gradient, rounds


def sample_of(run):
    return lambda n, x: (gradient(np.asarray(x)) + NOISE[n - 1, run]).tolist()


def played(xp, conversion, tau):
    state = conversion.init(xp.array(X1), tau=xp.array(np.asarray(tau), "int32"))
    return rounds(xp, conversion, X1, NOISE, state)


def test_the_doubly_optimistic_conversion_is_the_literal_one(xp):
    path, state = played(xp, DoublyOptimisticConversion(D=0.3, eta=0.1, epoch=4, T=ROUNDS), [[4], [8], [12]])
    for run in range(RUNS):
        points, means, _ = literal.doubly_optimistic(sample_of(run), X1[run], 0.3, 0.1, 2, 3)
        np.testing.assert_allclose(path[:12, run], points, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], means[run], rtol=0, atol=1e-12)


def test_the_episodic_conversion_is_the_literal_one(xp):
    path, state = played(xp, EpisodicConversion(BallOGD(0.3, 0.1), epoch=5, T=ROUNDS, beta=0.4), [[5], [10], [15]])
    for run in range(RUNS):
        learner = lambda: reference_rivals.ProjectedOGD(D, 0.3, 0.1)
        points, means = literal.episodic(learner, sample_of(run), X1[run], 0.4, 5, 3)
        np.testing.assert_allclose(path[:-1, run], points, rtol=0, atol=1e-12)
        np.testing.assert_allclose(numpy_of(state.average.output)[run], means[run], rtol=0, atol=1e-12)


def test_surrogate_sgd_is_the_literal_one(xp):
    sgd = SurrogateSGD(beta=3.0, alpha=2.0)
    path, _ = rounds(xp, sgd, X1, NOISE, sgd.init(xp.array(X1)))
    for run in range(RUNS):
        points, _, _ = literal.surrogate(sample_of(run), X1[run], 3.0, 2.0, ROUNDS)
        np.testing.assert_allclose(path[: len(points), run], points, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("eta", "radius", "m", "sigma", "least"),
    [(0.25, 0.1, 40, 0.0, -math.inf), (0.25, 0.1, 40, 0.5, 0.02), (0.001, 0.02, 20, 0.0, 0.9)],
)
def test_the_regret_of_an_optimistic_epoch(eta, radius, m, sigma, least):
    """At most |u|^2 / (2 eta) + eta sum |noise of g - h|^2, for f = sum 1 - cos with beta = 1 and eta <= 1/4."""
    rng, closest = np.random.default_rng(0), -math.inf
    for _ in range(20):
        noise = sigma * rng.normal(size=(2 * m, 3))
        sample = lambda n, x, noise=noise: (np.sin(x) + noise[n - 1]).tolist()
        _, _, seen = literal.doubly_optimistic(sample, rng.uniform(-3, 3, 3).tolist(), radius, eta, m, 1)
        g, delta = (np.asarray([row[k] for row in seen]) for k in (1, 2))
        regret = np.sum(g * delta) + radius * np.linalg.norm(g.sum(axis=0))
        bound = radius**2 / (2 * eta) + eta * np.sum((noise[1::2] - noise[::2]) ** 2)
        assert regret <= bound * (1 + 1e-12)
        closest = max(closest, regret / bound)
    assert closest > least


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_the_doubly_optimistic_conversion_keeps_its_bound(sigma):
    """On f = sum 1 - cos with beta = rho = 1, the mean over the epochs and 16 runs, with tuned constants."""
    T, x = 2000, np.tile(np.asarray([2.5, -1.5, 3.0]), (16, 1))
    M = float(np.sum(1 - np.cos(x[0])))
    made = DoublyOptimisticConversion.tuned(M=M, beta=1.0, sigma=sigma, rho=1.0, T=T)
    rng, state, norms = np.random.default_rng(1), made.init(x), []
    for t in range(1, T + 1):
        s = np.sin(x) + sigma * rng.choice([-1.0, 1.0], size=x.shape) / math.sqrt(3)
        dx, state = made.update(s, state, x)
        x = x + dx
        if t % made.epoch == 0:
            norms.append(np.linalg.norm(np.sin(state.average.mean), axis=-1))
    m = made.epoch // 2
    N, eta, r = m * len(norms), made.eta, made.D
    parts = (M / (r * N), r / (2 * eta * m), 2 * eta * sigma**2 / r, sigma / math.sqrt(m), r**2 / 24 * (1 + m * m))
    assert np.mean(norms) <= sum(parts)
    assert np.mean(norms) > 0.02 * sum(parts)


def test_the_tuned_epoch_is_the_best_power_of_two():
    arguments = {"M": 2.0, "beta": 3.0, "sigma": 0.2, "rho": 0.5, "T": 10**5}
    made = DoublyOptimisticConversion.tuned(**arguments)
    M, beta, sigma, rho, N = 2.0, 3.0, 0.2, 0.5, 50000

    def bound(m):
        r = min(math.sqrt(M * m / (2 * beta * N)), (12 * M / (rho * (1 + m**2) * N)) ** (1 / 3))
        return M / (r * N) + 2 * beta * r / m + 3 * sigma / math.sqrt(m) + rho * r**2 / 24 * (1 + m**2), r

    best = min((bound(2**k), 2**k) for k in range(15))
    assert made.epoch == 2 * best[1]
    assert pytest.approx(best[0][1]) == made.D
    assert made.eta == pytest.approx(min(1 / 12, made.D / (0.4 * math.sqrt(best[1]))))


def test_the_step_is_the_regularised_leader_and_keeps_its_regret():
    rng, beta, alpha = np.random.default_rng(2), 2.0, 0.5
    sample = lambda n, x: (np.sin(x) + 0.3 * rng.normal(size=3)).tolist()
    _, steps, pairs = literal.surrogate(sample, [2.0, -1.0, 0.5], beta, alpha, 400)
    g, other = (np.asarray([pair[k] for pair in pairs]) for k in (0, 1))
    square, inner = np.sum(g * g, axis=1), np.sum(g * other, axis=1)
    grid = np.linspace(0, 2 / beta, 2001)
    leader = alpha * beta / 2 * (grid - 1 / beta) ** 2
    loss = lambda eta, t: beta / 2 * eta**2 * square[t] - eta * inner[t]
    regret, paid = 0.0, 0.0
    for t, eta in enumerate(steps):
        assert abs(eta - grid[np.argmin(leader)]) <= 2 / beta / 2000
        leader = leader + loss(grid, t)
        regret = regret + loss(eta, t) - loss(grid, t)
        paid += (beta * eta * square[t] - inner[t]) ** 2 / (2 * beta * (alpha + square[: t + 1].sum()))
        bound = alpha * beta / 2 * (grid - 1 / beta) ** 2 + paid
        assert np.all(regret <= bound * (1 + 1e-12))
    assert np.max(regret / bound) > 0.2


def test_surrogate_losses_bound_what_the_objective_falls():
    """Without noise in every round, with noise in the mean; f = sum 1 - cos, beta = 1."""
    rng, x = np.random.default_rng(5), np.asarray([2.0, -1.0, 0.5])
    f = lambda v: np.sum(1 - np.cos(v), axis=-1)
    g = np.sin(x)
    for eta in np.linspace(0, 2, 9):
        assert f(x - eta * g) - f(x) <= eta**2 / 2 * g @ g - eta * g @ g + 1e-15
        s, other = g + rng.normal(size=(2, 40000, 3))
        falls = f(x - eta * s) - f(x)
        losses = eta**2 / 2 * np.sum(s * s, axis=1) - eta * np.sum(s * other, axis=1)
        assert np.mean(falls - losses) <= 4 * np.std(falls - losses) / 200 + 1e-15


def test_an_episode_falls_and_comes_near_its_minimum():
    """The two inequalities of an epoch, in expectation over 4000 runs, f = sum 1 - cos, beta = 1."""
    n, learner, runs = 50, BallOGD(D=1.0, eta=0.05), 4000
    conversion = EpisodicConversion(learner, epoch=n, T=n, beta=1.0)
    start = np.asarray([2.0, -1.0])
    x, rng = np.tile(start, (runs, 1)), np.random.default_rng(6)
    state, losses = conversion.init(x), []
    for _ in range(n):
        v = learner.play(state.learner)
        s = np.sin(x) + 0.5 * rng.normal(size=x.shape)
        losses.append((s + 2 * v, v))
        dx, state = conversion.update(s, state, x)
        x = x + dx
    new = conversion.output(state, x)
    target = start.copy()
    for _ in range(200):  # Newton's method on sin(y) + 2 (y - x_k)
        target = target - (np.sin(target) + 2 * (target - start)) / (np.cos(target) + 2)
    assert np.linalg.norm(target - start) < 1  # within the ball of the learner
    regret = lambda u: np.mean([np.sum(g * (v - u), axis=-1) for g, v in losses], axis=0)
    f = lambda v: np.sum(1 - np.cos(v), axis=-1)
    still, best = regret(np.zeros(2)), regret(target - start)
    close = lambda values: np.mean(values) + 4 * np.std(values) / math.sqrt(runs)
    assert close(f(start) + still - f(new) - np.sum((new - start) ** 2, axis=-1)) >= 0
    assert close(2 * best - np.sum((new - target) ** 2, axis=-1)) >= 0
    assert np.mean(np.sum((new - target) ** 2, axis=-1)) < 0.25 * np.sum((start - target) ** 2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: DoublyOptimisticConversion(0.0, 1.0, 2, 10),
            "`DoublyOptimisticConversion(D=...)` must be finite and positive; got 0.0",
        ),
        (
            lambda: DoublyOptimisticConversion(1.0, 1.0, 3, 10),
            "`epoch` must be even, since a round takes two samples; got 3",
        ),
        (
            lambda: DoublyOptimisticConversion.tuned(1.0, 1.0, 0.0, 1.0, T=1),
            "`T` must be at least 2, since a round takes two samples; got 1",
        ),
        (lambda: DoublyOptimisticConversion.tuned(1.0, 1.0, 0.0, 0.0, T=9), "`rho` must be finite and positive"),
        (lambda: SurrogateSGD(beta=0.0, alpha=1.0), "`SurrogateSGD(beta=...)` must be finite and positive; got 0.0"),
        (lambda: SurrogateSGD(beta=1.0, alpha=-1.0), "`SurrogateSGD(alpha=...)` must be finite and positive; got -1.0"),
        (
            lambda: EpisodicConversion(BallOGD(1.0, 1.0), 11, 10, beta=1.0),
            "`epoch` must be at least 1 and at most T = 10; got 11",
        ),
        (
            lambda: EpisodicConversion(BallOGD(1.0, 1.0), 1, 10, beta=0.0),
            "`EpisodicConversion(beta=...)` must be finite and positive; got 0.0",
        ),
    ],
)
def test_wrong_values_are_sentences(make, sentence):
    sentences.check(make, ValueError, sentence)
