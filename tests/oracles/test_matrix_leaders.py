"""Leaders on the operator-norm ball: plain loops, regret below the bounds, how near it comes, and the proof's steps."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import games
from conftest import BACKENDS, numpy_of
from crowds import COMMON, assert_below, assert_stated, crowd, rounds, seeds
from games import ARENAS
from o2nc.certificates import augmented_leader, perturbed_leader
from o2nc.losses import LinearLoss
from o2nc.operators import damped_polar, gaussian_draws, perturbed_polar
from o2nc.oracles import AugmentedLeader, PerturbedLeader
from o2nc.sets import Box, Contractions, Fantope, LeftFactors, PositiveContractions, SpectralBall, Varying, WideSpectral
from reference_matrices import polar, root
from sentences import check

dampings = st.floats(-1.0, 0.7).map(lambda p: 10**p)


@pytest.fixture(params=[backend for backend in BACKENDS if backend.name != "jax"], ids=repr)
def xp(request):
    """JAX is compiled here: its eager mode is slow."""
    return request.param


def leads(wanted, G, center, radius, symmetric):
    """The points that are played, from the gradients in U, by loops; ``wanted`` makes minus X of S and V."""
    S, V, points = np.zeros_like(G[0]), np.zeros_like(G[0]), []
    for g in [*G, None]:
        X = -wanted(S, V)
        points.append(center * np.eye(len(S)) + radius * ((X + X.T) / 2 if symmetric else X))
        if g is not None:
            S = S + radius * g
            V = V + radius**2 * g @ g.T
    return points


def augmented(eta):
    """The first columns of the polar factor of the augmented matrix."""
    return lambda S, V: polar(np.hstack([S, eta * root(V)]))[:, : len(S)]


class Ball(NamedTuple):
    set: object
    center: float
    radius: float


BALLS = {
    "spectral": Ball(SpectralBall(), 0.0, 1.0),
    "positive": Ball(PositiveContractions(), 0.5, 0.5),
    "wide": Ball(WideSpectral(-1.0, 3.0), 1.0, 2.0),
    "contractions": Ball(Contractions(), 0.0, 1.0),
}


@pytest.mark.parametrize("name", BALLS)
@pytest.mark.parametrize("kind", ["augmented", "perturbed"])
def test_the_leaders_are_the_literal_ones(xp, name, kind):
    ball, d, T = BALLS[name], 3, 6
    symmetric = name != "contractions"
    if kind == "augmented":
        oracle, wanted = AugmentedLeader(ball.set, eta=0.6), augmented(0.6)
    else:
        oracle = PerturbedLeader(ball.set, eta=0.6, draws=2, seed=3)
        N = gaussian_draws(2, (d, d), 3, np.zeros(1))[0]
        padded = lambda S, V, n: np.hstack([S, np.zeros((d, n.shape[1] - d))]) + 0.6 * root(V) @ n
        wanted = lambda S, V: sum(polar(padded(S, V, n))[:, :d] for n in (*N, *-N)) / 4
    s, m = np.random.default_rng(4).normal(size=(2, T, d))
    G = [-np.outer(a, b) for a, b in zip(s, m, strict=True)]
    G = [(g + g.T) / 2 for g in G] if symmetric else G
    state, found = oracle.init(xp.array(np.zeros(d))), []
    for a, b in zip(s, m, strict=True):
        found.append(numpy_of(oracle.play(state, xp.array(b)).matrix))
        state = oracle.learn(state, LinearLoss(xp.array(a), xp.array(b), 1.0))
    found.append(numpy_of(state.u))
    expected = leads(wanted, G, ball.center, ball.radius, symmetric)
    for u, v in zip(found, expected, strict=True):
        np.testing.assert_allclose(u, v, rtol=0, atol=1e-12)


def trace_of_root(record, d, radius):
    G = radius * record.g.reshape(*record.g.shape[:2], d, d)
    V = np.einsum("trij,trkj->rik", G, G)
    return np.sqrt(np.clip(np.linalg.eigvalsh(V), 0, None)).sum(axis=-1)


RADIUS = {"spectral-ball": 1.0, "positive-contractions": 0.5}


@pytest.mark.parametrize("name", RADIUS)
@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds, eta=dampings)
def test_the_augmented_leader(name, seed, T, eta):
    oracle = AugmentedLeader(ARENAS[name].set, eta)
    arena, record, comparators = crowd(oracle, name, seed, T)
    trace = trace_of_root(record, arena.d, RADIUS[name])
    for u in comparators:
        assert_below(record, u, [augmented_leader(1.0, eta) * trace])
    assert_stated(oracle, arena, record)


@pytest.mark.parametrize("name", RADIUS)
@settings(max_examples=5, **COMMON)
@given(seed=seeds, T=rounds, draws=st.integers(1, 2), own=st.booleans())
def test_the_perturbed_leader(name, seed, T, draws, own):
    oracle = PerturbedLeader(ARENAS[name].set, None if own else 0.3, draws, seed % 7)
    arena, record, comparators = crowd(oracle, name, seed, T)
    kappa = float(gaussian_draws(draws, (arena.d, arena.d), seed % 7, np.zeros(1))[1][0])
    for u in comparators:
        assert_below(
            record, u, [perturbed_leader(1.0, kappa, oracle.eta) * trace_of_root(record, arena.d, RADIUS[name])]
        )
    assert_stated(oracle, arena, record)


def rectangular(seed, runs, T, wanted, factor):
    """Adversaries of rectangular matrices against a leader, its regret over its bound."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for run in range(runs):
        p, q = rng.integers(1, 5, size=2)
        S, V, lost = np.zeros((p, q)), np.zeros((p, p)), 0.0
        kind, kept = run % 4, rng.normal(size=(p, q))
        for t in range(T):
            X = -wanted(S, V)
            assert np.linalg.norm(X, 2) <= 1 + 1e-9
            noise = rng.normal(size=(p, q)) * 10 ** rng.uniform(-2, 1)
            G = [noise, kept * (-1) ** t, X + 1e-3 * noise, np.where(t < T // 2, 1e-3 * kept, -kept)][kind]
            lost, S, V = lost + np.sum(G * X), S + G, V + G @ G.T
        regret = lost + np.linalg.svd(S, compute_uv=False).sum()
        worst = max(worst, regret / (factor(p, q) * np.trace(root(V))))
    return worst


def test_rectangular_matrices():
    """What the oracles play on squares are functions of any matrix, and the bounds are about those."""
    worst = rectangular(1, 60, 25, lambda S, V: damped_polar(S, 0.75 * V), lambda p, q: augmented_leader(1.0))
    assert 0.3 < worst <= 1

    def perturbed(S, V):
        N, kappa = gaussian_draws(1, S.shape, 5, S)
        return perturbed_polar(S, V, N / np.sqrt(1 + kappa))

    factor = lambda p, q: perturbed_leader(1.0, float(gaussian_draws(1, (p, q), 5, np.zeros(1))[1][0]))
    assert 0.2 < rectangular(2, 40, 25, perturbed, factor) <= 1


def lock_hit_drive(oracle, d):
    """Tiny gradients lock X at one end, one of size 1 hits it there, small ones drive it to the other end."""
    arena = games.spectral(-1.0, d)
    units = [np.outer(e, e).ravel() for e in np.eye(d)]
    sizes = [*[-1e-5] * 100, 1.0, *[0.01] * 600]
    wishes = np.stack([size * unit for size in sizes for unit in units])
    record = games.play(oracle, arena, lambda t, u, G, best: wishes[t - 1], len(wishes), seed=None)
    return record, arena.best(record.g.sum(axis=0)), trace_of_root(record, d, 1.0)


@pytest.mark.parametrize(
    ("d", "eta", "share"), [(1, math.sqrt(0.75), 0.83), (2, math.sqrt(0.75), 0.83), (1, 2.0, 0.75)]
)
def test_the_bound_of_the_augmented_leader_is_nearly_reached(d, eta, share):
    record, best, trace = lock_hit_drive(AugmentedLeader(SpectralBall(), eta), d)
    found = record.regret(best)[0] / (augmented_leader(1.0, eta) * trace.item())
    assert share < found <= 1


def test_the_bound_of_the_perturbed_leader_is_not_far():
    oracle = PerturbedLeader(SpectralBall())
    record, best, trace = lock_hit_drive(oracle, 1)
    kappa = float(gaussian_draws(1, (1, 1), 0, np.zeros(1))[1][0])
    assert 0.4 < record.regret(best)[0] / perturbed_leader(trace.item(), kappa) <= 1


def a_round(seed):
    """The sums S and V before a round, and its gradient, of all sizes."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(1, 5, size=2)
    B = rng.normal(size=(p, p)) * 10 ** rng.uniform(-2, 2, size=p)
    S, G = (rng.normal(size=(p, q)) * 10 ** rng.uniform(-2, 2) for _ in range(2))
    return S, B @ B.T, G


@settings(max_examples=200, **COMMON)
@given(seed=seeds, eta=dampings)
def test_the_steps_of_the_proof(seed, eta):
    """A round raises the potential by at most its linear part and the factor times the growth of the trace."""
    S, W, G = a_round(seed)
    V = W + G @ G.T
    potential = lambda S, V: np.linalg.svd(np.hstack([S, eta * root(V)]), compute_uv=False).sum()
    rise = potential(S + G, V) - potential(S, W) - np.sum(damped_polar(S, eta**2 * W) * G)
    growth = np.trace(root(V) - root(W))
    assert rise <= augmented_leader(growth, eta) + 1e-9 * potential(S + G, V)
    y, w = root(V), root(W)
    a, b = np.trace(np.linalg.solve(y, V - W)), np.trace(np.linalg.solve(y, (y - w) @ (y - w)))
    assert a + b == pytest.approx(
        2 * growth, rel=1e-6, abs=1e-9 * np.trace(y)
    )  # (1 + theta) and (1 - theta) times growth


@settings(max_examples=100, **COMMON)
@given(seed=seeds, eta=dampings)
def test_a_round_of_the_perturbed_leader(seed, eta):
    """The same for the mean of two nuclear norms, with noise that is kept."""
    S, W, G = a_round(seed)
    (p, q), V = S.shape, W + G @ G.T
    N, kappa = gaussian_draws(1, (p, q), seed % 5, S)
    noisy = lambda S, V, sign: np.hstack([S, np.zeros((p, 4 * p))]) + sign * eta * root(V) @ N[0]
    norms = lambda S, V: [np.linalg.svd(noisy(S, V, sign), compute_uv=False).sum() for sign in (1, -1)]
    potential = lambda S, V: np.mean(norms(S, V))
    rise = potential(S + G, V) - potential(S, W) - np.sum(perturbed_polar(S, W, eta * N) * G)
    size = potential(S + G, V)
    assert rise <= perturbed_leader(np.trace(root(V) - root(W)), float(kappa[0]), eta) + 1e-9 * size
    assert size >= np.linalg.svd(S + G, compute_uv=False).sum() * (1 - 1e-12)


def test_the_least_factors():
    etas = np.linspace(0.2, 3.0, 2801)
    factors = [augmented_leader(1.0, eta) for eta in etas]
    assert etas[np.argmin(factors)] == pytest.approx(math.sqrt(3) / 2, abs=1e-3)
    assert augmented_leader(1.0) == pytest.approx(1.5 * math.sqrt(3), rel=1e-14)
    for kappa in (1.0, 3.2):
        assert min(perturbed_leader(1.0, kappa, eta) for eta in etas) == pytest.approx(
            2 * math.sqrt(1 + kappa), rel=1e-6
        )
        assert perturbed_leader(1.0, kappa) == pytest.approx(2 * math.sqrt(1 + kappa), rel=1e-14)


def test_low_rank_costs_less():
    """With all gradients in one of sixteen directions the bound is that of one dimension, a quarter of the stated."""
    d, e = 16, np.eye(16)[0]
    oracle, regret, state = AugmentedLeader(SpectralBall()), 0.0, None
    state = oracle.init(e)
    for t in range(400):
        loss = LinearLoss((-1.0) ** t * e if t < 200 else e, e, 1.0)
        regret += float(loss(oracle.play(state, e) @ e)[0] - loss(e)[0])
        state = oracle.learn(state, loss)
    assert regret <= augmented_leader(20.0) == pytest.approx(oracle.regret_bound(np.zeros(d), 400.0) / 4)


def test_the_draws():
    N, kappa = gaussian_draws(3, (4, 2), 1, np.zeros(1, dtype=np.float32))
    assert N.shape == (3, 4, 18)
    assert N.dtype == np.float32
    np.testing.assert_allclose([np.linalg.svd(n[:, 2:])[1].min() for n in N], 1, rtol=1e-5)
    assert float(kappa[0]) == pytest.approx(np.mean([np.linalg.norm(n, 2) for n in N]), rel=1e-5)
    big = float(gaussian_draws(1, (120, 120), 0, np.zeros(1))[1][0])
    assert big == pytest.approx(1 + math.sqrt(5), rel=0.05)  # (sqrt(5p) + sqrt p) / (sqrt(4p) - sqrt p)
    first = gaussian_draws(1, (2, 2), 0, np.zeros(1))[0]
    assert not np.allclose(first, gaussian_draws(1, (2, 2), 1, np.zeros(1))[0])
    spread = np.asarray(gaussian_draws(1, (60, 60), 0, np.zeros(1))[0])
    spread = spread / spread.std()
    assert abs(spread.mean()) < 0.03
    assert np.mean(spread**4) == pytest.approx(3, rel=0.1)


CASES = {
    "eta": (lambda: AugmentedLeader(SpectralBall(), 0.0), ValueError, "`AugmentedLeader(eta=...)`", "got 0.0"),
    "noise": (lambda: PerturbedLeader(SpectralBall(), -1.0), ValueError, "`PerturbedLeader(eta=...)`", "got -1.0"),
    "draws": (lambda: PerturbedLeader(SpectralBall(), draws=0), ValueError, "`PerturbedLeader(draws=...)`", "got 0"),
    "seed": (lambda: PerturbedLeader(SpectralBall(), seed=-1), ValueError, "`seed`", "got -1"),
    "no ball": (lambda: AugmentedLeader(Box()), TypeError, "`AugmentedLeader(set=...)`", "Box does not"),
    "factors": (
        lambda: AugmentedLeader(LeftFactors((2, 2), Fantope(1))), TypeError, "`from_ball`", "LeftFactors does not",
    ),
    "varying": (
        lambda: AugmentedLeader(Varying(lambda t: SpectralBall())), TypeError, "the same ball", "got a Varying",
    ),
    "not symmetric": (
        lambda: LeftFactors((2, 2), Contractions()), TypeError, "symmetric matrices", "got Contractions()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_errors(name):
    check(*CASES[name])
