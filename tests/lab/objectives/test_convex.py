"""The classifiers of the deterministic experiment: formulas, derivatives, constants and minima."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from conftest import numpy_of
from o2nc.lab.objectives import classifier, objective, of_kind
from o2nc.lab.objectives.logistic import Logistic
from o2nc.lab.objectives.smoothed_svm import SmoothedSVM

convex_objective = partial(objective, kind="convex")
every = pytest.mark.parametrize("name", of_kind("convex"))


def points(f, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([size * rng.normal(size=(n, f.d)) for size in (0.01, 0.3, 3.0)])


def literal(f, x):
    """The formula of the docstring, row by row, in JAX."""
    margins = jnp.asarray(f.b) * (jnp.asarray(f.A) @ x)
    if isinstance(f, Logistic):
        losses = jnp.logaddexp(0.0, -margins)
    else:
        losses = jnp.maximum(0.0, 1 - margins) ** 2 / 2
    return jnp.sum(losses) / len(f.b) + jnp.sum(x**2) / (2 * len(f.b))


@every
def test_value_and_gradient_are_those_of_autodiff(name):
    f = convex_objective(name)
    x = points(f, 4)
    value, g = f.value_and_gradient(x)
    assert value.shape == (12, 1)
    for k in range(len(x)):
        expected, slope = jax.value_and_grad(lambda v: literal(f, v))(jnp.asarray(x[k]))
        assert value[k, 0] == pytest.approx(float(expected), rel=1e-12)
        np.testing.assert_allclose(g[k], slope, rtol=0, atol=1e-12 * np.abs(slope).max())


@every
def test_the_curvature_is_between_lam_and_beta_and_beta_is_reached(name):
    """At 0 all rows have the largest curvature: there beta is an eigenvalue of the Hessian."""
    f = convex_objective(name)
    hessian = jax.jit(jax.hessian(lambda v: literal(f, v)))
    assert np.linalg.eigvalsh(hessian(jnp.zeros(f.d)))[-1] == pytest.approx(f.beta, rel=1e-12)
    for x in points(f, 2, seed=1):
        eigenvalues = np.linalg.eigvalsh(hessian(jnp.asarray(x)))
        assert f.lam * (1 - 1e-9) <= eigenvalues[0]
        assert eigenvalues[-1] <= f.beta * (1 + 1e-12)
    x, z = points(f, 30), points(f, 30, seed=2)
    change = np.linalg.norm(f.value_and_gradient(x)[1] - f.value_and_gradient(z)[1], axis=1)
    assert np.all(change <= f.beta * np.linalg.norm(x - z, axis=1))


@every
def test_the_minimum_is_that_of_scikit_learn(name):
    f = convex_objective(name)
    if isinstance(f, Logistic):
        solver = LogisticRegression(C=1.0, fit_intercept=False, solver="newton-cholesky", tol=1e-13, max_iter=100)
    else:  # its squared hinge has no factor 1/2
        solver = LinearSVC(C=0.5, loss="squared_hinge", fit_intercept=False, dual=False, tol=1e-12, max_iter=10000)
    x = solver.fit(f.A, f.b).coef_[0]
    value, g = f.value_and_gradient(x)
    assert np.linalg.norm(g) < 1e-6  # they did solve it
    assert f.f_star == pytest.approx(float(value[0]), rel=1e-11)
    assert f.f_star <= f.value_and_gradient(points(f, 20))[0].min()


@every
def test_M_is_the_value_at_the_start_and_f_is_not_negative(name):
    f = convex_objective(name)
    assert math.isclose(f.M, math.log(2) if isinstance(f, Logistic) else 0.5, rel_tol=1e-15)
    assert f.value_and_gradient(f.start(np.zeros(1)))[0][0] == f.M
    assert f.value_and_gradient(points(f, 20))[0].min() > 0


@pytest.mark.parametrize("data", classifier.CLASSES)
def test_the_data_are_standardised(data):
    f = convex_objective(f"{data}-svm")
    assert set(f.b) == {1.0, -1.0}
    np.testing.assert_allclose(f.A[:, :-1].mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(f.A[:, :-1].std(axis=0), 1, rtol=1e-10)
    assert np.all(f.A[:, -1] == 1)
    assert f.lam == 1 / len(f.A)
    assert 0.3 < np.mean(f.b > 0) < 0.7


@pytest.mark.parametrize("name", ["wine-logistic", "wine-svm"])
def test_one_source_for_every_array_library(name, xp):
    f = convex_objective(name)
    x = points(f, 2)
    expected = f.value_and_gradient(x)
    value, g = f.value_and_gradient(xp.array(x))
    np.testing.assert_allclose(numpy_of(value), expected[0], rtol=1e-12)
    np.testing.assert_allclose(numpy_of(g), expected[1], rtol=1e-10, atol=1e-14)
    assert numpy_of(f.start(xp.array(np.zeros(1)))).tolist() == [0.0] * f.d


def test_large_margins_do_not_overflow():
    losses, slopes = Logistic(np.eye(1), np.ones(1)).loss(np.asarray([-1e4, 0.0, 1e4]))
    assert losses.tolist() == [1e4, math.log(2), 0.0]
    assert slopes.tolist() == [-1.0, -0.5, 0.0]


def test_a_minimum_that_was_not_found_is_said(monkeypatch):
    monkeypatch.setattr(classifier, "SOLVED", 1e-30)
    f = SmoothedSVM(np.asarray([[1.0, 0.3], [-1.0, 1.0]]), np.asarray([1.0, -1.0]))
    with pytest.raises(ArithmeticError, match="The minimum was not found: the gradient is"):
        _ = f.f_star
