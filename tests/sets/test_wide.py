"""Boxes of any size: as boxes, but beyond contractions."""

import math

import numpy as np
import pytest

from o2nc.oracles import FTRL, OGD, BinaryEntropic
from o2nc.sets import BlockBox, Box, PositiveContractions, SpectralBall, WideBlockBox, WideBox, WideSpectral
from o2nc.testing import check_operator
from sentences import check

X = np.zeros(3)


def test_within_contractions_they_are_the_boxes():
    g = np.asarray([2.0, -1.0, 0.3])
    for wide, narrow in (
        (WideBox(-0.5, 1.0), Box(-0.5, 1.0)),
        (WideBlockBox(-0.5, 1.0, ((2,), (1,))), BlockBox(-0.5, 1.0, ((2,), (1,)))),
    ):
        u = g[: len(narrow.start(X))]
        for name in ("project", "minimize"):
            np.testing.assert_array_equal(getattr(wide, name)(u), getattr(narrow, name)(u))
        np.testing.assert_array_equal(wide.start(X), narrow.start(X))
        assert (wide.diameter(X), wide.holds_identity) == (narrow.diameter(X), narrow.holds_identity)


def test_matrices_of_any_size():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 3, 3))
    A = A + A.swapaxes(-1, -2)
    for (low, high), narrow in (((-1.0, 1.0), SpectralBall()), ((0.0, 1.0), PositiveContractions())):
        wide = WideSpectral(low, high)
        for name in ("project", "minimize"):
            np.testing.assert_array_equal(getattr(wide, name)(A), getattr(narrow, name)(A))
        np.testing.assert_array_equal(wide.start(X), narrow.start(X))
        assert wide.diameter(X) == narrow.diameter(X)
    double = WideSpectral(-2.0, 2.0)
    np.testing.assert_allclose(double.project(A), 2 * SpectralBall().project(A / 2), atol=1e-12)
    np.testing.assert_allclose(double.minimize(A), 2 * SpectralBall().minimize(A), atol=1e-12)
    above = WideSpectral(2.0, 3.0)
    assert above.identity(X) is None
    np.testing.assert_array_equal(above.start(X), 2 * np.eye(3))
    np.testing.assert_allclose(above.minimize(np.zeros((3, 3))), 2 * np.eye(3), atol=1e-12)


def test_beyond_contractions():
    S = WideBox(-2.0, 3.0)
    np.testing.assert_array_equal(S.project(np.asarray([-5.0, 0.5, 5.0])), [-2.0, 0.5, 3.0])
    np.testing.assert_array_equal(S.start(X), np.ones(3))
    assert S.holds_identity
    assert S.diameter(X) == pytest.approx(5 * math.sqrt(3))
    check_operator(S.operator(np.full(3, 3.0)), X, contraction=False)
    with pytest.raises(AssertionError, match="must be a contraction"):
        check_operator(S.operator(np.full(3, 3.0)), X)


def test_the_identity_may_be_outside():
    S = WideBox(2.0, 3.0)
    assert S.identity(X) is None
    assert not S.holds_identity
    np.testing.assert_array_equal(S.start(X), np.full(3, 2.0))
    assert OGD(S).regret_bound(X, 1.0) == math.inf


WRONG = {
    "infinite": (lambda: WideBox(0.0, math.inf), ValueError, "`WideBox(high=...)`", "a finite number; got inf"),
    "nan": (lambda: WideBlockBox(math.nan, 1.0), ValueError, "`WideBlockBox(low=...)`", "got nan"),
    "upside down": (lambda: WideBox(3.0, 2.0), ValueError, "`WideBox(low=...)`", "not exceed `high`; got 3.0 > 2.0"),
    "matrices": (lambda: WideSpectral(0.0, None), ValueError, "`WideSpectral(high=...)`", "a finite number; got None"),
    "binary entropy": (lambda: FTRL(WideBox(), 0.1, BinaryEntropic()), TypeError, "`set`", "high <= 1", "WideBox"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(*WRONG[name])
