"""What the tests of contracts share: three numbers as vectors of every kind, and the array libraries in turn."""

import numpy as np
import pytest

from conftest import BACKENDS, with_marks
from o2nc import Blocks

D = 3
SWAP = -np.eye(D)[::-1]
BASIS = np.linalg.qr(np.random.default_rng(0).normal(size=(D, 2)))[0]
MASK = np.asarray([1.0, 0.0, 0.5])
SHAPES = [(2, 1), (1,)]  # how three numbers are cut into Blocks
LIBRARIES = {backend.name: backend for backend in BACKENDS if backend.name in ("numpy", "torch", "jax")}
NUMPY = LIBRARIES["numpy"]
EVERY_LIBRARY = with_marks(LIBRARIES.values())
in_every_library = pytest.mark.parametrize("lib", EVERY_LIBRARY)


def cut(lib, values):
    """Three numbers as `Blocks`."""
    return Blocks((lib.array(np.asarray(values)[:2].reshape(2, 1)), lib.array(np.asarray(values)[2:])))
