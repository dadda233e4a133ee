"""Muon's direction: the float32 iteration against the exact factor and against a scalar loop, blocks, fallback."""

import numpy as np
import pytest

from conftest import BACKENDS, numpy_of
from o2nc import Blocks
from o2nc.directions import Adam, Polar, Sign
from o2nc.operators import newton_schulz, polar
from o2nc.vectors import mat, vec

RNG = np.random.default_rng(3)
JITTED = [backend for backend in BACKENDS if backend.name != "jax"]  # JAX is compiled here: its eager mode is slow
SHAPES = [(3, 5), (5, 3), (4, 4), (1, 6), (6, 1), (2, 3, 5)]


@pytest.fixture(params=JITTED, ids=repr)
def xp(request):
    return request.param


def with_singular_values(values, *shape):
    """Random matrices of the shape with these singular values, and their polar factors."""
    U, _, Vh = np.linalg.svd(RNG.normal(size=shape), full_matrices=False)
    return (U * values) @ Vh, U @ Vh


def scalar_iteration(value, steps):
    for _ in range(steps):
        value = 3.4445 * value - 4.775 * value**3 + 2.0315 * value**5
    return value


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_newton_schulz_is_near_the_polar_factor(xp, shape, dtype):
    """Well conditioned, 0.2 to 1: within 0.32 in operator norm, since its factors end between 0.68 and 1.14."""
    values = RNG.uniform(0.2, 1.0, size=min(shape[-2:]))
    A, exact = with_singular_values(values, *shape)
    Z = xp.transform(newton_schulz)(xp.array(100 * A, dtype))
    assert Z.dtype == xp.array(A, dtype).dtype
    assert np.max(np.linalg.norm(numpy_of(Z) - exact, 2, axis=(-2, -1))) <= 0.32


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_newton_schulz_acts_on_the_singular_values_alone(xp, steps):
    values = np.asarray([1.0, 0.3, 0.004, 0.0])
    A, _ = with_singular_values(values, 4, 6)
    U, _, Vh = np.linalg.svd(A, full_matrices=False)
    expected = U * scalar_iteration(values / np.linalg.norm(values), steps) @ Vh
    Z = xp.transform(lambda A: newton_schulz(A, steps))(xp.array(A))
    np.testing.assert_allclose(numpy_of(Z), expected, rtol=0, atol=2e-4)


def test_zero_singular_values_are_masked():
    A, _ = with_singular_values(np.asarray([1.0, 0.5, 0.0, 0.0]), 4, 4)
    kernel = np.eye(4) - polar(A).T @ polar(A)
    assert np.linalg.norm(newton_schulz(A) @ kernel, 2) < 2e-4  # the rounding of float32 times 3.4445^5
    for steps in (None, 5):
        zero = Blocks((np.zeros((3, 2)),))
        d = Polar(steps=steps).direction(Polar().init(zero), zero)
        np.testing.assert_array_equal(d.arrays[0], np.zeros((3, 2)))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e150])
def test_the_size_of_the_matrix_does_not_enter(scale):
    A, _ = with_singular_values(np.asarray([1.0, 0.5]), 3, 2)
    np.testing.assert_allclose(newton_schulz(scale * A), newton_schulz(A), rtol=0, atol=2e-6)


@pytest.mark.parametrize("steps", [None, 5])
@pytest.mark.parametrize("rank", [1, 3])
def test_every_matrix_has_a_root_mean_square_of_a_fifth(xp, steps, rank):
    X = RNG.normal(size=(4, rank)) @ RNG.normal(size=(rank, 3))
    K, b = RNG.normal(size=(2, 3, 2)), RNG.normal(size=5)
    m = Blocks(tuple(xp.array(v) for v in (X, 7 * K, b)))
    expert = Polar(steps=steps)
    d = xp.transform(expert.direction)(expert.init(m), m)
    for got in d.arrays[:2]:
        assert np.sqrt(np.mean(numpy_of(got) ** 2)) == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize("steps", [None, 5])
def test_a_batch_of_vectors_is_one_vector_at_a_time(xp, steps):
    shapes = [(3, 2), (4,)]
    x = RNG.normal(size=(2, 3, 10))
    expert = Polar(shapes=shapes, steps=steps)
    rows = numpy_of(xp.transform(expert.direction)(expert.init(xp.array(x)), xp.array(x)))
    for i in np.ndindex(2, 3):
        m = Blocks((mat(x[i][:6], 3, 2), x[i][6:]))
        matrix = Polar(steps=steps).direction(Polar().init(m), m).arrays[0]
        np.testing.assert_allclose(rows[i][:6], vec(matrix), rtol=0, atol=1e-12 if steps is None else 1e-5)


def test_blocks_that_are_no_matrices_take_the_fallback(xp):
    b, c, X = xp.array(RNG.normal(size=4)), xp.array(2.5), xp.array(RNG.normal(size=(2, 2)))
    m = Blocks((b, c, X))
    for fallback in (Sign(), Adam()):

        def both(m, fallback=fallback):
            state = fallback.learn(fallback.init(m), m)
            return Polar(fallback=fallback).direction(state, m), fallback.direction(state, m)

        d, other = xp.transform(both)(m)
        for k in (0, 1):
            np.testing.assert_array_equal(numpy_of(d.arrays[k]), numpy_of(other.arrays[k]))
        assert not np.allclose(numpy_of(d.arrays[2]), numpy_of(other.arrays[2]))
    flat = Polar(shapes=[(4,)], fallback=Sign())
    np.testing.assert_array_equal(
        numpy_of(flat.direction(flat.init(b), b)), numpy_of(Sign().direction(Sign().init(b), b))
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"shapes": [3, 4]}, r"`Polar\(shapes=...\)` must be a sequence of shapes \(n,\) or \(p, q\); got \[3, 4\]"),
        (
            {"shapes": [(2, 2, 2)]},
            r"`Polar\(shapes=...\)` must be a sequence of shapes \(n,\) or \(p, q\); got \[\(2, 2",
        ),
        ({"steps": 0}, r"`Polar\(steps=...\)` must be None or a whole number of at least 1; got 0"),
        ({"steps": 2.5}, r"`Polar\(steps=...\)` must be None or a whole number of at least 1; got 2.5"),
        ({"fallback": "adam"}, r"`Polar\(fallback=...\)` must be a direction; got 'adam'"),
    ],
)
def test_wrong_arguments_are_sentences(arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        Polar(**arguments)


def test_on_blocks_and_on_an_array(xp):
    X, b = RNG.normal(size=(3, 2)), RNG.normal(size=4)
    U, _, Vh = np.linalg.svd(X, full_matrices=False)
    expected = 0.2 * U @ Vh * np.sqrt(6 / 2)
    m, s = (Blocks((xp.array(X), xp.array(v))) for v in (b, b**2))
    exact = Polar(steps=None)
    d = exact.direction(exact.learn(exact.init(m), s), m)
    np.testing.assert_allclose(numpy_of(d.arrays[0]), expected, rtol=0, atol=1e-12)
    adam = Adam().direction(Adam().learn(Adam().init(m), s), m)
    np.testing.assert_allclose(numpy_of(d.arrays[1]), numpy_of(adam.arrays[1]), rtol=0, atol=1e-14)
    flat = Polar(shapes=[(3, 2), (4,)], steps=None)
    x = xp.array(np.stack([np.concatenate([vec(X), b])] * 2))  # a batch of two
    row = numpy_of(flat.direction(flat.init(x), x))[1]
    np.testing.assert_allclose(mat(row[:6], 3, 2), expected, rtol=0, atol=1e-12)


def test_a_convolution_is_the_matrix_of_its_first_axis():
    K = RNG.normal(size=(4, 3, 2, 2))
    direction = lambda v: Polar().direction(Polar().init(Blocks((v,))), Blocks((v,))).arrays[0]
    np.testing.assert_allclose(direction(K), direction(K.reshape(4, 12)).reshape(K.shape), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"`Polar\(shapes=...\)` must be given"):
        Polar().init(np.ones(3))


def test_a_block_may_be_no_matrix_though_it_has_two_axes():
    """An embedding: it takes the fallback."""
    X = RNG.normal(size=(3, 2))
    m, polar_of_one = Blocks((X, X)), Polar(matrices=[False, True])
    d = polar_of_one.direction(polar_of_one.init(m), m)
    np.testing.assert_array_equal(d.arrays[0], Adam().direction(Adam().init(m), m).arrays[0])
    np.testing.assert_array_equal(d.arrays[1], Polar().direction(Polar().init(m), m).arrays[1])
    assert [expert.name for expert in polar_of_one.on(m)] == ["adam", "polar"]


def test_shapes_must_fill_the_vector():
    expert = Polar(shapes=[(3, 2)])
    with pytest.raises(ValueError, match="must be \\(n,\\) or \\(p, q\\) and fill the 5 entries"):
        expert.direction(expert.init(np.ones(5)), np.ones(5))
