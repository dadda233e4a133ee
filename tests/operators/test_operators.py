"""Every operator against its dense matrix, on every array library, for one vector, a batch and `Blocks`."""

import numpy as np
import pytest

from conftest import numpy_of
from o2nc.operators import Blockwise, Dense, Diagonal, Identity, Mixture, Operator, Projector, act, polar, trusted
from o2nc.vectors import join, mat, split, vec

D = 6
RNG = np.random.default_rng(0)
V = RNG.normal(size=(5, D))
FACTORS = np.asarray([1.0, -0.5, 0.0, 0.25, -1.0, 0.75])
MASK = np.asarray([True, False, True, True, False, False])
BASIS = np.linalg.qr(RNG.normal(size=(D, 2)))[0]
MATRIX = RNG.normal(size=(D, D))
MATRIX /= 1.01 * np.linalg.norm(MATRIX, 2)  # not symmetric
WEIGHTS = np.asarray([0.2, 0.5, 0.3])
SMALL = MATRIX[:2, :2]


def mixture(make):
    return Mixture(make(WEIGHTS), (Identity(), Diagonal(make(FACTORS)), Dense(make(MATRIX))))


def blockwise(make):
    """A slice of two, and a slice of four as a 2 x 2 matrix on whose rows a matrix acts."""
    return Blockwise((Diagonal(make(FACTORS[:2])), Dense(make(SMALL))), shapes=((2,), (2, 2)))


CASES = {
    "identity": (lambda make: Identity(), np.eye(D)),
    "diagonal": (lambda make: Diagonal(make(FACTORS)), np.diag(FACTORS)),
    "mask": (lambda make: Projector.from_mask(make(MASK, "bool")), np.diag(MASK.astype(float))),
    "projector": (lambda make: Projector(make(BASIS)), BASIS @ BASIS.T),
    "empty-projector": (lambda make: Projector(make(np.zeros((D, 0)))), np.zeros((D, D))),
    "dense": (lambda make: Dense(make(MATRIX)), MATRIX),
    "mixture": (mixture, 0.2 * np.eye(D) + 0.5 * np.diag(FACTORS) + 0.3 * MATRIX),
    "blockwise": (
        blockwise,
        np.block([[np.diag(FACTORS[:2]), np.zeros((2, 4))], [np.zeros((4, 2)), np.kron(SMALL, np.eye(2))]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_is_its_matrix(xp, name):
    build, matrix = CASES[name]
    U = build(xp.array)
    assert isinstance(U, Operator)
    apply = xp.transform(lambda v: act(U, v))
    for v in (V[0], V, V[None]):
        found = apply(xp.array(v))
        assert tuple(found.shape) == v.shape
        np.testing.assert_allclose(numpy_of(found), v @ matrix.T, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(numpy_of(U @ xp.array(v)), numpy_of(act(U, xp.array(v))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_an_operator_keeps_the_dtype_of_the_vector(xp, name, dtype):
    """Also when its own arrays have another one."""
    build, matrix = CASES[name]
    for own in ("float32", "float64"):
        U = build(lambda values, kind=own: xp.array(values, kind))
        found = U @ xp.array(V, dtype)
        assert str(found.dtype).endswith(dtype)
        tolerance = 1e-14 if dtype == own == "float64" else 2e-6
        np.testing.assert_allclose(numpy_of(found), V @ matrix.T, rtol=0, atol=tolerance)


def test_one_operator_a_replication(xp):
    """Leading axes of an operator's own array go with those of the vector."""
    factors, weights = RNG.uniform(-1, 1, size=(5, D)), RNG.dirichlet([1, 1], 5)
    matrices = np.stack([MATRIX, MATRIX.T, np.eye(D), -MATRIX, np.eye(D)[::-1]])
    for U, expected in (
        (Diagonal(xp.array(factors)), factors * V),
        (Dense(xp.array(matrices)), np.einsum("nij,nj->ni", matrices, V)),
        (
            Mixture(xp.array(weights), (Identity(), Dense(xp.array(MATRIX)))),
            weights[:, :1] * V + weights[:, 1:] * (V @ MATRIX.T),
        ),
    ):
        np.testing.assert_allclose(numpy_of(U @ xp.array(V)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shapes", [((2, 2), (2,)), ((1, 4), (2, 1)), ((6,),), ((2, 3),)])
def test_blocks_are_the_flat_vector(xp, shapes):
    """The elementwise operators and their mixtures, in blocks of any shapes."""
    cut = lambda v: split(xp.array(v), shapes)
    mix = lambda U: Mixture(xp.array([0.25, 0.75]), (Identity(), U))
    for U, on_blocks in (
        (Identity(), Identity()),
        (Diagonal(xp.array(FACTORS)), Diagonal(cut(FACTORS))),
        (Projector.from_mask(xp.array(MASK, "bool")), Diagonal(cut(MASK.astype(float)))),
        (mix(Diagonal(xp.array(FACTORS))), mix(Diagonal(cut(FACTORS)))),
    ):
        found = join(on_blocks @ cut(V[0]), shapes)
        np.testing.assert_allclose(numpy_of(found), numpy_of(U @ xp.array(V[0])), rtol=0, atol=1e-15)


def test_blockwise_on_blocks_and_on_an_array(xp):
    U, matrix = CASES["blockwise"][0](xp.array), CASES["blockwise"][1]
    blocks = split(xp.array(V[0]), U.shapes)
    np.testing.assert_allclose(numpy_of(join(U @ blocks, U.shapes)), matrix @ V[0], rtol=0, atol=1e-14)
    without = Blockwise(U.operators)  # on Blocks the shapes are those of the blocks
    np.testing.assert_allclose(numpy_of(join(without @ blocks, U.shapes)), matrix @ V[0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_blockwise_matrices_are_the_algebra_of_vec_and_mat(xp, shape):
    """An operator acts on the last axis of mat(x): A is X -> X A^T, of matrix A kron I, on a batch as well."""
    p, q = shape
    A = MATRIX[:q, :q]
    U = Blockwise((Dense(xp.array(A)),), shapes=(shape,))
    found = numpy_of(U @ xp.array(V))
    np.testing.assert_allclose(found, V @ np.kron(A, np.eye(p)).T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found, numpy_of(vec(mat(xp.array(V), p, q) @ xp.array(A.T))), rtol=0, atol=1e-14)
    factors = FACTORS[:q]  # one factor for each column
    U = Blockwise((Diagonal(xp.array(factors)),), shapes=(shape,))
    np.testing.assert_allclose(numpy_of(U @ xp.array(V)), V * np.repeat(factors, p), rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4)])
def test_polar(xp, dtype, shape):
    """A partial isometry of the rank of A, whose inner product with A is the nuclear norm of A; ranks 0 to 3."""
    ranks = [0, 1, 2, 3] * 2
    factors = [(RNG.normal(size=(shape[0], r)), RNG.normal(size=(r, shape[1]))) for r in ranks]
    A = np.stack([left @ right for left, right in factors]) * np.repeat([1.0, 1e-6], 4)[:, None, None]
    P = xp.transform(polar)(xp.array(A, dtype))
    assert str(P.dtype).endswith(dtype)
    P, tolerance = numpy_of(P).astype(float), 1e-5 if dtype == "float32" else 1e-12
    values = [[1.0] * r + [0.0] * (min(shape) - r) for r in ranks]
    np.testing.assert_allclose(np.linalg.svd(P, compute_uv=False), values, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(P[0], np.zeros(shape))  # the paper's polar(0) = 0
    nuclear = np.linalg.norm(A, "nuc", axis=(1, 2))
    np.testing.assert_allclose(np.sum(A * P, axis=(1, 2)), nuclear, rtol=tolerance, atol=0)
    Z = RNG.normal(size=(500, *shape))
    Z /= np.linalg.norm(Z, 2, axis=(1, 2))[:, None, None]
    assert np.all(np.einsum("npq,kpq->kn", A, Z) <= nuclear * (1 + tolerance))  # no contraction does better


def test_polar_of_a_known_matrix(xp):
    rotation = np.asarray([[0.6, -0.8], [0.8, 0.6]])
    stretch = np.asarray([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(numpy_of(polar(xp.array(rotation @ stretch))), rotation, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        numpy_of(polar(xp.array([[0.0, 3.0], [0.0, 0.0]]))), [[0, 1], [0, 0]], rtol=0, atol=1e-15
    )


def test_a_trusted_operator_is_not_checked():
    """Learners make operators that hold by construction; only what a user builds is checked."""
    U = trusted(Diagonal, diagonal=np.asarray([2.0]))
    np.testing.assert_array_equal(U @ np.asarray([3.0]), [6.0])
    with pytest.raises(ValueError, match="norm at most 1; got 2"):
        Diagonal(np.asarray([2.0]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_checks_leave_room_for_rounding(xp, dtype):
    eps = float(np.finfo(dtype).eps)
    Diagonal(xp.array([1 + eps, -1.0], dtype))
    Dense(xp.array(np.linalg.qr(RNG.normal(size=(D, D)))[0], dtype))
    Projector(xp.array(np.linalg.qr(RNG.normal(size=(200, 40)))[0], dtype))
    Mixture(xp.array(np.full((3, 7), 1 / 7), dtype), (Identity(),) * 7)
    for wrong in (
        lambda: Diagonal(xp.array([1 + 1e4 * eps], dtype)),
        lambda: Dense(xp.array(np.eye(2) * (1 + 1e4 * eps), dtype)),
        lambda: Projector(xp.array([[1 + 1e4 * eps]], dtype)),
        lambda: Mixture(xp.array([0.5, 0.5 + 1e4 * eps], dtype), (Identity(), Identity())),
    ):
        with pytest.raises(ValueError):
            wrong()
