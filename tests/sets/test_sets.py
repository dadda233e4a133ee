"""The sets of operators: projections, minimisers, diameters and gradients, against independent answers."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from conftest import BACKENDS, numpy_of
from o2nc import Blocks, _xp
from o2nc.operators import Dense, Diagonal, Identity, Projector
from o2nc.oracles.full_adagrad import metric, project_metric
from o2nc.sets import Box, Hull, OperatorSet, PositiveContractions, SpectralBall

D, K = 3, 4
RNG = np.random.default_rng(0)
SWAP = np.eye(D)[::-1].copy()


def hull(xp):
    basis = np.linalg.qr(np.arange(1.0, 10.0).reshape(3, 3) ** 1.5)[0][:, :2]
    return Hull((Identity(), Diagonal(xp.array([0.5, 0.0, 1.0])), Dense(xp.array(SWAP)), Projector(xp.array(basis))))


SETS = {
    "hull": hull,
    "box": lambda xp: Box(),
    "signed-box": lambda xp: Box(-1.0, 1.0),
    "inner-box": lambda xp: Box(0.25, 0.75),
    "spectral-ball": lambda xp: SpectralBall(),
    "positive-contractions": lambda xp: PositiveContractions(),
}
LOW = {
    "hull": 0.0,
    "box": 0.0,
    "signed-box": -1.0,
    "inner-box": 0.25,
    "spectral-ball": -1.0,
    "positive-contractions": 0,
}
HIGH = {"inner-box": 0.75}
SCALED = ["hull", "box", "signed-box", "inner-box"]


class Numpy:
    """The NumPy back end, for tests of mathematics only."""

    name = "numpy"

    @staticmethod
    def array(values, dtype="float64"):
        return np.array(values, dtype=dtype)


def matrices(name):
    return name in ("spectral-ball", "positive-contractions")


def shape(name, n):
    return (n, D, D) if matrices(name) else (n, K if name == "hull" else D)


def points(name, n, scale=2.0, seed=0):
    """Any coordinates, symmetric if they are matrices."""
    u = scale * np.random.default_rng(seed).normal(size=shape(name, n))
    return 0.5 * (u + u.swapaxes(1, 2)) if matrices(name) else u


def dot(u, v):
    return np.sum(u * v, axis=tuple(range(1, u.ndim)))


def support(name, g):
    """max <g, w> over the set, from its extreme points."""
    low, high = LOW[name], HIGH.get(name, 1.0)
    if name == "hull":
        return np.max(g, axis=-1)
    values = np.linalg.eigvalsh(g) if matrices(name) else g
    return np.sum(np.maximum(low * values, high * values), axis=-1)


def assert_member(name, u, tolerance=1e-12):
    if name == "hull":
        assert np.all(u >= 0)
        np.testing.assert_allclose(np.sum(u, axis=-1), 1, rtol=0, atol=tolerance)
        return
    if matrices(name):
        np.testing.assert_allclose(u, u.swapaxes(-1, -2), rtol=0, atol=tolerance)
    values = np.linalg.eigvalsh(u) if matrices(name) else u
    assert np.all(values >= LOW[name] - tolerance)
    assert np.all(values <= HIGH.get(name, 1.0) + tolerance)


def extreme(name, n, seed):
    """Random extreme points: minimisers of random linear forms."""
    return SETS[name](Numpy).minimize(points(name, n, seed=seed))


@pytest.mark.parametrize("name", SETS)
def test_the_projection_satisfies_the_variational_inequality(xp, name):
    """<y - p, w - p> <= 0 for every w of the set, which is the same as being the nearest point."""
    for scale in (0.1, 1.0, 30.0):
        y = points(name, 200, scale)
        p = numpy_of(xp.transform(SETS[name](xp).project)(xp.array(y)))
        assert_member(name, p)
        assert np.all(support(name, y - p) - dot(y - p, p) <= 1e-12 * (1 + scale))
        np.testing.assert_allclose(numpy_of(SETS[name](xp).project(xp.array(p))), p, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", SCALED)
def test_the_projection_in_a_diagonal_norm(xp, name):
    """<h (y - p), w - p> <= 0 for every w."""
    for seed, spread in ((1, 0.5), (2, 2.0)):
        y = points(name, 200, seed=seed)
        h = 10.0 ** np.random.default_rng(seed).uniform(-spread, spread, size=y.shape)
        p = numpy_of(xp.transform(SETS[name](xp).project_scaled)(xp.array(y), xp.array(h)))
        assert_member(name, p)
        assert np.all(support(name, h * (y - p)) - dot(h * (y - p), p) <= 1e-11 * np.max(h, axis=-1))


@pytest.mark.parametrize("name", SCALED)
def test_projections_against_a_general_solver(name):
    """Twenty instances each, by sequential quadratic programming."""
    S = SETS[name](Numpy)
    rng = np.random.default_rng(3)
    sides = [(0.0, 1.0)] * K if name == "hull" else [(LOW[name], HIGH.get(name, 1.0))] * D
    sums = {"type": "eq", "fun": lambda w: np.sum(w) - 1}
    for y in points(name, 20, 1.0, seed=3):
        h = np.exp(rng.normal(size=y.shape))
        solved = minimize(
            lambda w, y=y, h=h: 0.5 * np.sum(h * (w - y) ** 2), np.full(y.shape, 0.3),
            jac=lambda w, y=y, h=h: h * (w - y), bounds=sides, constraints=[sums] if name == "hull" else [],
            method="SLSQP", options={"ftol": 1e-14},
        )  # fmt: skip
        np.testing.assert_allclose(S.project_scaled(y, h), solved.x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_projection_onto_the_simplex_keeps_its_sum_far_away(dtype):
    """After a step of 1e8 the weights still sum to 1 in every digit."""
    y = np.asarray([[1e8, 1e8 - 8, -1e8, 3.0], [1e8, 0, 0, 0], [-1e8, -1e8, -1e8 + 8, -1e8]], dtype=dtype)
    h = np.broadcast_to(np.asarray([1.0, 1e-3, 1.0, 1e-2], dtype=dtype), y.shape)
    for p in (hull(Numpy).project(y), hull(Numpy).project_scaled(y, h)):
        np.testing.assert_allclose(np.sum(p, axis=-1), 1, rtol=0, atol=4 * np.finfo(dtype).eps)
        assert p.dtype == dtype


def test_the_metric_of_a_diagonal_norm(xp):
    h = xp.array([[4.0, 1e-9, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(numpy_of(hull(xp).metric(h)), [[4.0, 4e-4, 4e-4, 1.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(numpy_of(Box().metric(h)), [[4.0, 1e-9, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])


@pytest.mark.parametrize("name", ["hull", "box", "inner-box"])
def test_the_entropic_projection(xp, name):
    """The gradient log p - y of the divergence from exp(y) has no direction of descent into the set."""
    for scale in (0.3, 3.0):
        y = points(name, 200, scale)
        p = numpy_of(xp.transform(SETS[name](xp).project_entropic)(xp.array(y)))
        assert_member(name, p)
        gradient = np.log(p) - y
        assert np.all(support(name, -gradient) + dot(gradient, p) <= 1e-12 * (1 + scale))


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # by a rounding; SciPy 1.13 says that it clips
def test_the_entropic_projection_against_a_general_solver():
    for name in ("hull", "box", "inner-box"):
        S = SETS[name](Numpy)
        sides = [(1e-9, 1.0)] * K if name == "hull" else [(max(LOW[name], 1e-9), HIGH.get(name, 1.0))] * D
        sums = [{"type": "eq", "fun": lambda w: np.sum(w) - 1}] if name == "hull" else []
        for y in points(name, 10, 1.0, seed=4):
            divergence = lambda w, y=y: np.sum(w * (np.log(w) - y) - w + np.exp(y))
            start, options = np.full(y.shape, 0.4 if name != "hull" else 1 / K), {"ftol": 1e-14}
            solved = minimize(divergence, start, bounds=sides, constraints=sums, method="SLSQP", options=options)
            np.testing.assert_allclose(S.project_entropic(y), solved.x, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", SETS)
def test_the_minimiser_of_a_linear_form(xp, name):
    g = points(name, 200)
    u = numpy_of(xp.transform(SETS[name](xp).minimize)(xp.array(g)))
    assert_member(name, u)
    np.testing.assert_allclose(dot(g, u), -support(name, -g), rtol=0, atol=1e-12)
    inside = SETS[name](Numpy).project(points(name, 200, 1.0, seed=9))
    assert np.all(dot(g, u) <= dot(g, inside) + 1e-12)
    assert_member(name, numpy_of(SETS[name](xp).minimize(xp.array(0 * g))))


@pytest.mark.parametrize("name", SETS)
def test_the_diameter_is_reached_and_not_exceeded(name):
    S, x = SETS[name](Numpy), np.zeros((5, D))
    u, v = extreme(name, 2000, 1), extreme(name, 2000, 2)
    assert np.max(np.sqrt(dot(u - v, u - v))) <= S.diameter(x) + 1e-12
    far = points(name, 1)
    u, v = S.minimize(np.abs(far)), S.minimize(-np.abs(far))
    if matrices(name):
        u, v = S.minimize(np.eye(D)[None]), S.minimize(-np.eye(D)[None])
    assert np.sqrt(dot(u - v, u - v))[0] == pytest.approx(S.diameter(x), rel=1e-12)
    if name in SCALED:
        assert np.max(np.abs(u - v)) == pytest.approx(S.sup_diameter(x), rel=1e-12)
        assert np.max(np.abs(extreme(name, 2000, 1) - extreme(name, 2000, 2))) <= S.sup_diameter(x)


def test_the_diameter_of_one_operator_is_zero():
    S = Hull([Identity()])
    assert S.diameter(np.zeros(D)) == S.sup_diameter(np.zeros(D)) == 0


@pytest.mark.parametrize("name", SETS)
def test_start_and_identity(xp, name):
    S = SETS[name](xp)
    assert isinstance(S, OperatorSet)
    assert S.at(xp.array([7], "int32")) is S
    v = RNG.normal(size=(5, D))
    for x in (xp.array(v), xp.array(v[0]), xp.array(v, "float32")):
        start, identity = S.start(x), S.identity(x)
        batch = tuple(x.shape[:-1])
        assert start.dtype == x.dtype
        assert tuple(start.shape) == (*batch, *shape(name, 1)[1:])
        assert_member(name, numpy_of(start), 1e-6)
        assert S.holds_identity == (identity is not None) == (name != "inner-box")
        if identity is not None:
            assert tuple(identity.shape) == tuple(start.shape)
            np.testing.assert_array_equal(numpy_of(S.operator(identity) @ x), numpy_of(x))
            if name != "hull":
                np.testing.assert_array_equal(numpy_of(start), numpy_of(identity))
    if name == "inner-box":
        np.testing.assert_array_equal(numpy_of(S.start(xp.array(v))), np.full((5, D), 0.75))  # nearest to the identity
    if name == "hull":
        np.testing.assert_array_equal(numpy_of(S.start(xp.array(v))), np.full((5, K), 1 / K))


def test_an_identity_that_is_there_twice_is_their_average():
    S = Hull((Identity(), Dense(SWAP), Identity()))
    np.testing.assert_array_equal(S.identity(np.zeros(D)), [0.5, 0.0, 0.5])
    assert not Hull((Dense(SWAP),)).holds_identity


@pytest.mark.parametrize("name", SETS)
def test_the_pullback_is_the_gradient(xp, name):
    """Central differences of <p, U m> in each coordinate; it is linear, so that they are exact."""
    S = SETS[name](xp)
    p, m = RNG.normal(size=(2, 6, D))
    gradient = numpy_of(xp.transform(S.pullback)(xp.array(p), xp.array(m)))
    u, step = points(name, 6, 0.3), 0.1
    value = lambda u: np.sum(p * numpy_of(S.operator(xp.array(u)) @ xp.array(m)), axis=-1)
    for index in np.ndindex(shape(name, 1)[1:]):
        move = np.zeros(shape(name, 1)[1:])
        move[index] += step / 2
        move[index[::-1]] += step / 2  # symmetric coordinates move together
        slope = (value(u + move) - value(u - move)) / (2 * step)
        np.testing.assert_allclose(gradient[(slice(None), *index)], slope, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_the_gradient_factor_is_valid_and_reached(name):
    S, x = SETS[name](Numpy), np.zeros(D)
    norm = lambda a: np.sqrt(np.sum(a**2, axis=tuple(range(1, a.ndim))))
    p, m = RNG.normal(size=(2, 5000, D))
    share = norm(S.pullback(p, m)) / (norm(p) * norm(m))
    assert np.max(share) <= S.gradient_factor(x) + 1e-12
    p = m = np.eye(D)[:1]
    if name == "hull":
        S = Hull((Identity(), Dense(-np.eye(D)), Dense(np.eye(D)), Identity()))
    assert norm(S.pullback(p, m))[0] == pytest.approx(S.gradient_factor(x), rel=1e-12)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("xp", [b for b in BACKENDS if b.name not in ("read-only", "jax")], ids=repr)
def test_the_projection_in_a_full_norm(xp, name):
    """<H (y - p), w - p> <= 0 for every w, to 1e-7 of the largest eigenvalue of H, whose condition number is 1000."""
    S, n = SETS[name](xp), 20
    size = math.prod(shape(name, 1)[1:])
    rng = np.random.default_rng(5)
    G = rng.normal(size=(n, 2, size)) * 10.0 ** rng.uniform(-2, 0, size=(n, 2, 1))
    if matrices(name):
        G = points(name, 2 * n, 1.0, seed=5).reshape(n, 2, size) * 10.0 ** rng.uniform(-2, 0, size=(n, 2, 1))
    w, Q = metric(xp.array(np.einsum("nri,nrj->nij", G, G)))
    H = np.einsum("nij,nj,nkj->nik", numpy_of(Q), numpy_of(w), numpy_of(Q))
    y, u = points(name, n).reshape(n, size), numpy_of(S.project(xp.array(points(name, n, seed=6)))).reshape(n, size)

    def project(v):
        reshape = _xp.namespace(v).reshape
        return reshape(S.project(reshape(v, shape(name, n))), (n, size))

    nearest = xp.transform(lambda y, u, w, Q: project_metric(project, y, u, w, Q))
    p = numpy_of(nearest(xp.array(y), xp.array(u), w, Q))
    assert_member(name, p.reshape(shape(name, n)), 1e-9)
    pull = np.einsum("nij,nj->ni", H, y - p).reshape(shape(name, n))
    slack = support(name, pull) - dot(pull, p.reshape(shape(name, n)))
    assert np.all(slack <= 1e-7 * np.linalg.eigvalsh(H)[:, -1])


@pytest.mark.parametrize("name", SCALED)
def test_the_projection_in_a_full_norm_against_a_general_solver(name):
    S, y = SETS[name](Numpy), points(name, 8, seed=7)
    size, rng = y.shape[-1], np.random.default_rng(7)
    G = rng.normal(size=(8, size, size))
    w, Q = metric(G @ G.swapaxes(1, 2))
    p = project_metric(S.project, y, S.project(y), w, Q)
    sides = [(0.0, 1.0)] * K if name == "hull" else [(LOW[name], HIGH.get(name, 1.0))] * D
    sums = [{"type": "eq", "fun": lambda w: np.sum(w) - 1}] if name == "hull" else []
    for n in range(8):
        H = (Q[n] * w[n]) @ Q[n].T
        solved = minimize(
            lambda v, n=n, H=H: 0.5 * (v - y[n]) @ H @ (v - y[n]), np.full(size, 0.3),
            jac=lambda v, n=n, H=H: H @ (v - y[n]), bounds=sides, constraints=sums, method="SLSQP",
            options={"ftol": 1e-15},
        )  # fmt: skip
        np.testing.assert_allclose(p[n], solved.x, rtol=0, atol=1e-5)


def test_the_metric_of_the_full_norm():
    """V^(1/2) + 1e-3 sqrt(tr V) I, and the identity while V = 0."""
    G = RNG.normal(size=(2, 4))
    w, Q = metric(np.stack([G.T @ G, np.zeros((4, 4))]))
    H = (Q * w[:, None, :]) @ Q.swapaxes(1, 2)
    ridge = 1e-3 * np.sqrt(np.trace(G.T @ G)) * np.eye(4)
    np.testing.assert_allclose((H[0] - ridge) @ (H[0] - ridge), G.T @ G, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(H[1], np.eye(4))


def test_a_box_of_blocks_is_the_box_of_the_flat_vector(xp):
    S, v = Box(-0.5, 1.0), RNG.normal(size=5)
    cut = lambda a: Blocks((xp.array(a[:4].reshape(2, 2)), xp.array(a[4:])))
    flat = lambda b: np.concatenate([numpy_of(a).ravel() for a in b.arrays])
    for method in (S.project, S.minimize, S.metric, S.start, S.identity):
        np.testing.assert_array_equal(flat(method(cut(v))), numpy_of(method(xp.array(v))))
    np.testing.assert_array_equal(
        flat(S.pullback(cut(v), cut(v + 1))), numpy_of(S.pullback(xp.array(v), xp.array(v + 1)))
    )
    np.testing.assert_array_equal(flat(S.operator(cut(v)) @ cut(v)), v * v)
    np.testing.assert_array_equal(flat(Box().project_entropic(cut(v))), numpy_of(Box().project_entropic(xp.array(v))))
    assert S.diameter(cut(v)) == S.diameter(xp.array(v))
    assert S.gradient_factor(cut(v)) == S.gradient_factor(xp.array(v)) == 1
