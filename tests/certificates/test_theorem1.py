"""The lemmas about Algorithm 1 and the tight certificates, on literal runs of Algorithm 1 that come close to them."""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from o2nc.certificates import (
    comparator,
    descent_lower_bound,
    hedge_constant,
    minimum_over_iterates,
    theorem1,
    theorem1_sharp,
    tight,
    tight_regret,
    tracker_error,
    tracker_error_best,
)
from o2nc.constants import Smooth


def inner(u, v):
    return np.sum(u * v, axis=1)


def cosine(x):
    """sum of 1 - cos x_j: beta = 1, M = 2 d."""
    return np.sum(1 - np.cos(x), axis=1), np.sin(x)


def wave(x):
    """One coordinate whose derivative is a triangle wave of slope 1 between -1 and 1: beta = 1, M = 1."""
    u = (x + 1) % 4 - 1
    up = u <= 1
    return np.sum(np.where(up, u**2 / 2, 1 - (u - 2) ** 2 / 2), axis=1), np.where(up, u, 2 - u)


def algorithm_1(objective, c, x, noise, gamma=None):
    """All replications at once: the sums over the rounds; with a rate, Hedge over I and the first half of the axes."""
    G, G0, a, eta = c.values
    n, d = x.shape
    half = (np.arange(d) < d / 2) * 1.0
    names = ("S", "E_tr", "V_T", "Q", "N", "W", "played", "identity", "energy", "active")
    run = SimpleNamespace(**{name: np.zeros(n) for name in names}, squares=[])
    start, g = objective(x)
    run.first = float(np.mean(inner(g, g)))
    m, C = np.zeros((n, d)), np.zeros((n, 2))
    for _ in range(c.T):
        g = objective(x)[1]
        if gamma is None:
            Um = m
        else:
            w = np.exp(-gamma * (C - C.min(axis=1, keepdims=True)))
            w = w / w.sum(axis=1, keepdims=True)
            Um = w[:, :1] * m + w[:, 1:] * (half * m)
        s = g + noise()
        losses = np.stack([-inner(s, m) / G, -inner(s, half * m) / G], axis=1)
        C = C + losses
        run.energy += np.abs(losses).max(axis=1) ** 2
        run.S += inner(g, g)
        run.E_tr += inner(m - g, m - g)
        run.V_T += inner(s - g, s - g)
        run.Q += inner(s, m)
        run.N += inner(m, m)
        run.W += inner(Um, Um)
        run.played += -inner(s, Um)
        run.identity += -inner(s, m)
        run.squares.append(np.mean(inner(g, g)))
        x = x - eta * Um
        v = (1 - a) * m + a * s
        norm = np.sqrt(inner(v, v))
        run.active += norm > G0
        m = v * np.minimum(1, G0 / np.maximum(norm, G0))[:, None]
    run.last = inner(Um, Um)
    run.regret = (run.played - run.identity) / G
    run.decrease = start - objective(x)[0]
    return run


@functools.cache
def scenario(name):
    rng = np.random.default_rng(7)
    signs = lambda n, sigma: lambda: rng.choice([-sigma, sigma], (n, 1))
    if name == "exact, from the top to the bottom":
        c = Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=1200)
        return c, algorithm_1(wave, c, np.full((1, 1), 2 - 0.01), lambda: 0.0)
    if name == "exact, leaving the top":
        c = Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=600)
        return c, algorithm_1(wave, c, np.full((1, 1), 2 - 1e-6), lambda: 0.0)
    if name == "exact, leaving the top slowly":  # a = 1/10, yet no noise: V_T = 0
        c = Smooth.paper(M=1.0, beta=1.0, sigma=10 / math.sqrt(8000), T=8000)
        return c, algorithm_1(wave, c, np.full((1, 1), 2 - 1e-7), lambda: 0.0)
    if name == "exact, in the valley":
        c = Smooth.paper(M=1.0, beta=1.0, sigma=0.0, T=200)
        return c, algorithm_1(wave, c, np.full((1, 1), 1.0), lambda: 0.0)
    if name == "a = 1, from the steepest point":
        c = Smooth.paper(M=1.0, beta=1.0, sigma=1 / 20, T=400)
        return c, algorithm_1(wave, c, np.full((400, 1), 1.0), signs(400, c.sigma))
    if name == "noise at the bottom":
        c = Smooth.paper(M=2.0, beta=1.0, sigma=0.5, T=2000)
        return c, algorithm_1(cosine, c, np.zeros((400, 1)), signs(400, c.sigma))
    if name == "rare large noise":
        c = Smooth.paper(M=2.0, beta=1.0, sigma=2.0, T=400)
        rare = lambda: (rng.random((400, 1)) < 0.01) * signs(400, c.sigma * 10)()
        return c, algorithm_1(cosine, c, np.full((400, 1), 2.0), rare)
    c = Smooth.paper(M=16.0, beta=1.0, sigma=0.3, T=2000)
    gaussian = lambda: rng.normal(size=(64, 8)) * c.sigma / math.sqrt(8)
    x = np.tile(np.linspace(0.5, 2.5, 8), (64, 1))
    return c, algorithm_1(cosine, c, x, gaussian, gamma={"eight axes, I": None, "eight axes, Hedge": 0.3}[name])


SCENARIOS = [
    "exact, from the top to the bottom",
    "exact, leaving the top",
    "exact, leaving the top slowly",
    "exact, in the valley",
    "a = 1, from the steepest point",
    "noise at the bottom",
    "rare large noise",
    "eight axes, I",
    "eight axes, Hedge",
]


def expectations(name):
    c, run = scenario(name)
    return c, SimpleNamespace(**{key: float(np.mean(value)) for key, value in vars(run).items()})


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_inequality_holds_on_every_run(name):
    c, E = expectations(name)
    assert E.E_tr <= tracker_error(c.G, c.a, E.V_T, E.S)
    assert E.E_tr <= tracker_error_best(c.a, E.first, E.W, c.sigma**2 * c.T)
    assert E.played >= descent_lower_bound(c.G, c.a, E.N)
    assert E.identity <= comparator(E.S, E.E_tr)
    assert theorem1(c, E.regret, measured=E.S / c.T).holds
    assert theorem1_sharp(c, E.regret, measured=E.S / c.T).holds
    assert theorem1_sharp(c, E.regret, V_T=E.V_T, measured=E.S / c.T).holds
    assert minimum_over_iterates(c, E.regret, measured=min(scenario(name)[1].squares)).holds


def test_theorem_1_can_not_be_halved():
    """From the top to the bottom with exact gradients the average is 65% of the bound, all of it the range term."""
    c, E = expectations("exact, from the top to the bottom")
    assert 0.65 < theorem1(c, E.regret, measured=E.S / c.T).ratio < 0.67
    assert 0.65 < theorem1_sharp(c, E.regret, measured=E.S / c.T).ratio < 0.67


def test_the_descent_lower_bound_is_tight():
    """99% of the bound, when the objective falls through its whole range; the last term is 1% of it."""
    c, E = expectations("exact, from the top to the bottom")
    assert 0.985 < E.played / descent_lower_bound(c.G, c.a, E.N) <= 1


def test_the_quadratic_term_of_the_descent_lower_bound_is_exact_where_the_curvature_is_beta():
    c, E = expectations("exact, in the valley")
    assert E.played == pytest.approx(-E.decrease / c.eta + descent_lower_bound(0.0, c.a, E.N), rel=1e-12)
    assert E.played != pytest.approx(-E.decrease / c.eta + descent_lower_bound(0.0, c.a, E.N / 2), rel=1e-3)


def test_the_comparator_lemma_is_tight():
    """Where the gradient grows by a constant factor the lag is parallel to it: 99% of sqrt(S E_tr)."""
    _, E = expectations("exact, leaving the top")
    assert 0.99 < (E.identity + E.S) / (comparator(E.S, E.E_tr) + E.S) <= 1


def test_the_tracker_lemma_is_loose_by_more_than_four():
    """At a = 1, |g_1| = G and V_T = G^2 the error is 2 G^2 against (6 + 3) G^2 + S/128: nothing comes closer."""
    c, E = expectations("a = 1, from the steepest point")
    assert E.first == pytest.approx(c.G**2)
    assert 0.21 < E.E_tr / tracker_error(c.G, c.a, E.V_T, E.S) < 2 / 9


@pytest.mark.parametrize(
    ("name", "least"), [("a = 1, from the steepest point", 0.99), ("noise at the bottom", 0.98), ("eight axes, I", 0.9)]
)
def test_the_best_tracker_bound_is_tight(name, least):
    c, E = expectations(name)
    assert least < E.E_tr / tracker_error_best(c.a, E.first, E.W, c.sigma**2 * c.T) <= 1


@pytest.mark.parametrize(
    ("name", "least"), [("exact, leaving the top", 1 - 1e-9), ("exact, leaving the top slowly", 0.97)]
)
def test_the_drift_of_the_best_tracker_bound_is_tight(name, least):
    """Leaving the top the error is parallel to the drift: an equality at a = 1, if W leaves out the last round."""
    c, E = expectations(name)
    assert least < E.E_tr / tracker_error_best(c.a, E.first, E.W - E.last, 0.0) <= 1 + 1e-9
    assert E.E_tr > 1.5 * tracker_error_best(c.a, E.first, E.W / 2, 0.0)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("exact, from the top to the bottom", 0.999),
        ("a = 1, from the steepest point", 0.995),
        ("rare large noise", 0.95),
        ("eight axes, I", 0.99),
        ("eight axes, Hedge", 0.99),
    ],
)
def test_the_tight_certificates(name, least):
    c, E = expectations(name)
    run = scenario(name)[1]
    certificate = tight(c, run.Q, run.N, run.W, first=E.first, measured=E.S / c.T)
    by_regret = tight_regret(c, run.regret, run.N, run.W, run.decrease, first=E.first, measured=E.S / c.T)
    assert least < certificate.ratio <= 1
    assert 0.95 < by_regret.ratio <= 1
    assert by_regret.terms["tracker"] == certificate.terms["tracker"]
    if len(run.Q) > 1:
        low, high = certificate.interval
        assert low < certificate.bound < high
        assert certificate.label == by_regret.label == "a-posteriori"


def test_the_tight_certificate_where_the_noise_is_everything():
    """At the bottom S/T is 1% of the terms that cancel: the bound is right to that 1%, and inside its interval."""
    c, E = expectations("noise at the bottom")
    run = scenario("noise at the bottom")[1]
    for certificate in (
        tight(c, run.Q, run.N, run.W, first=0.0),
        tight_regret(c, run.regret, run.N, run.W, run.decrease, first=0.0),
    ):
        measured = E.S / c.T
        assert measured < 0.02 * certificate.terms["noise"]
        assert abs(certificate.bound - measured) < 0.02 * certificate.terms["noise"]
        assert measured <= certificate.interval[1]


def test_the_projection_was_active_in_one_scenario():
    assert scenario("rare large noise")[1].active.sum() > 20


def test_the_tight_certificate_needs_no_first_gradient_but_is_better_with_it():
    c, E = expectations("eight axes, I")
    run = scenario("eight axes, I")[1]
    known, unknown = tight(c, run.Q, run.N, run.W, first=E.first), tight(c, run.Q, run.N, run.W)
    assert unknown.terms["start"] == pytest.approx(known.terms["start"] * 2 * 16.0 / E.first, rel=0.1)
    assert unknown.bound > known.bound


def test_regret_of_hedge_inside_algorithm_1():
    """The lemma holds on the losses that the reduction makes, on every path; the measured regret is positive."""
    _, run = scenario("eight axes, Hedge")
    assert all(r <= hedge_constant(math.log(2), 0.3, e) for r, e in zip(run.regret, run.energy, strict=True))
    assert run.regret.min() > 0
    _, run = scenario("eight axes, I")
    assert not run.regret.any()
