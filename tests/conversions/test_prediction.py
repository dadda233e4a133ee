"""Algorithm 1 with the prediction loss against a literal loop, and its theorem with every size of operator."""

import numpy as np
import pytest

import o2nc
from o2nc import PredictionConversion, Smooth, SmoothConversion
from o2nc.certificates import theorem_sharp, theorem_sharp_least_squares
from o2nc.operators import Diagonal, Identity, Projector, trusted
from o2nc.oracles import OGD, Constant, FullLeastSquares, Hedge, LeastSquares, OnlineNewtonStep, PredictionHedge
from o2nc.sets import Box, WideBox

T, N, D = 40, 64, 3
SHARP = Smooth(gap=1.5, beta=1.0, sigma=0.6, T=T)
PAPER = Smooth.paper(M=6.0, beta=1.0, sigma=0.6, T=T)
X1 = np.tile(np.asarray([1.0, 0.5, -0.5]), (N, 1))
VARIANCES = np.asarray([0.0, 0.18, 0.18])


def gradient(x, rng):
    """Of sum 1 - cos(x_i), with noise on two coordinates."""
    return np.sin(x) + np.sqrt(VARIANCES) * rng.choice([-1.0, 1.0], size=x.shape)


def samples(x, t):
    return gradient(x, np.random.default_rng(t))


def diagonal_least_squares(constants, lam=1.0):
    """The loop of the theory page, one factor for each coordinate, and its regret and squared gradients."""
    a, eta = constants.a, constants.eta
    x, m = X1.copy(), np.zeros_like(X1)
    A, H = np.full_like(X1, lam), np.zeros_like(X1)
    regret, squares = np.zeros(N), np.zeros(N)
    for t in range(T):
        A += m**2
        d = (1 + H / A) * m
        s = samples(x, t)
        squares += (np.sin(x) ** 2).sum(axis=1)
        regret += (((d - s) ** 2 - (m - s) ** 2) / 2).sum(axis=1)
        H += m * (s - m)
        x = x - eta * d
        m = (1 - a) * m + a * s
        if constants.G0 is not None:
            norm = np.linalg.norm(m, axis=1, keepdims=True)
            m = m * np.minimum(1, constants.G0 / norm)
    return x, regret, squares


def run(conversion):
    x, state = X1.copy(), conversion.init(X1)
    for t in range(T):
        dx, state = conversion.update(samples(x, t), state)
        x = x + dx
    return x, state


@pytest.mark.parametrize("constants", [SHARP, PAPER], ids=["sharp", "paper"])
def test_the_literal_loop(constants):
    conversion = PredictionConversion(LeastSquares(Box()), constants)
    x, state = run(conversion)
    expected, regret, _ = diagonal_least_squares(constants)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-13)
    scaled = conversion.sums(state)["regret"][:, 0] * constants.G
    np.testing.assert_allclose(scaled, regret, rtol=0, atol=1e-12)


@pytest.mark.parametrize("constants", [SHARP, PAPER], ids=["sharp", "paper"])
def test_it_is_the_largest_kappa(constants):
    """For contractions it is the descent loss with kappa = c/a."""
    hedge = Hedge([Identity(), Projector.from_mask(VARIANCES == 0)])
    conversion = PredictionConversion(hedge, constants)
    x, state = run(conversion)
    y, same = run(SmoothConversion(hedge, constants, kappa=constants.c / constants.a))
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(state.regret, same.regret, rtol=0, atol=1e-12)
    assert conversion.kappa == constants.c / constants.a


def test_the_theorem_is_that_of_the_regret():
    conversion = PredictionConversion(LeastSquares(Box()), SHARP)
    _, state = run(conversion)
    _, regret, squares = diagonal_least_squares(SHARP)
    found = conversion.certificate(state)
    known = {"gap": 1.5, "beta": 1.0, "sigma": 0.6, "T": T}
    expected = theorem_sharp(**known, regret=regret.mean(), a=SHARP.a, c=1 + SHARP.a)
    assert found.terms == pytest.approx(expected.terms, rel=1e-12)
    assert (found.label, found.replications) == ("a-posteriori", N)
    assert squares.mean() / T <= found.bound


@pytest.mark.parametrize("size", [-1.0, 3.0])
def test_operators_may_have_any_size(size):
    U = trusted(Diagonal, diagonal=np.full(D, size))
    conversion = PredictionConversion(Constant(U), SHARP)
    x, state = X1, conversion.init(X1)
    total = 0.0
    for t in range(T):
        total += (np.sin(x) ** 2).sum(axis=1).mean()
        dx, state = conversion.update(samples(x, t), state)
        x = x + dx
    assert total / T <= conversion.certificate(state).bound
    _, state = run(SmoothConversion(Constant(U), SHARP))
    if size > 1:
        assert "norm above 1" in SmoothConversion(Constant(U), SHARP).certificate(state)


def test_a_priori_there_is_no_regret():
    constants = Smooth.least_squares(gap=1.5, beta=1.0, sigma=0.6, T=T)
    known = {"gap": 1.5, "beta": 1.0, "sigma": 0.6, "T": T}
    found = PredictionConversion(LeastSquares(Box(), lam=0.5), constants).a_priori(X1)
    assert found.bound == pytest.approx(theorem_sharp_least_squares(**known, lam=0.5).bound, rel=1e-12)
    full = PredictionConversion(FullLeastSquares(lam=0.5), constants).a_priori(X1)
    assert full.bound == pytest.approx(
        theorem_sharp_least_squares(**known, lam=0.5 * D, variance=0.36 * D).bound, rel=1e-12
    )
    assert PredictionConversion(Constant(), SHARP).a_priori(X1).terms["regret"] == 0
    assert "must be at least" in PredictionConversion(LeastSquares(Box()), SHARP).a_priori(X1)
    for oracle in (OnlineNewtonStep(WideBox()), PredictionHedge([Identity()]), Hedge([Identity()])):
        assert "states no regret bound" in PredictionConversion(oracle, constants).a_priori(X1)


def test_linear_regret_bounds_need_the_range():
    hedge = Hedge([Identity(), Projector.from_mask(VARIANCES == 0)])
    assert "needs the range" in SmoothConversion(hedge, SHARP).a_priori(X1)
    found = SmoothConversion(hedge, Smooth(gap=1.5, M=6.0, beta=1.0, sigma=0.6, T=T)).a_priori(X1)
    assert found.label == "a-priori"
    assert SmoothConversion(Constant(), SHARP).a_priori(X1).terms["regret"] == 0


def test_operators_of_any_size_have_no_linear_theorem_beforehand():
    known = Smooth(gap=1.5, M=6.0, beta=1.0, sigma=0.6, T=T)
    assert SmoothConversion(OGD(Box(), 0.1), known).a_priori(X1).label == "a-priori"
    assert "states no regret bound" in SmoothConversion(OGD(WideBox(), 0.1), known).a_priori(X1)


def test_minimize_prints_the_sharp_theorem():
    found = o2nc.minimize(gradient, X1, oracle=Constant(), constants=SHARP)
    assert found.certificate.name.startswith("Sharp theorem")
    assert found.a_priori.name.startswith("Sharp theorem")
    assert found.clipped == 0.0
    assert found.tight is not None
