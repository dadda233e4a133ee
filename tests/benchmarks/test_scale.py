"""The benchmark of a million coordinates at some thousands: what it counts, and that memory is linear in d."""

import jax
import numpy as np
import pytest
import scale

from o2nc import _xp


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", scale.ORACLES)
def test_memory_is_linear_on_numpy(name):
    found = [scale.on_numpy(scale.ORACLES[name], d) for d in (64_000, 128_000, 256_000)]
    kept, peaks = (np.asarray([row[k] for row in found]) for k in (1, 2))
    np.testing.assert_allclose(kept[1:] / kept[:-1], 2, rtol=0.05)
    np.testing.assert_allclose(peaks[1:] / peaks[:-1], 2, rtol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("name", scale.ORACLES)
def test_memory_is_linear_on_jax(name, x64):
    found = [scale.on_jax(scale.ORACLES[name], d) for d in (16_000, 32_000)]
    assert found[1][1] / found[0][1] == pytest.approx(2, rel=0.05)
    assert found[1][2] / found[0][2] == pytest.approx(2, rel=0.15)
    found[0][0]()  # a round is taken, and then another with the state that it left
    found[0][0]()


def test_both_libraries_take_the_same_round(x64):
    """Of the Kronecker factor, from the same state."""
    d, rng = 64, np.random.default_rng(0)
    conversion = scale.conversion(scale.ORACLES["a Kronecker factor of 16 x 16, `LeftLeastSquares((16, d / 16))`"], d)
    one, two = np.ones(d), jax.numpy.ones(d)
    first, second = conversion.init(one), conversion.init(two)
    for _ in range(4):
        s = scale.sample(one, rng)
        dx, first = conversion.update(s, first)
        dy, second = jax.jit(conversion.update)(jax.numpy.asarray(s), second)
        np.testing.assert_allclose(_xp.to_numpy(dy), dx, rtol=0, atol=1e-12)
        one = one + dx


def test_exponents(monkeypatch):
    monkeypatch.setattr(scale, "SIZES", (10, 100, 1000))
    assert scale.exponent([3.0, 30.0, 300.0]) == pytest.approx(1)
    assert scale.exponent([1.0, 100.0, 10000.0]) == pytest.approx(2)
