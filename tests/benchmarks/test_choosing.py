"""The objectives on which learners are chosen, and the plain learners against those of the library."""

import math

import choosing
import numpy as np
import pytest
from development import RATES, SHAPES, family
from plain import Diagonal, Fixed, Gradient, Mixed, Newton, Pair, Scalar

from o2nc.losses import PredictionLoss
from o2nc.operators import Identity, Projector, act
from o2nc.oracles import AdaGrad, AdaHedge, Constant, LeastSquares, OnlineNewtonStep, OverOracles, PredictionHedge
from o2nc.sets import Box, WideBox

FAMILY = family()
FEW = 50  # points


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_shapes_have_curvature_and_range_at_most_those_declared(shape):
    s, h = np.linspace(-8, 8, 16_001), 1e-5
    values, slopes = shape.phi(s)
    ahead, behind = shape.phi(s + h), shape.phi(s - h)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), slopes, atol=1e-8)
    assert 0.99 < np.abs((ahead[1] - behind[1]) / (2 * h)).max() < 1 + 1e-8
    assert 0.99 * shape.range < values.max() <= shape.range
    assert values.min() == pytest.approx(0) == pytest.approx(float(shape.phi(np.asarray(shape.bottom))[0]))


@pytest.fixture(params=range(len(FAMILY)), ids=lambda k: FAMILY[k].name)
def f(request):
    return FAMILY[request.param]


def points(f, seed=0):
    """Near the start and the minimum, and far away."""
    rng = np.random.default_rng(seed)
    return f.x + 10 ** rng.uniform(-2, 1, size=(FEW, 1)) * rng.standard_normal((FEW, f.d)) / math.sqrt(f.d)


def test_gradients_are_those_of_the_values(f):
    x = points(f)
    h = 1e-5 * np.random.default_rng(1).standard_normal(x.shape)
    ahead, behind = f.value_and_gradient(x + h)[0], f.value_and_gradient(x - h)[0]
    slope = np.sum(f.value_and_gradient(x)[1] * h, axis=-1)
    assert np.abs((ahead - behind) / 2 - slope).max() < 1e-7 * np.abs(slope).max() + 1e-13 * f.M


def test_declared_constants_hold(f):
    x, y = points(f), points(f, seed=2)
    values, g = f.value_and_gradient(x)
    assert 0 <= values.min() <= values.max() <= f.M
    for end in (y, x + 1e-3 * (y - x)):
        grown = np.linalg.norm(f.value_and_gradient(end)[1] - g, axis=-1)
        assert np.all(grown <= f.beta * np.linalg.norm(end - x, axis=-1) * (1 + 1e-9))
    minimum = f.shape.bottom * np.ones(f.d) @ f.Q
    assert f.value_and_gradient(minimum)[0] == pytest.approx(0, abs=1e-20)
    assert 0.5 <= f.D * (1 + 1e-9) <= 5.0001
    assert RATES[0] < choosing.paper(f, 1).a < RATES[1]
    assert 1 <= f.beta * f.D / f.sigma**2 <= 1001
    np.testing.assert_allclose(f.basis.T @ f.basis, np.eye(f.basis.shape[1]), atol=1e-12)


def test_sigma_is_that_of_the_noise(f):
    rng = np.random.default_rng(3)
    count = 20_000 if f.heavy else 400
    for late in (False, True):
        xi = f.noise(rng, count, late)
        measured = math.sqrt(np.mean(np.sum(xi * xi, axis=-1)))
        assert measured == pytest.approx(f.sigma, rel=0.15 if f.heavy else 1e-9)
        assert np.linalg.norm(xi.mean(axis=0)) < 3 * f.sigma / math.sqrt(count)


LAM = 0.3
BASIS = np.linalg.qr(np.random.default_rng(4).standard_normal((5, 2)))[0]
P = Projector(BASIS)
PAIRS = {
    "diagonal": (lambda: Diagonal([LAM]), LeastSquares(Box(), LAM)),
    "scalar": (lambda: Scalar([LAM]), LeastSquares([Identity()], LAM)),
    "pair": (lambda: Pair([LAM], BASIS), LeastSquares([Identity(), P], LAM)),
    "newton": (lambda: Newton([LAM], [2.0]), OnlineNewtonStep(WideBox(0.0, 2.0), LAM)),
    "gradient": (Gradient, AdaGrad(Box())),
    "exponential": (lambda: Mixed([Fixed(), Fixed(BASIS)], fast=True), PredictionHedge([Identity(), P])),
    "adahedge": (lambda: Mixed([Fixed(), Fixed(BASIS)]), AdaHedge([Identity(), P])),
    "learned": (
        lambda: Mixed([Fixed(), Fixed(BASIS), Pair([LAM], BASIS)]),
        OverOracles([Constant(), Constant(P), LeastSquares([Identity(), P], LAM)]),
    ),
    "sharp": (
        lambda: Mixed([Pair([LAM], BASIS), Newton([LAM], [10.0])]),
        OverOracles([LeastSquares([Identity(), P], LAM), OnlineNewtonStep(WideBox(0.0, 10.0), LAM)]),
    ),
    "mixed": (lambda: Mixed([Fixed(), Diagonal([LAM])]), OverOracles([Constant(), LeastSquares(Box(), LAM)])),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_plain_learners_are_those_of_the_library(name):
    plain, oracle = PAIRS[name][0](), PAIRS[name][1]
    rng, m = np.random.default_rng(5), np.zeros((1, 3, 5))
    state = oracle.init(m)
    for _ in range(60):
        s = np.asarray([1.0, 0.5, 0.0, 0.0, -1.0]) + 2 * rng.standard_normal(m.shape)
        np.testing.assert_allclose(plain.play(m), act(oracle.play(state, m), m), rtol=1e-9, atol=1e-12)
        plain.learn(s)
        state = oracle.learn(state, PredictionLoss(s, m))
        m = 0.7 * m + 0.3 * s


def test_the_script_prints_a_table_for_each_setting(capsys):
    choosing.main(["--objectives", "2", "--replications", "2", "--rounds", "20"])
    out = capsys.readouterr().out
    for name in choosing.NAMES:
        assert out.count(f"| {name} |") == len(choosing.SETTINGS)
