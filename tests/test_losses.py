"""The prediction loss is the descent loss of curvature 1/2, and is what its formula says."""

import numpy as np
import pytest

from conftest import numpy_of
from o2nc import Blocks
from o2nc.losses import DescentLoss, PredictionLoss

RNG = np.random.default_rng(0)
S, M, V = RNG.normal(size=(3, 4, 5))


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_prediction_loss_is_its_formula(xp, scale):
    s, m, v = map(xp.array, (S, M, V))
    loss = PredictionLoss(s, m, scale)
    want = scale / 2 * (np.sum((V - S) ** 2, axis=-1) - np.sum(S**2, axis=-1))[:, None]
    np.testing.assert_allclose(numpy_of(loss(v)), want, rtol=1e-12)
    product, square = np.sum(S * V, axis=-1)[:, None], np.sum(V**2, axis=-1)[:, None]
    np.testing.assert_allclose(numpy_of(loss.at(xp.array(product), xp.array(square))), want, rtol=1e-12)
    np.testing.assert_allclose(numpy_of(loss.gradient(v)), scale * (V - S), rtol=1e-12)


def test_it_is_the_descent_loss_of_curvature_one_half():
    loss, same = PredictionLoss(S, M, 0.5), DescentLoss(S, M, 0.5, 0.5)
    assert type(loss) is type(same)
    np.testing.assert_array_equal(loss(V), same(V))
    np.testing.assert_array_equal(loss.gradient(V), same.gradient(V))


def test_parts_add_up_and_blocks_are_the_array():
    loss = PredictionLoss(S[0], M[0], 2.0)
    parts = [loss.restricted(part)(part(V[0])) for part in (lambda v: v[:2], lambda v: v[2:])]
    np.testing.assert_allclose(sum(parts), loss(V[0]), rtol=1e-12)
    cut = lambda v: Blocks((v[:4].reshape(2, 2), v[4:]))
    blocks = PredictionLoss(cut(S[0]), cut(M[0]), 2.0)
    np.testing.assert_allclose(blocks(cut(V[0])), loss(V[0]), rtol=1e-12)


def test_no_operator_loses_less_than_the_one_that_predicts():
    loss = PredictionLoss(S, M)
    least = -0.5 * np.sum(S**2, axis=-1, keepdims=True)
    np.testing.assert_allclose(loss(S), least, rtol=1e-12)
    assert np.all(loss(V) > least)
