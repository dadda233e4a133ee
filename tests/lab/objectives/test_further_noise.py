"""The noise of the four objectives that are not the paper's: heavy tails, and a subspace that changes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from conftest import numpy_of
from o2nc.lab.objectives import objective
from o2nc.lab.runner import noise

MORE_OBJECTIVES = {name: objective(name) for name in ("f5", "f6", "f7", "f8")}
every = pytest.mark.parametrize("f", MORE_OBJECTIVES.values(), ids=list(MORE_OBJECTIVES))
like = np.zeros(1)


@every
def test_noise_on_every_library(f, xp):
    epsilon = noise.signs(0, f.name, range(4), start_round=0, rounds=50, d=f.d).astype(np.float64)
    t = 1480.0 + np.arange(50.0)[:, None, None]
    xi, expected = xp.transform(f.noise)(xp.array(epsilon), xp.array(t)), f.noise(epsilon, t)
    np.testing.assert_allclose(numpy_of(xi), expected, rtol=1e-14, atol=1e-14)
    P = f.projector(xp.array([0.0]))
    quiet = numpy_of(P @ xi)
    np.testing.assert_allclose(quiet[:20] if f.name == "f8" else quiet, 0.0, atol=1e-14)
    norms = np.linalg.norm(expected, axis=-1)
    assert np.all(norms <= f.noise_sup * (1 + 1e-14))
    if f.name != "f7":
        np.testing.assert_allclose(norms, f.sigma)


def test_mean_zero_is_exact():
    # The noise is odd in the signs that it multiplies, given those of the radius.
    for f in MORE_OBJECTIVES.values():
        epsilon = noise.signs(1, f.name, [0], 0, 10, f.d)[:, 0].astype(np.float64)
        flipped = -epsilon
        if f.name == "f7":
            flipped[:, :24] = epsilon[:, :24]
        np.testing.assert_array_equal(f.noise(epsilon, 0), -f.noise(flipped, 0))


def test_variance_of_the_pareto_radius():
    # The 2^23 midpoints, all of them: below 3, the integral of a convex function, and near it.
    u = (np.arange(2**23) + 0.5) / 2**23
    second = math.fsum(np.sum((u ** (-2 / 3)).reshape(2**10, -1), axis=-1)) / 2**23
    assert second < 3
    # The first term of the Euler-Maclaurin series is (2^(2/3) - 1) zeta(2/3) 2^(-23/3).
    assert second == pytest.approx(3 + (2 ** (2 / 3) - 1) * -2.4475807362336582 * 2 ** (-23 / 3), rel=1e-6)
    assert second == pytest.approx(3 * (1 - 0.0024), rel=1e-4)
    f = MORE_OBJECTIVES["f7"]
    assert f.sigma**2 * second / 3 <= f.sigma**2 == pytest.approx(0.2**2 * 24 * 3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_radius_is_exact_in_both_precisions(xp, dtype):
    f = MORE_OBJECTIVES["f7"]
    epsilon = noise.signs(2, "f7", range(4), 0, 500, f.d).astype(np.float64)
    epsilon[0, 0], epsilon[0, 1] = -1.0, 1.0  # the longest and the shortest radius
    bits = (epsilon[..., :23] > 0) @ 2.0 ** np.arange(22, -1, -1)
    expected = ((bits + 0.5) / 2**23) ** (-1 / 3)
    rho = numpy_of(f.radius(xp.array(epsilon, dtype)))[..., 0]
    assert rho.dtype == dtype
    np.testing.assert_allclose(rho, expected, rtol=1e-14 if dtype == "float64" else 1e-6)
    assert expected[0, 0] == pytest.approx(256)


def test_tail_of_the_radius():
    f = MORE_OBJECTIVES["f7"]
    epsilon = noise.signs(3, "f7", range(100), 0, 2000, f.d)
    rho = f.radius(epsilon.astype(np.float64))
    for s in (1.5, 2.0, 4.0, 10.0):
        p = s**-3.0
        assert np.mean(rho > s) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / rho.size))
    assert abs(np.corrcoef(rho.ravel(), epsilon[..., 30].ravel())[0, 1]) < 5 / math.sqrt(rho.size)


def test_noise_changes_half_way():
    f = MORE_OBJECTIVES["f8"]
    xi = f.draw(0, range(3), start_round=1495, rounds=10, like=like)
    assert not xi[:5, :, :32].any()
    assert np.all(np.abs(xi[:5, :, 32:]) == 0.4)
    assert np.all(np.abs(xi[5:, :, :32]) == 0.4)
    assert not xi[5:, :, 32:].any()
    P = f.projector(like)
    np.testing.assert_array_equal(P @ xi[:5], 0)
    np.testing.assert_array_equal(P @ xi[5:], xi[5:])
    later = replace(f, change=1500 + 3).draw(0, range(3), start_round=1495, rounds=10, like=like)
    np.testing.assert_array_equal(later[8:], xi[8:])
    assert not later[:8, :, :32].any()
    np.testing.assert_array_equal(f.noise(np.ones(64), 1499), [0.0] * 32 + [0.4] * 32)


def test_noise_that_changes_wants_the_round():
    with pytest.raises(
        ValueError, match=r"`t` must be given to the noise of f8, which depends on the round; got None\."
    ):
        MORE_OBJECTIVES["f8"].noise(np.zeros(64))
