"""Vectors: the arithmetic of Blocks, and how a vector is cut into blocks and joined."""

import numpy as np
import pytest

from conftest import numpy_of
from o2nc import Blocks, _xp
from o2nc.vectors import inner, join, mat, split, vec
from sentences import check

RNG = np.random.default_rng(0)
V = RNG.normal(size=(5, 6))


def test_vec_and_mat_are_columnwise(xp):
    """vec(A X B) = (B^T kron A) vec(X), which is false for rows."""
    A, X, B = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 4, 5)), RNG.normal(size=(5, 2))
    x = numpy_of(vec(xp.array(X)))
    np.testing.assert_array_equal(x[0], X[0].ravel(order="F"))
    np.testing.assert_allclose(numpy_of(vec(xp.array(A @ X @ B))), x @ np.kron(B.T, A).T, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(numpy_of(mat(xp.array(x), 4, 5)), X)


def test_split_and_join_are_inverse(xp):
    shapes = ((1,), (2, 2), (1, 1))
    blocks = split(xp.array(V), shapes)
    assert [tuple(b.shape) for b in blocks.arrays] == [(5, 1), (5, 2, 2), (5, 1, 1)]
    np.testing.assert_array_equal(numpy_of(blocks.arrays[1])[0], [[V[0, 1], V[0, 3]], [V[0, 2], V[0, 4]]])
    np.testing.assert_array_equal(numpy_of(join(blocks, shapes)), V)


def test_the_arithmetic_of_blocks(xp):
    """Sums, differences and multiples, with a scalar of shape (1,) on the right, as the flat vector has them."""
    shapes, u, v = ((2, 2), (2,)), V[0], V[1]
    cut = lambda a: split(xp.array(a), shapes)
    scalar = xp.array([3.0])
    for blocks, flat in (
        (cut(u) + cut(v), u + v),
        (cut(u) - cut(v), u - v),
        (-cut(u), -u),
        (2.0 * cut(u), 2 * u),
        (cut(u) * scalar, 3 * u),
    ):
        assert isinstance(blocks, Blocks)
        np.testing.assert_array_equal(numpy_of(join(blocks, shapes)), flat)
    np.testing.assert_allclose(numpy_of(inner(cut(u), cut(v))), [u @ v], rtol=0, atol=1e-14)


def test_the_library_of_a_number_is_that_of_the_array_beside_it(xp):
    """What was seen beside one array is not remembered for the next."""
    array = xp.array([1.0])
    assert _xp.namespace(1.0, array) is _xp.namespace(array)
    with pytest.raises((ValueError, TypeError)):
        _xp.namespace(1.0)


X = np.ones(3)
BLOCKS = Blocks((np.ones((2, 2)), np.ones(3)))
WRONG = {
    "blocks of other number": (lambda: BLOCKS + Blocks((X,)), ValueError, "same blocks, here 2; got 1"),
    "blocks and array": (lambda: BLOCKS - X, ValueError, "same blocks, here 2; got ndarray"),
    "inner of blocks and array": (lambda: inner(BLOCKS, X), ValueError, "same blocks, here 2; got ndarray"),
    "inner of other blocks": (lambda: inner(BLOCKS, Blocks((X,))), ValueError, "same blocks, here 2; got 1"),
    "vec of a vector": (lambda: vec(X), ValueError, "`X` must be a matrix", "got shape (3,)"),
    "mat of another size": (lambda: mat(X, 2, 2), ValueError, "`x` must have p q = 2 * 2 entries; got shape (3,)"),
    "split of another size": (lambda: split(X, [(2, 2)]), ValueError, "`shapes` must", "3 entries", "got [(2, 2)]"),
    "split into a cube": (lambda: split(X, [(1, 1, 3)]), ValueError, "`shapes` must", "(p, q)", "got [(1, 1, 3)]"),
    "join of another number": (lambda: join(BLOCKS, [(3,)]), ValueError, "`shapes` must be one a block, 2", "(3,)"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
