"""Numbers on their way from NumPy into every array library and back."""

import jax
import numpy as np
import pytest
import torch

from conftest import numpy_of
from o2nc import _xp

VALUES = np.random.default_rng(0).normal(size=(2, 3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_in_every_library_and_back(xp, dtype):
    like = xp.array(np.zeros(1), dtype)
    found = _xp.from_numpy(VALUES, like)
    assert (type(found), found.dtype) == (type(like), like.dtype)
    np.testing.assert_array_equal(numpy_of(found), VALUES.astype(dtype))
    np.testing.assert_array_equal(_xp.to_numpy(found), VALUES.astype(dtype))
    _xp.to_numpy(found)[...] = 0  # a copy
    np.testing.assert_array_equal(numpy_of(found), VALUES.astype(dtype))


def test_whole_numbers_take_the_dtype_of_the_example(xp):
    found = _xp.from_numpy(np.asarray([1, -1], dtype=np.int8), xp.array(np.zeros(1)))
    np.testing.assert_array_equal(_xp.to_numpy(found), [1.0, -1.0])
    assert _xp.is_floating(found)


def test_numpy_beside_a_traced_array():
    np.testing.assert_array_equal(jax.jit(lambda x: x + _xp.from_numpy(VALUES, x))(jax.numpy.ones(3)), VALUES + 1)


def test_bfloat16_is_read_as_float32():
    v = torch.asarray(VALUES, dtype=torch.bfloat16)
    found = _xp.to_numpy(v)
    assert found.dtype == np.float32
    assert torch.equal(_xp.from_numpy(found, v), v)
