"""A factor from the left, one from the right, and their average, against the Kronecker products."""

import numpy as np
import pytest

from conftest import numpy_of
from o2nc.operators import Blockwise, LeftFactor, Mixture, RightFactor
from o2nc.testing import check_operator
from o2nc.vectors import split, vec
from sentences import check

P, Q = 3, 2
SHAPE = (P, Q)
D = P * Q
RNG = np.random.default_rng(0)
V = RNG.normal(size=(5, D))


def test_the_operators_are_kronecker_products(xp):
    A, B = (M / np.linalg.norm(M, 2) for M in (RNG.normal(size=(P, P)), RNG.normal(size=(Q, Q))))  # not symmetric
    left = Blockwise((LeftFactor(xp.array(A)),), shapes=(SHAPE,))
    right = Blockwise((RightFactor(xp.array(B)),), shapes=(SHAPE,))
    both = Mixture(xp.array([0.5, 0.5]), (left, right))
    matrices = np.kron(np.eye(Q), A), np.kron(B.T, np.eye(P))
    for U, matrix in ((left, matrices[0]), (right, matrices[1]), (both, sum(matrices) / 2)):
        for v in (V[0], V, V[None]):
            found = xp.transform(lambda v, U=U: U @ v)(xp.array(v))
            np.testing.assert_allclose(numpy_of(found), v @ matrix.T, rtol=0, atol=1e-14)
        found = (U @ split(xp.array(V[0]), (SHAPE,))).arrays[0]
        np.testing.assert_allclose(numpy_of(vec(found)), matrix @ V[0], rtol=0, atol=1e-14)
        check_operator(U, xp.array(np.zeros(D)), shapes=[SHAPE])


WRONG = {
    "left factor of norm 2": (
        lambda: LeftFactor(2 * np.eye(2)), ValueError, "`LeftFactor(matrix=...)`", "norm at most 1; got 2",
    ),
    "right factor not square": (
        lambda: RightFactor(np.ones((2, 3))), ValueError, "`RightFactor(matrix=...)`", "square", "(2, 3)",
    ),
    "left factor not finite": (
        lambda: LeftFactor(np.full((2, 2), np.nan)), ValueError, "`LeftFactor(matrix=...)`", "finite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
