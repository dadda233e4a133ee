"""States as plain data."""

import numpy as np
import pytest

from contracts import MASK, NUMPY, D, cut
from o2nc import Smooth, SmoothConversion
from o2nc.operators import Diagonal, Identity
from o2nc.oracles import Compared, Hedge
from o2nc.states import pack, unpack

SMOOTH = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=100)


def test_states_are_packed_as_plain_data():
    oracle = Compared(Hedge([Identity(), Diagonal(cut(NUMPY, MASK))]), [Identity()])
    state = SmoothConversion(oracle, SMOOTH).init(cut(NUMPY, np.ones(D)))
    packed = pack(state, lambda array: array.tolist())
    assert packed["m"] == {"arrays": [[[0.0], [0.0]], [0.0]]}
    assert packed["oracle"]["oracle"]["t"] == [1]
    again = unpack(packed, like=state, convert=lambda values, like: np.asarray(values, dtype=like.dtype))
    assert type(again.oracle.oracle) is type(state.oracle.oracle)
    np.testing.assert_equal(pack(again), pack(state))
    with pytest.raises(ValueError, match=r"`packed` must have the fields of OverExpertsState"):
        unpack({"C": 0}, like=state.oracle.oracle)
    with pytest.raises(ValueError, match=r"`packed` must have a list of 2"):
        unpack({"arrays": [0]}, like=state.m)
