"""The lemmas behind Theorem 2, on literal runs of Algorithm 2 that come close to them."""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from o2nc.certificates import (
    identity_correlation,
    law_of_tau,
    localization,
    output_gradient,
    segment_identity,
    theorem2,
    theorem2_tuned,
    tracker_noise,
    tracker_noise_root,
    tracker_norm,
    witness,
)
from o2nc.constants import Nonsmooth


def inner(u, v):
    return np.sum(u * v, axis=1)


def norm(u):
    return np.sqrt(inner(u, u))


def tents(L, width):
    """Mean of d tents of slope 1 and height ``width``, times L sqrt(d): |gradient| = L, M = L sqrt(d) width."""

    def objective(x):
        u = (x + width) % (2 * width) - width
        scale = L / math.sqrt(x.shape[1])
        return scale * np.sum(np.abs(u), axis=1), scale * np.where(u > 0, 1.0, -1.0)

    return objective


def algorithm_2(objective, c, x, noise, rng, gamma=None):
    """All replications at once; with a rate, Hedge over I and the first half of the axes."""
    L, a, b, eta, rho = c.values
    n, d = x.shape
    half = (np.arange(d) < d / 2) * 1.0
    zero = np.zeros((n, d))
    m = h = y_bar = g_bar = zero
    squares, C, c_t, start = np.zeros(n), np.zeros((n, 2)), 0.0, objective(x)[0]
    names = ("played", "identity", "m_norms", "distance", "gradient", "spread", "active")
    run = SimpleNamespace(**{name: np.zeros(n) for name in names})
    for t in range(1, c.T + 1):
        z = b * m / np.sqrt(b**2 * inner(m, m) + rho**2)[:, None]
        if gamma is None:
            Uz = z
        else:
            w = np.exp(-gamma * (C - C.min(axis=1, keepdims=True)))
            w = w / w.sum(axis=1, keepdims=True)
            Uz = w[:, :1] * z + w[:, 1:] * (half * z)
        delta = -eta * Uz
        y = x + rng.random((n, 1)) * delta
        g = objective(y)[1]
        s = g + noise()
        C = C - np.stack([inner(s, z), inner(s, half * z)], axis=1)
        run.played += -inner(s, Uz)
        run.identity += -inner(s, z)
        run.m_norms += norm(m)
        run.distance = norm(m - h)
        x = x + delta
        v = b * m + a * s
        run.active += norm(v) > L
        m = v * (L / np.maximum(norm(v), L))[:, None]
        h = b * h + a * g
        before, c_t = c_t, 1 - b**t
        y_bar = b * before / c_t * y_bar + a / c_t * y
        g_bar = b * before / c_t * g_bar + a / c_t * g
        squares = b * before / c_t * squares + a / c_t * inner(y, y)
        run.gradient += law_of_tau(a, t, c.T) * norm(g_bar)
        run.spread += law_of_tau(a, t, c.T) * (squares - inner(y_bar, y_bar))
    run.m_norms /= c.T
    run.regret = run.played - run.identity
    run.decrease = start - objective(x)[0]
    return run


@functools.cache
def scenario(name):
    rng = np.random.default_rng(3)
    gaussian = lambda n, d, sigma: lambda: rng.normal(size=(n, d)) * sigma / math.sqrt(d)
    if name == "down a long slope":  # the whole range is used up when the run ends
        c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=4000, a=0.01, eta=1 / 4000, rho=0.1)
        return c, algorithm_2(tents(1.0, 1.0), c, np.full((1, 1), 0.9999), lambda: 0.0, rng)
    if name == "noise at the wall of the ball":  # the projection keeps m below L
        c = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=1.0, T=1000, a=0.02, eta=1 / 1000, rho=0.1)
        return c, algorithm_2(tents(1.0, 1.0), c, np.full((200, 1), 0.999), gaussian(200, 1, 0.5), rng)
    if name == "across the kinks":
        c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=300, a=0.1, eta=0.02, rho=0.1)
        return c, algorithm_2(tents(1.0, 1.0), c, rng.uniform(0.2, 0.95, (2000, 1)), lambda: 0.0, rng)
    if name == "tuned":
        c = Nonsmooth(L=1.0, M=math.sqrt(3), sigma=0.5, lam=1.0, T=1000)
    else:
        c = Nonsmooth(L=1.0, M=math.sqrt(3), sigma=0.5, lam=1.0, T=500, a=0.1, eta=0.01, rho=0.3)
    rate = {"tuned": None, "three axes, I": None, "three axes, Hedge": 0.2}[name]
    x = rng.uniform(0.5, 0.95, (300, 3))
    return c, algorithm_2(tents(1.0, 1.0), c, x, gaussian(300, 3, 0.5), rng, rate)


SCENARIOS = [
    "down a long slope",
    "noise at the wall of the ball",
    "across the kinks",
    "tuned",
    "three axes, I",
    "three axes, Hedge",
]


def expectations(name):
    c, run = scenario(name)
    return c, SimpleNamespace(**{key: float(np.mean(value)) for key, value in vars(run).items()})


def norm_bound(c, E):
    return tracker_norm(c.M, c.eta, E.regret, c.rho, c.a, c.L, c.sigma, c.T)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_inequality_holds_on_every_run(name):
    c, E = expectations(name)
    value = E.gradient + c.lam * E.spread
    assert E.played >= segment_identity(c.M, c.eta)
    assert -E.identity <= identity_correlation(c.M, c.eta, E.regret)
    assert E.m_norms <= norm_bound(c, E)
    assert E.distance <= tracker_noise_root(c.a, c.sigma)
    assert E.gradient <= output_gradient(E.m_norms, c.a, c.sigma, c.L, c.T)
    assert E.spread <= localization(c.a, c.eta)
    assert value <= witness(E.m_norms, c.a, c.sigma, c.L, c.T, c.lam, c.eta)
    assert theorem2(c, E.regret, measured=value).holds
    if c.is_tuned:
        assert theorem2_tuned(c, E.regret, measured=value).holds


@pytest.mark.parametrize("name", ["across the kinks", "three axes, I", "three axes, Hedge", "tuned"])
def test_the_segment_identity_is_an_identity(name):
    """Between expectations: the error is within four standard errors, and those are below 4% of the loss."""
    c, run = scenario(name)
    difference = run.played - np.array([segment_identity(float(d), c.eta) for d in run.decrease])
    error = float(np.std(difference, ddof=1)) / math.sqrt(len(difference))
    assert abs(float(np.mean(difference))) < 4 * error
    assert error < 0.04 * abs(float(np.mean(run.played)))


def test_the_range_is_used_up():
    """Down the whole slope: 99% of M/eta, in both lemmas."""
    c, E = expectations("down a long slope")
    assert 0.99 < E.played / segment_identity(c.M, c.eta) <= 1
    assert 0.99 < -E.identity / identity_correlation(c.M, c.eta, E.regret) <= 1


def test_the_correlation_counts_the_regret():
    """With the realised decrease for M it is an equality, regret included."""
    c, run = scenario("three axes, Hedge")
    E = expectations("three axes, Hedge")[1]
    difference = -run.identity - run.decrease / c.eta - run.regret
    error = float(np.std(difference)) / math.sqrt(len(difference))
    assert -E.identity == pytest.approx(identity_correlation(E.decrease, c.eta, E.regret), abs=4 * error)
    assert E.regret > 10 * error


def test_the_tracker_norm_is_loose_by_two():
    """Leakage leaves out a factor of two, so half of the bound is the most that a long slope can reach: 44% here."""
    c, E = expectations("down a long slope")
    assert 0.44 < E.m_norms / norm_bound(c, E) < 0.5


def test_tracker_noise_is_tight():
    """A constant objective, no projection: 98% of the bound, and of its root in many dimensions."""
    rng = np.random.default_rng(0)
    for a in (0.05, 0.3, 0.5):
        c = Nonsmooth(L=100.0, M=1.0, sigma=2.0, lam=1.0, T=round(5 / a), a=a, eta=0.1, rho=1.0)
        flat = lambda x: (np.zeros(len(x)), np.zeros_like(x))
        noise = lambda: rng.normal(size=(1500, 30)) * 2.0 / math.sqrt(30)
        run = algorithm_2(flat, c, np.zeros((1500, 30)), noise, rng)
        assert 0.98 < float(np.mean(run.distance**2)) / tracker_noise(a, 2.0) < 1.02
        assert 0.98 < float(np.mean(run.distance)) / tracker_noise_root(a, 2.0) < 1.02


def test_the_output_gradient_is_tight_without_noise():
    """On a slope m is h and |h_{T+1}| = c_T L: an equality. The last term, L/(a T), is 1 / (a T) of it."""
    c, E = expectations("down a long slope")
    assert 1 - 1e-9 < E.gradient / output_gradient(E.m_norms, c.a, c.sigma, c.L, c.T) <= 1 + 1e-12
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=10, a=0.1, eta=1e-3, rho=0.1)
    run = algorithm_2(tents(1.0, 1.0), c, np.full((1, 1), 0.9), lambda: 0.0, np.random.default_rng(0))
    share = c.L / (c.a * c.T)
    last = float(run.gradient[0] - run.m_norms[0])
    assert last == pytest.approx(share * (1 - 0.9**10))


def test_the_noise_in_the_output_gradient():
    """At the wall of the ball m is below h = L by a good part of the noise term: it can not be halved."""
    c, E = expectations("noise at the wall of the ball")
    needed = E.gradient - output_gradient(E.m_norms, c.a, 0.0, c.L, c.T)
    assert scenario("noise at the wall of the ball")[1].active.sum() > 1000
    assert 0.5 < needed / tracker_noise_root(c.a, c.sigma) <= 1


@pytest.mark.parametrize(("a", "share"), [(0.5, 0.2), (0.05, 0.23), (0.01, 0.24)])
def test_localization_is_loose_by_four(a, share):
    """The straight line at full speed has spread b/a^2 + 1/12 against 4 b/a^2 + 2."""
    c = Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=round(60 / a), a=a, eta=a / 100, rho=1e-9)
    run = algorithm_2(tents(1.0, 1.0), c, np.full((100, 1), 0.999), lambda: 0.0, np.random.default_rng(1))
    assert share - 0.01 < float(np.mean(run.spread)) / localization(a, c.eta) < 0.25


def test_the_witness_adds_the_two():
    """On the slope with lam so large that both halves count: 1 of the first and a quarter of the second."""
    c, E = expectations("down a long slope")
    lam = 1000.0
    value = E.gradient + lam * E.spread
    bound = witness(E.m_norms, c.a, c.sigma, c.L, c.T, lam, c.eta)
    assert bound == pytest.approx(E.gradient + lam * localization(c.a, c.eta))
    assert 0.45 < value / bound < 0.6


def test_theorem_2_on_a_slope():
    """The general form gives away a factor of two in the tracker: 45% of it is reached."""
    c, E = expectations("down a long slope")
    assert 0.44 < theorem2(c, E.regret, measured=E.gradient + c.lam * E.spread).ratio < 0.5
