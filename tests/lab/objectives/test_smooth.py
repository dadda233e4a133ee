"""What every smooth objective of the registry must be: a new one joins by its line of registration."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import numpy_of
from o2nc.lab.objectives import objective, of_kind, registry
from o2nc.lab.runner import noise
from o2nc.registry import Registry

every = pytest.mark.parametrize("f", [entry.make() for entry in of_kind("smooth").values()], ids=lambda f: f.name)
like = np.zeros(1)


def points(f, *shape, seed=0, scale=1.0):
    """Points around the start."""
    return f.start(like) + np.random.default_rng(seed).normal(size=(*shape, f.d), scale=scale)


@every
def test_the_registry_has_it_under_its_name(f):
    assert registry[f.name].facts["kind"] == "smooth"
    assert isinstance(registry, Registry)
    assert registry[f.name].words
    assert type(objective(f.name)) is type(f)


@every
def test_gradient_is_the_central_difference(f):
    x, h = points(f, 5), 1e-5
    step = h * np.eye(f.d)
    difference = (f.gap(x[:, None, :] + step) - f.gap(x[:, None, :] - step))[..., 0] / (2 * h)
    np.testing.assert_allclose(f.gradient(x), difference, rtol=1e-6, atol=2e-6)
    np.testing.assert_array_equal(f.value(x), f.gap(x) + f.f_star)


@every
@pytest.mark.parametrize("scale", [1e-3, 1.0, 4.0])
def test_gradient_is_the_automatic_derivative(f, scale):
    x = points(f, 6, scale=scale)
    t = torch.asarray(x).requires_grad_()
    (by_torch,) = torch.autograd.grad(f.gap(t).sum(), t)
    by_jax = jax.jit(jax.vmap(jax.grad(lambda one: f.gap(one)[0])))(jnp.asarray(x))
    expected = f.gradient(x)
    np.testing.assert_allclose(by_torch.numpy(), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.asarray(by_jax), expected, rtol=1e-9, atol=1e-10)


@every
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-6, 100), length=st.floats(1e-6, 10))
def test_range_gradient_and_smoothness_are_bounded(f, seed, scale, length):
    x = points(f, seed=seed, scale=scale)
    y = x + length * np.random.default_rng(seed + 1).normal(size=f.d)
    gap, gradient = f.gap_and_gradient(np.stack([x, y]))
    assert np.all(gap >= 0)
    assert np.all(gap <= f.M)
    assert np.all(np.linalg.norm(gradient, axis=-1) <= f.gradient_sup)
    assert np.linalg.norm(gradient[1] - gradient[0]) <= f.beta * np.linalg.norm(y - x) * (1 + 1e-9)
    assert f.gradient_sup + f.noise_sup == f.S


@every
def test_it_is_not_convex_at_its_witness(f):
    point, direction = map(np.asarray, f.witness())
    assert np.linalg.norm(direction) == pytest.approx(1)
    h = 1e-4
    assert (f.gradient(point + h * direction) - f.gradient(point - h * direction)) @ direction < 0


@every
def test_every_library_gives_the_same_numbers(f, xp):
    x = np.concatenate([points(f, 4, scale=s) for s in (1e-4, 1.0, 5.0)])
    gap, gradient = xp.transform(f.gap_and_gradient)(xp.array(x))
    assert type(gap) is type(gradient) is type(xp.array(x))
    expected_gap, expected_gradient = f.gap_and_gradient(x)
    np.testing.assert_allclose(numpy_of(gap), expected_gap, rtol=1e-12)
    np.testing.assert_allclose(numpy_of(gradient), expected_gradient, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(numpy_of(f.value(xp.array(x))), expected_gap + f.f_star, rtol=1e-12)
    start = f.start(xp.array([0.0], dtype="float32"))
    assert start.dtype == xp.array([0.0], dtype="float32").dtype
    assert f.gap_and_gradient(start)[1].dtype == start.dtype
    np.testing.assert_array_equal(numpy_of(f.start(xp.array([0.0]))), f.start(like))


@every
def test_a_batch_is_its_rows(f):
    x = points(f, 2, 3)
    gap, gradient = f.gap_and_gradient(x)
    assert gap.shape == (2, 3, 1)
    assert gradient.shape == x.shape
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(gap[i], f.gap(x[i]), rtol=1e-13)
        np.testing.assert_allclose(gradient[i], f.gradient(x[i]), rtol=1e-11, atol=1e-12)


@every
def test_the_projector_is_one(f):
    P = f.projector(like) @ np.eye(f.d)
    np.testing.assert_allclose(P @ P, P, atol=1e-14)
    np.testing.assert_allclose(P, P.T, atol=1e-14)
    assert 0 < np.trace(P) < f.d


@every
def test_noise_has_mean_zero_and_at_most_the_declared_variance(f):
    xi = f.draw(5, range(16), start_round=0, rounds=3000, like=like).reshape(-1, f.d)
    deviation = np.std(xi, axis=0) / math.sqrt(len(xi))
    assert np.all(np.abs(np.mean(xi, axis=0)) <= 5 * deviation + 1e-15)
    square = np.sum(xi**2, axis=-1)
    assert np.all(square <= (f.noise_sup * (1 + 1e-14)) ** 2)
    if f.name == "f3":  # its variance is 9.76, and 10.24 is declared
        assert np.mean(square) <= f.sigma**2
    else:  # the square of the Pareto radius of f7 has a large variance: 5% is what 48000 of them allow
        assert np.mean(square) == pytest.approx(f.sigma**2, rel=0.05 if f.name == "f7" else 1e-12)


@every
def test_noise_is_a_function_of_seed_objective_replication_and_round(f):
    whole = f.draw(7, range(5), start_round=1490, rounds=20, like=like)
    assert whole.shape == (20, 5, f.d)
    np.testing.assert_allclose(f.draw(7, [3], 1498, 4, like)[:, 0], whole[8:12, 3], rtol=1e-14, atol=1e-15)
    assert f.draw(7, [3], 1498, 4, np.zeros(1, dtype=np.float32)).dtype == np.float32
    assert not np.array_equal(f.draw(8, [3], 1498, 4, like)[:, 0], whole[8:12, 3])
    epsilon = noise.signs(7, f.name, range(5), 1490, 20, f.d).astype(np.float64)
    np.testing.assert_array_equal(whole, f.noise(epsilon, 1490 + np.arange(20.0)[:, None, None]))


@every
def test_errors_are_sentences(f):
    shape = rf"must be an array of shape \(\.\.\., {f.d}\) for {f.name}"
    with pytest.raises(ValueError, match=rf"`x` {shape}; got list\."):
        f.gradient([0.0] * f.d)
    with pytest.raises(ValueError, match=rf"`x` {shape}; got shape \(2, {f.d - 1}\)\."):
        f.gap(np.zeros((2, f.d - 1)))
    with pytest.raises(ValueError, match=rf"`epsilon` {shape}; got shape \(\)\."):
        f.noise(np.asarray(1.0), 0.0)


def test_an_unknown_name_is_a_sentence():
    with pytest.raises(
        ValueError, match=r"`objective` must be one of dictionary, f1, .*, f8, network, savage, sigmoid; got 'f9'\."
    ):
        objective("f9")
    with pytest.raises(ValueError, match="`objective` must be one of bowl, capped, ramp, relu, valley; got 'f1'"):
        objective("f1", "nonsmooth")
    with pytest.raises(ValueError, match="`objective` must be one of cancer-logistic, cancer-svm,"):
        objective("f1", "convex")
