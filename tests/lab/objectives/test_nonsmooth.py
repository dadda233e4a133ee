"""The nonsmooth objectives: gradients, Newton-Leibniz across kinks, constants, samples."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from conftest import numpy_of
from o2nc.lab.objectives import objective, of_kind
from o2nc.lab.objectives.minibatch import Minibatch

nonsmooth_objective = partial(objective, kind="nonsmooth")
NAMES = list(of_kind("nonsmooth"))
ROWS = [name for name in NAMES if isinstance(nonsmooth_objective(name), Minibatch)]


def around(f, n, seed=0, sizes=(0.1, 1.0, 5.0)):
    """Points near the start, farther and far away."""
    rng = np.random.default_rng(seed)
    start = f.start(np.zeros(1))
    return np.concatenate([start + size / np.sqrt(f.d) * rng.normal(size=(n, f.d)) for size in sizes])


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_finite_differences(name):
    """Along random directions, at points that are not within 1e-6 of a kink but with tiny probability."""
    f = nonsmooth_objective(name)
    x = around(f, 60)
    v = np.random.default_rng(1).normal(size=x.shape)
    h = 1e-7
    slope = (f.value_and_gradient(x + h * v)[0] - f.value_and_gradient(x - h * v)[0])[:, 0] / (2 * h)
    np.testing.assert_allclose(slope, np.sum(f.value_and_gradient(x)[1] * v, axis=1), atol=2e-7 * np.sqrt(f.d))


@pytest.mark.parametrize("name", NAMES)
def test_newton_leibniz_across_kinks(name):
    f = nonsmooth_objective(name)
    x, z = around(f, 2), around(f, 2, seed=3)
    n = 1000 if isinstance(f, Minibatch) else 20000  # the kinks of data are many and small
    r = (np.arange(n) + 0.5) / n
    path = x + r[:, None, None] * (z - x)
    integral = np.mean(np.sum(f.value_and_gradient(path)[1] * (z - x), axis=-1), axis=0)
    difference = (f.value_and_gradient(z)[0] - f.value_and_gradient(x)[0])[:, 0]
    np.testing.assert_allclose(integral, difference, atol=1e-2)


@pytest.mark.parametrize("name", NAMES)
def test_range_and_gradient_are_bounded(name):
    f = nonsmooth_objective(name)
    value, g = f.value_and_gradient(around(f, 300, sizes=(0.01, 0.3, 1.0, 3.0, 30.0)))
    assert value.min() >= 0
    assert value.max() <= f.M
    assert np.linalg.norm(g, axis=1).max() <= f.L


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_jumps_and_the_objective_bends_down(name):
    """Not smooth: the gradient changes over 1e-9. Not convex: some midpoint is above the mean of the ends."""
    f = nonsmooth_objective(name)
    x, z = around(f, 20), around(f, 20, seed=4)
    value = lambda p: f.value_and_gradient(p)[0]
    assert np.any(value((x + z) / 2) > (value(x) + value(z)) / 2 + 1e-3)
    low, high = np.zeros((len(x), 1)), np.ones((len(x), 1))
    jump = lambda a, b: np.linalg.norm(
        f.value_and_gradient(x + b * (z - x))[1] - f.value_and_gradient(x + a * (z - x))[1], axis=1, keepdims=True
    )
    for _ in range(36):  # keep the half with the larger change: at a kink it stays
        middle = (low + high) / 2
        left = jump(low, middle) > jump(middle, high)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    assert jump(low, high).max() > 1e-3


def test_the_bound_of_the_bowl_is_reached():
    f = nonsmooth_objective("bowl")
    assert np.linalg.norm(f.value_and_gradient(np.asarray([0.9, -0.8]))[1]) == pytest.approx(f.L, rel=1e-15)
    x = np.linspace(-1.5, 1.5, 3001)
    knots = np.linspace(-1, 1, 9)
    literal = np.interp(np.clip(x, -1, 1), knots, knots**2) / 2
    value = f.value_and_gradient(np.stack([x, 0 * x], axis=1))[0][:, 0]
    np.testing.assert_allclose(value, literal, atol=1e-15)


@pytest.mark.parametrize("name", ["valley", "capped", "ramp"])
def test_the_values_are_those_of_the_formula(name):
    f = nonsmooth_objective(name)
    for x in around(f, 5):
        if name == "valley":
            u = np.append(x[0] - np.sin(x[-1]), x[1:]) * np.linspace(2, 1, 8)
            literal = max(s * s / (1 + s * s) for s in u)
        elif name == "capped":
            literal = np.mean([min(abs(a @ x - b), 1) for a, b in zip(f.A, f.b, strict=True)])
        else:
            literal = np.mean([min(1, max(0, (1 - b * (a @ x)) / 2)) for a, b in zip(f.A, f.b, strict=True)])
        assert f.value_and_gradient(x)[0][0] == pytest.approx(literal, rel=1e-12)


def test_the_value_of_the_network_is_that_of_the_formula():
    f = nonsmooth_objective("relu")
    for x in around(f, 3):
        W = x.reshape(8, 14)
        outputs = [sum((-1) ** j * max(0, W[j] @ a) for j in range(8)) / np.sqrt(8) for a in f.A]
        losses = [min(1, max(0, (1 - b * o) / 2)) for b, o in zip(f.b, outputs, strict=True)]
        assert f.value_and_gradient(x)[0][0] == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_a_batch_of_every_row_once_is_the_gradient(name):
    f = nonsmooth_objective(name)
    n = len(f.b)
    x = around(f, 2)
    u = np.random.default_rng(0).permutation((np.arange(n) + 0.5) / n)
    g = f.value_and_gradient(x)[1]
    np.testing.assert_allclose(replace(f, batch=n).sample(x, u + np.zeros((len(x), 1)), g), g, atol=1e-14)


@pytest.mark.parametrize("name", ROWS)
def test_the_variance_of_a_batch_is_below_sigma(name):
    """Exactly, from the gradients of all rows, at many points; and not absurdly far below at the start."""
    f = nonsmooth_objective(name)
    n = len(f.b)
    one, u = replace(f, batch=1), (np.arange(n)[:, None] + 0.5) / n
    roots = []
    for x in around(f, 6, sizes=(0.0, 0.5, 3.0)):
        each = one.sample(x + np.zeros((n, 1)), u, None)
        norms = np.linalg.norm(each, axis=1)
        assert np.all(norms <= f.kappa * np.linalg.norm(f.A, axis=1) * (1 + 1e-12))
        roots.append(np.sqrt(np.mean(norms**2) - np.sum(each.mean(axis=0) ** 2)) / np.sqrt(f.batch))
    assert 0.3 * f.sigma < max(roots) <= f.sigma


@pytest.mark.parametrize("name", ["valley", "bowl"])
def test_added_noise_is_centred_and_of_length_sigma(name):
    f = nonsmooth_objective(name)
    x = f.start(np.zeros(1))
    g = f.value_and_gradient(x)[1]
    u = np.random.default_rng(0).random((50, f.d))
    noise = f.sample(x, u, g) - g
    np.testing.assert_allclose(np.linalg.norm(noise, axis=1), f.sigma, rtol=1e-12)
    np.testing.assert_allclose(noise + f.sample(x, 1 - u, g) - g, 0, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_one_source_for_every_array_library(name, xp):
    f = nonsmooth_objective(name)
    x, u = around(f, 1), np.random.default_rng(2).random((3, f.draws))
    expected = f.value_and_gradient(x)
    value, g = f.value_and_gradient(xp.array(x))
    np.testing.assert_allclose(numpy_of(value), expected[0], rtol=1e-12)
    np.testing.assert_allclose(numpy_of(g), expected[1], rtol=1e-10, atol=1e-14)
    s = f.sample(xp.array(x), xp.array(u), g)
    np.testing.assert_allclose(numpy_of(s), f.sample(x, u, expected[1]), rtol=1e-10, atol=1e-14)
