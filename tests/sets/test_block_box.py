"""One factor for each block: the set is a box of small diagonals, seen through the map that repeats each factor."""

import math

import numpy as np
import pytest

from conftest import numpy_of
from o2nc import Blocks
from o2nc.losses import LinearLoss
from o2nc.operators import Scalars
from o2nc.oracles import FTRL, OGD, AdaGrad, Entropic
from o2nc.sets import BlockBox, Box, OperatorSet
from o2nc.testing import check_operator, check_oracle
from o2nc.vectors import join, split
from sentences import check

SHAPES = ((2, 2), (3,), (1, 1))
D, K = 8, 3
REPEAT = np.repeat(np.eye(K), [4, 3, 1], axis=0)  # from factors to the diagonal
RNG = np.random.default_rng(0)
V = RNG.normal(size=(5, D))


def test_the_operator_is_a_diagonal_with_repetitions(xp):
    c = RNG.uniform(-1, 1, size=(5, K))
    for factors, expected in ((c[0], V * (REPEAT @ c[0])), (c, V * (c @ REPEAT.T))):
        U = Scalars(xp.array(factors), SHAPES)
        np.testing.assert_array_equal(numpy_of(xp.transform(lambda v, U=U: U @ v)(xp.array(V))), expected)
    U = Scalars(xp.array(c[0]), SHAPES)
    found = U @ split(xp.array(V[0]), SHAPES)
    np.testing.assert_array_equal(numpy_of(join(found, SHAPES)), V[0] * (REPEAT @ c[0]))
    lone = Scalars(xp.array(c[0][:1])) @ Blocks((xp.array(3.0),))  # a block without axes
    np.testing.assert_array_equal(numpy_of(lone.arrays[0]), 3 * c[0][0])
    assert tuple(lone.arrays[0].shape) == ()
    check_operator(U, xp.array(np.zeros(D)), shapes=SHAPES)
    check_operator(U, split(xp.array(np.zeros(D)), SHAPES))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.25, 0.75)])
def test_the_set(xp, bounds):
    """Projection and minimiser are those of a box in K dimensions; start, pullback and operator know the blocks."""
    S, box, x = BlockBox(*bounds, shapes=SHAPES), Box(*bounds), xp.array(V)
    assert isinstance(S, OperatorSet)
    u = RNG.normal(size=(5, K))
    for method in ("project", "minimize", "metric"):
        np.testing.assert_array_equal(
            numpy_of(getattr(S, method)(xp.array(u))), numpy_of(getattr(box, method)(xp.array(u)))
        )
    np.testing.assert_array_equal(numpy_of(S.start(x)), np.full((5, K), bounds[1]))
    assert S.holds_identity == (S.identity(x) is not None) == (bounds[1] == 1)
    if S.holds_identity:
        np.testing.assert_array_equal(numpy_of(S.operator(S.identity(x)) @ x), V)
    assert S.diameter(x) == pytest.approx((bounds[1] - bounds[0]) * math.sqrt(K), rel=1e-15)
    assert S.sup_diameter(x) == bounds[1] - bounds[0]
    p, m = RNG.normal(size=(2, 5, D))
    gradient = numpy_of(xp.transform(S.pullback)(xp.array(p), xp.array(m)))
    np.testing.assert_allclose(gradient, (p * m) @ REPEAT, rtol=0, atol=1e-14)
    blocks = [split(xp.array(a[0]), SHAPES) for a in (p, m)]
    np.testing.assert_allclose(numpy_of(S.pullback(*blocks)), (p * m)[0] @ REPEAT, rtol=0, atol=1e-14)
    np.testing.assert_allclose(numpy_of(BlockBox(*bounds).start(blocks[0])), np.full(K, bounds[1]))


def test_the_gradient_factor_is_valid_and_reached():
    S, (p, m) = BlockBox(shapes=SHAPES), RNG.normal(size=(2, 5000, D))
    norm = lambda a: np.linalg.norm(a, axis=-1)
    assert np.max(norm(S.pullback(p, m)) / (norm(p) * norm(m))) <= S.gradient_factor(p)
    p[:, 4:] = 0  # one block, and p along m
    assert norm(S.pullback(p, p)) == pytest.approx(norm(p) ** 2 * S.gradient_factor(p), rel=1e-12)


@pytest.mark.parametrize(
    "learner", [lambda S, T: OGD(S), lambda S, T: AdaGrad(S), lambda S, T: FTRL(S, eta=T**-0.5, mirror=Entropic())]
)
def test_learners(learner):
    S = BlockBox(shapes=SHAPES)
    check_oracle(learner(S, 100), np.zeros(D), shapes=SHAPES, rounds=16, tuned=lambda T: learner(S, T))
    check_oracle(learner(BlockBox(), 100), split(np.zeros(D), SHAPES), regret=False)


def test_each_block_learns_its_own_factor():
    """Blocks 1 and 3 meet samples along their direction, block 2 samples against it."""
    oracle, sign = OGD(BlockBox(shapes=SHAPES)), REPEAT @ np.asarray([1.0, -1.0, 1.0])
    state = oracle.init(V[0])
    for m in RNG.normal(size=(50, D)):
        state = oracle.learn(state, LinearLoss(sign * m, m, 1.0))
    np.testing.assert_array_equal(state.u, [1.0, 0.0, 1.0])


WRONG = {
    "low": (lambda: BlockBox(-2.0), ValueError, "`BlockBox(low=...)`", "[-1, 1]", "got -2.0"),
    "low above high": (lambda: BlockBox(0.5, 0.0), ValueError, "`BlockBox(low=...)`", "0.5 > 0.0"),
    "shapes": (lambda: BlockBox(shapes=3), TypeError, "`BlockBox(shapes=...)`", "got 3"),
    "an array without shapes": (
        lambda: OGD(BlockBox()).init(np.ones(3)), ValueError, "`BlockBox(shapes=...)` must be given", "got none",
    ),
    "shapes that do not fill": (lambda: BlockBox(shapes=[(2,)]).start(np.ones(3)), ValueError, "`shapes`", "3 entries"),
    "scalars of norm 2": (
        lambda: Scalars(np.asarray([2.0])), ValueError, "`Scalars(scalars=...)`", "norm at most 1; got 2",
    ),
    "scalars blocks": (
        lambda: Scalars(Blocks((np.ones(1),))), TypeError, "`Scalars(scalars=...)`", "one array", "got Blocks",
    ),
    "scalars a number": (lambda: Scalars(0.5), TypeError, "`Scalars(scalars=...)`", "array", "got 0.5"),
    "other number of shapes": (
        lambda: Scalars(np.ones(2), shapes=[(3,)]), ValueError, "`Scalars(shapes=...)`", "a scalar, 2; got 1",
    ),
    "other number of blocks": (
        lambda: Scalars(np.ones(2)) @ Blocks((np.ones(1),)), ValueError, "`v`", "a scalar, 2; got 1",
    ),
    "scalars on an array": (
        lambda: Scalars(np.ones(2)) @ np.ones(2), ValueError, "`Scalars(shapes=...)` must be given", "got none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
