"""Real data with bounded smooth losses: derivatives, constants, minibatches, and runs of them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from conftest import numpy_of
from o2nc.lab.objectives import losses, objective, of_kind
from o2nc.lab.paper.methods import METHODS
from o2nc.lab.paper.numbers import certify
from o2nc.lab.runner.paired import play

every = pytest.mark.parametrize("f", [entry.make() for entry in of_kind("data").values()], ids=lambda f: f.name)
like = np.zeros(1)


def points(f, n, seed=0, scales=(0.01, 0.3, 1.0, 5.0)):
    """Points around the start, near and far."""
    rng = np.random.default_rng(seed)
    return np.concatenate([f.start(like) + scale * rng.normal(size=(n, f.d)) for scale in scales])


def literal(f, x):
    """f(x) as its docstring writes it, row by row."""
    if f.name == "dictionary":
        n, p = f.A.shape
        U, V = np.tanh(x[: 4 * n]).reshape(n, 4), np.tanh(x[4 * n :]).reshape(p, 4)
        R = U @ V.T - f.A
        return np.mean(R**2 / (2 * (1 + R**2)))
    total = 0.0
    for a, b in zip(f.A, f.b, strict=True):
        u = b * a @ x if f.name != "network" else 4 * b * sum(
            (-1) ** j / math.sqrt(8) * math.tanh(a @ w) for j, w in enumerate(x.reshape(8, -1))
        )  # fmt: skip
        total += (1 / (1 + math.exp(u))) ** (2 if f.name == "savage" else 1)
    return total / len(f.b)


@every
def test_the_value_is_the_definition(f):
    for x in points(f, 1):
        np.testing.assert_allclose(f.gap(x), [literal(f, x)], rtol=1e-12)
    assert f.f_star == 0
    assert type(objective(f.name)) is type(f)


@every
def test_the_gradient_is_that_of_differences_and_of_automatic_differentiation(f):
    x = points(f, 2)
    v = np.random.default_rng(1).normal(size=x.shape)
    slope = (f.gap(x + 1e-5 * v) - f.gap(x - 1e-5 * v))[:, 0] / 2e-5
    np.testing.assert_allclose(slope, np.sum(f.gradient(x) * v, axis=1), rtol=1e-5, atol=1e-8)
    t = torch.asarray(x).requires_grad_()
    (by_torch,) = torch.autograd.grad(f.gap(t).sum(), t)
    by_jax = jax.vmap(jax.grad(lambda one: f.gap(one)[0]))(jnp.asarray(x))
    np.testing.assert_allclose(by_torch.numpy(), f.gradient(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.asarray(by_jax), f.gradient(x), rtol=1e-9, atol=1e-12)


@every
def test_every_library_gives_the_same_numbers(f, xp):
    x = points(f, 1)
    gap, gradient = xp.transform(f.gap_and_gradient)(xp.array(x))
    np.testing.assert_allclose(numpy_of(gap), f.gap(x), rtol=1e-12)
    np.testing.assert_allclose(numpy_of(gradient), f.gradient(x), rtol=1e-11, atol=1e-13)


@every
def test_range_gradient_and_smoothness_are_bounded(f):
    x = points(f, 40)
    rng = np.random.default_rng(2)
    y = x + rng.normal(size=x.shape) * 10 ** rng.uniform(-4, 0.5, size=(len(x), 1))
    gap, g = f.gap_and_gradient(np.stack([x, y]))
    assert 0 <= gap.min() <= gap.max() <= f.M
    assert np.linalg.norm(g, axis=-1).max() <= f.gradient_sup
    assert np.all(np.linalg.norm(g[1] - g[0], axis=-1) <= f.beta * np.linalg.norm(y - x, axis=-1) * (1 + 1e-9))
    assert f.noise_sup + f.gradient_sup >= f.S


def curved(f):
    """Points where f is strongly curved, and what part of beta is found at one of them."""
    start = f.start(like)
    if f.name == "dictionary":  # no codes, and atoms near 1
        codes = 4 * len(f.A)
        return [np.concatenate([np.zeros(codes), np.full(f.d - codes, 3.0)])], 0.45
    if f.name == "network":  # all units along a principal direction of the data, whose sign nobody knows
        units = np.outer([1.0, -1.0] * 4, np.linalg.svd(f.A)[2][3]).ravel()
        return [0.1 * units, -0.1 * units], 0.6
    g = f.gradient(start)
    return [start - 0.25 * g / np.linalg.norm(g)], 0.6


@every
def test_beta_is_not_far_from_what_is_found(f):
    """The largest curvature by power iterations on differences of gradients."""
    found, (points, least) = 0.0, curved(f)
    for x in points:
        v = np.random.default_rng(3).normal(size=f.d)
        for _ in range(40):
            v = v / np.linalg.norm(v)
            v, last = (f.gradient(x + 1e-5 * v) - f.gradient(x - 1e-5 * v)) / 2e-5, v
        found = max(found, abs(v @ last))
    assert least * f.beta <= found <= f.beta * (1 + 1e-6)


@every
def test_the_witness_bends_down_and_the_projector_is_one(f):
    point, direction = map(np.asarray, f.witness())
    assert np.linalg.norm(direction) == pytest.approx(1)
    assert (f.gradient(point + 1e-4 * direction) - f.gradient(point - 1e-4 * direction)) @ direction < -1e-9
    P = f.projector(like) @ np.eye(f.d)
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert 0 < np.trace(P) < f.d


@every
def test_a_minibatch_is_unbiased_and_its_variance_is_below_sigma(f):
    """Exactly, from the gradients of all rows."""
    n = len(f.A)
    for x in points(f, 1):
        rows = np.stack([f.weighted(x, np.eye(n)[i])[1] for i in range(n)])
        g = f.gradient(x)
        np.testing.assert_allclose(rows.mean(axis=0), g, rtol=0, atol=1e-14)
        assert np.linalg.norm(rows, axis=1).max() <= f.row_sup
        assert np.mean(np.sum((rows - g) ** 2, axis=1)) / f.batch <= f.sigma**2
        counts = np.random.default_rng(4).multinomial(f.batch, np.full(n, 1 / n))
        s = f.sample(x, g, counts / f.batch)
        np.testing.assert_allclose(s, counts @ rows / f.batch, rtol=0, atol=1e-14)


@every
def test_the_rows_of_a_minibatch_are_uniform(f):
    n = len(f.A)
    drawn = f.draw(0, range(4), 0, 500, like)
    assert drawn.shape == (500, 4, n)
    np.testing.assert_allclose(drawn.sum(axis=-1), 1, rtol=1e-12)
    counts = np.round(drawn * f.batch)
    np.testing.assert_allclose(drawn * f.batch, counts, atol=1e-12)
    expected = 2000 * f.batch / n
    assert np.max(np.abs(counts.sum(axis=(0, 1)) - expected)) < 5 * math.sqrt(expected)
    np.testing.assert_array_equal(f.draw(0, [2], 490, 5, like)[:, 0], drawn[490:495, 2])


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@every
def test_a_run_is_a_plain_loop_and_measures_its_noise(f, backend):
    T, R = 12, 2
    record = play(f, [METHODS["sgd"]], range(R), T, block=5, backend=backend)["sgd"]
    x, eta, noise = f.start(like) + np.zeros((R, f.d)), f.constants(20000).eta, np.zeros(R)
    for t, weights in enumerate(f.draw(0, range(R), 0, T, like)):
        gap, g = f.gap_and_gradient(x)
        np.testing.assert_allclose(record.mean["gap"][t], gap.mean(), rtol=1e-10)
        s = f.weighted(x, weights)[1]
        noise += np.sum((s - g) ** 2, axis=-1)
        x = x - eta * s
    np.testing.assert_allclose(record.sums["noise"], noise, rtol=1e-8)


def test_the_certificate_of_a_run_on_real_data_holds():
    records = play(objective("sigmoid"), [METHODS["identity"], METHODS["sharp_identity"]], range(8), 300)
    for name, record in records.items():
        found = certify(METHODS[name], "sigmoid", record, 300)
        assert found["tight"]["bound"] >= float(record.mean["average"][-1])
        assert found["noise_variance"]["measured"] <= found["noise_variance"]["declared"]


def test_slopes_and_curvatures_of_the_losses():
    u = np.linspace(-30, 30, 600_001)
    for loss, slope, curvature in (
        (losses.sigmoid, losses.SIGMOID_SLOPE, losses.SIGMOID_CURVATURE),
        (losses.savage, losses.SAVAGE_SLOPE, losses.SAVAGE_CURVATURE),
    ):
        value, derivative = loss(u)
        assert 0 <= value.min() <= value.max() <= 1
        np.testing.assert_allclose(np.diff(value) / np.diff(u), (derivative[1:] + derivative[:-1]) / 2, atol=1e-8)
        assert np.max(np.abs(derivative)) == pytest.approx(slope, rel=1e-8)
        assert np.max(np.abs(np.diff(derivative) / np.diff(u))) == pytest.approx(curvature, rel=1e-6)
