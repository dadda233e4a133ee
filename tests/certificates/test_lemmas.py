"""The lemmas of Appendices A and B that need no run."""

import math

import numpy as np
import pytest

from o2nc.certificates import gradient_bound, gradient_bound_sharp, projection, smoothness, young


def cosine(x):
    """1 - cos x and its derivative: beta = 1, M = 2."""
    return 1 - math.cos(x), math.sin(x)


def wave(x):
    """A function whose derivative is a triangle wave of slope 1 between -1 and 1: beta = 1, M = 1."""
    u = (x + 1) % 4 - 1
    return (u**2 / 2, u) if u <= 1 else (1 - (u - 2) ** 2 / 2, 2 - u)


def test_smoothness_holds_and_is_an_equality_where_the_curvature_is_beta():
    rng = np.random.default_rng(0)
    for objective in (cosine, wave):
        for x, y in rng.uniform(-6, 6, (1000, 2)).tolist():
            f, slope = objective(x)
            assert objective(y)[0] <= smoothness(f, slope * (y - x), 1.0, (y - x) ** 2) + 1e-12
    assert wave(-0.5)[0] == smoothness(0.5, -1.5, 1.0, 2.25) == 0.125  # the wave from 1 to -1/2


def test_the_gradient_bound_is_loose_by_the_root_of_two():
    """The wave has the steepest gradient that its range allows, sqrt(M beta): 71% of the paper's bound."""
    values, slopes = zip(*(wave(k / 100) for k in range(-400, 401)), strict=True)
    assert max(values) - min(values) == 1
    assert max(slopes) / gradient_bound(1.0, 1.0) == pytest.approx(0.5**0.5)
    assert max(slopes) / gradient_bound_sharp(1.0, 1.0) == 1
    assert cosine(math.pi / 2)[1] <= gradient_bound_sharp(2.0, 1.0)


def test_projection_onto_the_ball():
    """An equality inside, 99.9% for a point just outside, seen from afar."""
    rng = np.random.default_rng(0)
    onto = lambda z: z / max(1.0, float(np.linalg.norm(z)))
    for _ in range(500):
        z, y = rng.normal(size=(2, 3)) * 2
        y = onto(y)
        assert np.linalg.norm(onto(z) - y) <= projection(z, y) + 1e-12
    assert np.linalg.norm(onto(0.9 * y) - y) == projection(0.9 * y, y)
    z, y = np.array([1.001, 0.0]), np.array([-1.0, 0.0])
    assert 0.999 < np.linalg.norm(onto(z) - y) / projection(z, y) < 1


def test_young_on_vectors():
    rng = np.random.default_rng(0)
    for a in (0.001, 0.1, 0.5, 1.0):
        for scale in (a / 4, a, 4 * a):
            e, delta = rng.normal(size=(2, 4)) * [[1.0], [scale]]
            square = lambda v: float(v @ v)
            assert square((1 - a) * e - delta) <= young(a, square(e), square(delta))
    e = np.array([3.0, 4.0])
    delta = -0.001 / 4 * e
    assert 0.998 < square((1 - 0.001) * e - delta) / young(0.001, square(e), square(delta)) <= 1
