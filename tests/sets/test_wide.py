"""Boxes of any size: as boxes, but beyond contractions."""

import math

import numpy as np
import pytest

from o2nc.oracles import FTRL, OGD, BinaryEntropic
from o2nc.sets import BlockBox, Box, WideBlockBox, WideBox
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
    "binary entropy": (lambda: FTRL(WideBox(), 0.1, BinaryEntropic()), TypeError, "`set`", "high <= 1", "WideBox"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    check(*WRONG[name])
