"""The Fantope and the sets of Kronecker operators against dense matrices, a convex solver and optimality conditions."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import numpy_of
from o2nc import Blocks
from o2nc.losses import LinearLoss
from o2nc.operators import Identity
from o2nc.oracles import OGD, FullAdaGrad
from o2nc.sets import Box, Fantope, LeftFactors, OperatorSet, PositiveContractions, RightFactors, SpectralBall, TwoSided
from o2nc.testing import check_oracle
from o2nc.vectors import mat, split, vec
from sentences import check

P, Q = 3, 2
SHAPE = (P, Q)
D = P * Q
RNG = np.random.default_rng(0)
V = RNG.normal(size=(5, D))


class Factor(NamedTuple):
    """A set of symmetric n x n matrices with eigenvalues in [low, 1] and a trace of at most ``trace``."""

    side: str
    n: int
    low: float
    trace: float = math.inf

    def support(self, G):
        """max <G, A>, from the eigenvalues of G."""
        values = np.sort(np.linalg.eigvalsh(G), axis=-1)[..., ::-1]
        if self.trace < self.n:
            return np.sum(np.maximum(values, 0)[..., : self.trace], axis=-1)
        return np.sum(np.maximum(values, self.low * values), axis=-1)

    def diameter(self):
        return math.sqrt(min(2 * self.trace, self.n)) if self.trace < self.n else (1 - self.low) * math.sqrt(self.n)

    def gradient(self, s, m):
        """That of -<s, U m> in the factor."""
        S, M = (v.reshape(-1, Q, P).swapaxes(1, 2) for v in (s, m))
        outer = {"left": S @ M.swapaxes(1, 2), "right": M.swapaxes(1, 2) @ S, "all": s[:, :, None] * m[:, None, :]}
        return -0.5 * (outer[self.side] + outer[self.side].swapaxes(1, 2))

    def dense(self, A):
        """The matrix of the operator on vec(X)."""
        return {"left": np.kron(np.eye(Q), A), "right": np.kron(A.T, np.eye(P)), "all": A}[self.side]


SETS = {
    "fantope-2": (Fantope(2), [Factor("all", D, 0.0, 2)]),
    "fantope-5": (Fantope(5), [Factor("all", D, 0.0, 5)]),
    "left": (LeftFactors(SHAPE), [Factor("left", P, -1.0)]),
    "left-positive": (LeftFactors(SHAPE, PositiveContractions()), [Factor("left", P, 0.0)]),
    "left-fantope": (LeftFactors(SHAPE, Fantope(1)), [Factor("left", P, 0.0, 1)]),
    "right": (RightFactors(SHAPE), [Factor("right", Q, -1.0)]),
    "right-positive": (RightFactors(SHAPE, PositiveContractions()), [Factor("right", Q, 0.0)]),
    "two-sided": (TwoSided(SHAPE), [Factor("left", P, -1.0), Factor("right", Q, -1.0)]),
    "two-sided-mixed": (
        TwoSided(SHAPE, PositiveContractions(), Fantope(1)), [Factor("left", P, 0.0), Factor("right", Q, 0.0, 1)],
    ),
}  # fmt: skip
HOLD_IDENTITY = ["left", "left-positive", "right", "right-positive", "two-sided"]


def taken_apart(name, u):
    """The factors of coordinates of shape (n, ...)."""
    u, start = np.asarray(u).reshape(len(u), -1), 0
    for factor in SETS[name][1]:
        stop = start + factor.n**2
        yield factor, u[:, start:stop].reshape(-1, factor.n, factor.n)
        start = stop
    assert start == u.shape[-1]


def points(name, count, scale=1.0, seed=0):
    """Random coordinates of symmetric factors, in the shape of those of the set."""
    rng = np.random.default_rng(seed)
    matrices = [scale * rng.normal(size=(count, f.n, f.n)) for f in SETS[name][1]]
    matrices = [0.5 * (A + A.swapaxes(1, 2)) for A in matrices]
    return matrices[0] if len(matrices) == 1 else np.concatenate([A.reshape(count, -1) for A in matrices], axis=-1)


def support(name, g):
    return sum(factor.support(G) for factor, G in taken_apart(name, g))


def dense(name, u):
    """The matrices of the operators on vec(X), by numpy.kron."""
    parts = list(taken_apart(name, u))
    return np.mean([[factor.dense(A) for A in matrices] for factor, matrices in parts], axis=0)


def dot(u, v):
    return np.sum(u * v, axis=tuple(range(1, u.ndim)))


def assert_member(name, u, tolerance=1e-12):
    for factor, A in taken_apart(name, u):
        np.testing.assert_allclose(A, A.swapaxes(1, 2), rtol=0, atol=tolerance)
        values = np.linalg.eigvalsh(A)
        assert np.all(values >= factor.low - tolerance)
        assert np.all(values <= 1 + tolerance)
        assert np.all(np.sum(values, axis=-1) <= factor.trace + tolerance)


@pytest.mark.parametrize("name", SETS)
def test_a_point_of_a_set_is_its_dense_matrix(xp, name):
    """One point for all vectors, and one a replication; on Blocks where the set has them."""
    S, u = SETS[name][0], points(name, 5, 0.2)
    assert isinstance(S, OperatorSet)
    each = np.einsum("nij,nj->ni", dense(name, u), V)
    np.testing.assert_allclose(numpy_of(S.operator(xp.array(u)) @ xp.array(V)), each, rtol=0, atol=1e-14)
    one = S.operator(xp.array(u[0]))
    np.testing.assert_allclose(numpy_of(one @ xp.array(V)), V @ dense(name, u)[0].T, rtol=0, atol=1e-14)
    if not isinstance(S, Fantope):
        found = (one @ split(xp.array(V[0]), (SHAPE,))).arrays[0]
        np.testing.assert_allclose(numpy_of(vec(found)), each[0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", SETS)
def test_the_pullback_is_the_gradient(xp, name):
    """<p, U m> is linear in the coordinates, so <pullback, u> is its value at u; the pullback is symmetric itself."""
    S = SETS[name][0]
    p, m = RNG.normal(size=(2, 5, D))
    gradient = numpy_of(xp.transform(S.pullback)(xp.array(p), xp.array(m)))
    for factor, G in taken_apart(name, gradient):
        # bit by bit, but for a compiler that rounds a product once where it adds it
        np.testing.assert_allclose(G, G.swapaxes(1, 2), rtol=0, atol=1e-15, err_msg=factor.side)
    for seed in range(20):
        u = points(name, 5, seed=seed)
        values = np.einsum("ni,nij,nj->n", p, dense(name, u), m)
        np.testing.assert_allclose(dot(gradient, u), values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_the_projection_satisfies_the_variational_inequality(xp, name):
    """<y - p, w - p> <= 0 for every w of the set, which is the same as being the nearest point."""
    S = SETS[name][0]
    for scale in (0.1, 1.0, 30.0):
        y = points(name, 100, scale)
        p = numpy_of(xp.transform(S.project)(xp.array(y)))
        assert_member(name, p)
        assert np.all(support(name, y - p) - dot(y - p, p) <= 1e-12 * (1 + scale))
        np.testing.assert_allclose(numpy_of(S.project(xp.array(p))), p, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", SETS)
def test_the_minimiser_of_a_linear_form(xp, name):
    S, g = SETS[name][0], points(name, 100)
    u = numpy_of(xp.transform(S.minimize)(xp.array(g)))
    assert_member(name, u)
    np.testing.assert_allclose(dot(g, u), -support(name, -g), rtol=0, atol=1e-12)
    assert np.all(dot(g, u) <= dot(g, S.project(points(name, 100, seed=9))) + 1e-12)
    assert_member(name, numpy_of(S.minimize(xp.array(0 * g))))


@pytest.mark.parametrize("name", SETS)
def test_the_diameter_is_reached_and_not_exceeded(name):
    S, x = SETS[name][0], np.zeros((5, D))
    u, v = (S.minimize(points(name, 2000, seed=seed)) for seed in (1, 2))
    assert np.max(np.sqrt(dot(u - v, u - v))) <= S.diameter(x) + 1e-12
    far = [np.diag(np.arange(f.n) - (f.n - 1) / 2 - 0.25) for _, f in enumerate(SETS[name][1])]
    if all(f.trace == math.inf for f in SETS[name][1]):
        far = [np.eye(f.n) for f in SETS[name][1]]
    g = far[0][None] if len(far) == 1 else np.concatenate([A.ravel() for A in far])[None]
    ends = [(S.minimize(a), S.minimize(-a)) for a in (g, points(name, 2000, seed=3))]
    assert max(np.max(np.sqrt(dot(u - v, u - v))) for u, v in ends) == pytest.approx(S.diameter(x), rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_the_gradient_factor_is_valid_and_reached(name):
    S, x = SETS[name][0], np.zeros(D)
    norm = lambda a: np.sqrt(np.sum(a**2, axis=tuple(range(1, a.ndim))))
    p, m = RNG.normal(size=(2, 5000, D))
    assert np.max(norm(S.pullback(p, m)) / (norm(p) * norm(m))) <= S.gradient_factor(x) + 1e-12
    e = np.eye(D)[:1]
    assert norm(S.pullback(e, e))[0] == pytest.approx(S.gradient_factor(x), rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_start_and_identity(xp, name):
    S = SETS[name][0]
    assert S.holds_identity == (name in HOLD_IDENTITY)
    assert S.at(xp.array([7], "int32")) is S
    for x in (xp.array(V), xp.array(V[0]), xp.array(V, "float32")):
        start, identity = S.start(x), S.identity(x)
        assert start.dtype == x.dtype
        assert tuple(start.shape) == (*x.shape[:-1], *points(name, 1).shape[1:])
        assert (identity is not None) == S.holds_identity
        coordinates = numpy_of(start).reshape(-1, *points(name, 1).shape[1:])
        assert_member(name, coordinates, 1e-6)
        if identity is not None:
            np.testing.assert_array_equal(numpy_of(S.operator(identity) @ x), numpy_of(x))
            np.testing.assert_array_equal(numpy_of(start), numpy_of(identity))
    eyes = [np.eye(f.n)[None] for f in SETS[name][1]]
    eyes = eyes[0] if len(eyes) == 1 else np.concatenate([A.reshape(1, -1) for A in eyes], axis=-1)
    np.testing.assert_allclose(numpy_of(S.start(xp.array(V[0]))), S.project(eyes)[0], rtol=0, atol=1e-15)  # the nearest


@pytest.mark.parametrize("name", SETS)
@settings(max_examples=4, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_regret_of_gradient_descent_over_a_set(name, seed, T):
    """Against the best point in hindsight, by adversaries that know what is played; gradients and best from NumPy."""
    (S, factors), runs, rng = SETS[name], 32, np.random.default_rng(seed)
    oracle, share = OGD(S), 1 / len(factors)
    kind, own = rng.integers(4, size=(runs, 1)), rng.normal(size=(runs, D))
    state, loss, E, G = oracle.init(own), np.zeros(runs), np.zeros(runs), [0.0] * len(factors)
    for t in range(T):
        m, noise = np.where(kind % 2, own, rng.normal(size=(runs, D))), rng.normal(size=(runs, D))
        played = oracle.play(state, m) @ m
        s = np.choose(kind, [noise, (-1.0) ** t * own, -played + 0.1 * noise, np.where(t % 9 < 5, own, -own)])
        g = [share * factor.gradient(s, m) for factor in factors]
        loss, E, G = (
            loss - np.sum(s * played, axis=-1),
            E + sum(dot(a, a) for a in g),
            [a + b for a, b in zip(G, g, strict=True)],
        )
        state = oracle.learn(state, LinearLoss(s, m, 1.0))
    best = -sum(factor.support(-total) for factor, total in zip(factors, G, strict=True))
    bound = math.hypot(*(factor.diameter() for factor in factors)) * np.sqrt(2 * E)
    assert np.all(loss - best <= bound + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["left", "right-positive", "two-sided"])
def test_a_learner_over_a_set_of_factors_on_a_matrix_block(name):
    """The same object on the array and on the block; its regret is measured."""
    for learner in (OGD, FullAdaGrad):
        oracle = learner(SETS[name][0])
        shapes = {"shapes": [SHAPE]} if learner is OGD else {}
        check_oracle(oracle, np.zeros(D), rounds=4, regret=learner is OGD, **shapes)
    check_oracle(OGD(SETS[name][0]), Blocks((np.zeros(SHAPE),)), rounds=4)


def test_a_two_sided_learner_finds_both_factors():
    """Losses whose best operator keeps one row from the left and one column from the right."""
    oracle = OGD(TwoSided(SHAPE, PositiveContractions(), PositiveContractions()))
    state = oracle.init(np.zeros(D))
    target = np.kron(np.eye(Q), np.diag([1.0, -1.0, -1.0])) + np.kron(np.diag([1.0, -1.0]), np.eye(P))
    for m in np.tile(np.eye(D), (20, 1)):
        state = oracle.learn(state, LinearLoss(target @ m, m, 1.0))
    (_, A), (_, B) = taken_apart("two-sided", state.u[None])
    np.testing.assert_allclose(A[0], np.diag([1.0, 0.0, 0.0]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(B[0], np.diag([1.0, 0.0]), rtol=0, atol=1e-12)


WRONG = {
    "shape a number": (lambda: LeftFactors(3), ValueError, "`LeftFactors(shape=...)`", "(p, q)", "got 3"),
    "shape of a vector": (lambda: RightFactors((3,)), ValueError, "`RightFactors(shape=...)`", "got (3,)"),
    "shape with a zero": (lambda: TwoSided((3, 0)), ValueError, "`TwoSided(shape=...)`", "at least 1; got (3, 0)"),
    "factors a box": (
        lambda: LeftFactors(SHAPE, Box()), TypeError, "`LeftFactors(factors=...)`", "set of matrices", "got Box(",
    ),
    "factors a class": (lambda: RightFactors(SHAPE, SpectralBall), TypeError, "`RightFactors(factors=...)`", "got"),
    "factors of factors": (
        lambda: TwoSided(SHAPE, LeftFactors(SHAPE)), TypeError, "`TwoSided(left=...)`", "got LeftFactors(",
    ),
    "factors an operator": (lambda: TwoSided(SHAPE, right=Identity()), TypeError, "`TwoSided(right=...)`", "Identity"),
    "another size": (lambda: LeftFactors(SHAPE).start(np.zeros(5)), ValueError, "p q = 3 * 2", "got shape (5,)"),
    "another block": (
        lambda: LeftFactors(SHAPE).start(Blocks((np.zeros((2, 3)),))), ValueError, "one block of shape (3, 2)",
        "((2, 3),)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)


def test_mat_is_what_the_factors_act_on():
    """The matrix of a vector is filled column by column."""
    A = np.diag([1.0, 0.5, 0.0])
    U = LeftFactors(SHAPE).operator(A)
    np.testing.assert_array_equal(mat(U @ V[0], P, Q), A @ V[0].reshape(P, Q, order="F"))
