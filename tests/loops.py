"""T rounds of a learner or an oracle on every array library, beside a loop in plain Python on the same numbers."""

import array_api_compat
import numpy as np

import reference_toolbox as literal
from conftest import numpy_of
from games import LinearLoss
from o2nc.learners.hints import last
from o2nc.operators import Dense, Identity, Projector
from o2nc.oracles import Entropic, Euclidean
from o2nc.sets import Box, Hull

D, ROUNDS, RUNS, SCALE = 3, 25, 2, 0.5
RNG = np.random.default_rng(0)
M = RNG.normal(size=(ROUNDS, RUNS, D)) + 1
S = RNG.normal(size=(ROUNDS, RUNS, D)) + 0.5
SWAP = np.eye(D)[::-1].copy()
MATRICES = [np.eye(D), np.diag([1.0, 0.0, 1.0]), SWAP]
LOSSES = np.stack([-SCALE * np.sum(S * (M @ A.T), axis=-1) for A in MATRICES], axis=-1)  # of the experts
PRODUCTS = -SCALE * S * M  # the gradients on a box
TABLE = RNG.normal(size=(ROUNDS + 1, D))
PRIORS = {"uniform": None, "skewed": (0.5, 0.3, 0.2)}
UNIFORM = [1 / 3] * 3
HINTS = {  # for lists, and for arrays of a library
    "last": (lambda seen, h, t: seen, lambda xp: last),
    "mean": (
        lambda seen, h, t: [0.9 * p + 0.1 * q for p, q in zip(h, seen, strict=True)],
        lambda xp: lambda seen, h, t: 0.9 * h + 0.1 * seen,
    ),
    "table": (lambda seen, h, t: TABLE[t - 1].tolist(), lambda xp: from_table(xp.array(TABLE))),
}


def from_table(table):
    """As the docstring of `OptimisticHedge` has it."""
    xp = array_api_compat.array_namespace(table)
    return lambda losses, hint, t: 0 * losses + xp.take(table, t - 1, axis=0)[0, ...]


def hull(xp):
    mask = Projector.from_mask(xp.array([1, 0, 1], "bool"))
    return Hull((Identity(), mask, Dense(xp.array(SWAP))))


def played(xp, oracle, read):
    """The coordinates played in every round, of shape (ROUNDS + 1, RUNS, k)."""
    state = oracle.init(xp.array(np.zeros((RUNS, D))))
    learn = xp.transform(lambda state, s, m: oracle.learn(state, LinearLoss(s, m, SCALE)))
    points = [read(state)]
    for s, m in zip(S, M, strict=True):
        state = learn(state, xp.array(s), xp.array(m))
        points.append(read(state))
    return np.stack([numpy_of(point) for point in points])


def assert_literal(found, rule, gradients):
    for run in range(RUNS):
        np.testing.assert_allclose(found[:, run], rule(gradients[:, run].tolist()), rtol=0, atol=1e-12)


STEPS = {
    "box": (lambda xp: Box(), Euclidean(), literal.euclidean_step(literal.clipped(0, 1)), [1.0] * D, PRODUCTS),
    "hull": (hull, Euclidean(), literal.euclidean_step(literal.onto_simplex), UNIFORM, LOSSES),
    "entropic-box": (
        lambda xp: Box(0.1, 0.9), Entropic(), literal.entropic_step(literal.clipped(0.1, 0.9)), [0.9] * D, PRODUCTS,
    ),
    "entropic-hull": (hull, Entropic(), literal.entropic_step(literal.normalised), UNIFORM, LOSSES),
}  # fmt: skip


def numpy_hull():
    return Hull((Identity(), Projector.from_mask(np.asarray([True, False, True])), Dense(SWAP)))


class NumPy:
    """The fixture's interface, for tests of one library."""

    array = staticmethod(np.asarray)
    transform = staticmethod(lambda function: function)
