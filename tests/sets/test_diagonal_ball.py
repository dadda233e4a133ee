"""Diagonal operators in a ball: closed forms, arrays and Blocks, and what is refused."""

import numpy as np
import pytest

from o2nc import Blocks
from o2nc.sets import DiagonalBall

U = np.random.default_rng(0).normal(size=(20, 4)) * np.geomspace(0.01, 10, 20)[:, None]
NORMS = np.linalg.norm(U, axis=-1, keepdims=True)


def test_projection_and_minimiser():
    S = DiagonalBall(0.7)
    np.testing.assert_allclose(S.project(U), np.where(NORMS > 0.7, 0.7 * U / NORMS, U), rtol=1e-15, atol=0)
    np.testing.assert_allclose(S.minimize(U), -0.7 * U / NORMS, rtol=1e-15, atol=0)
    np.testing.assert_array_equal(S.minimize(np.zeros(4)), np.zeros(4))
    np.testing.assert_array_equal(S.start(U), np.zeros_like(U))
    assert S.diameter(U) == 1.4


def test_blocks_are_one_vector():
    S, u = DiagonalBall(), Blocks((U[-1, :2].reshape(2, 1), U[-1, 2:]))
    for method in ("project", "minimize"):
        found = getattr(S, method)(u)
        np.testing.assert_allclose(np.concatenate([a.ravel() for a in found.arrays]), getattr(S, method)(U[-1]))


def test_only_small_balls_are_of_contractions():
    assert not DiagonalBall(1.0).any_size
    assert DiagonalBall(1.1).any_size
    assert not DiagonalBall(5.0).holds_identity


@pytest.mark.parametrize(
    ("radius", "error"), [(0.0, ValueError), (-1.0, ValueError), (np.inf, ValueError), ("1", TypeError)]
)
def test_a_radius_that_is_none(radius, error):
    with pytest.raises(error, match=r"`DiagonalBall\(radius=...\)` must be"):
        DiagonalBall(radius)
