"""The learners with hints, with shares and without a scale, against plain loops on every array library."""

import math

import array_api_compat
import numpy as np
import pytest

import reference_toolbox as literal
from conftest import numpy_of
from games import LinearLoss
from o2nc.operators import Dense, Identity, Projector
from o2nc.oracles import OMD, AdaHedge, Entropic, Euclidean, FixedShare, Hedge, OptimisticHedge, OptimisticOMD, SoloFTRL
from o2nc.oracles.hints import last
from o2nc.sets import Box, Hull, PositiveContractions, Varying

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


@pytest.mark.parametrize(("prior", "hint"), [("uniform", "last"), ("skewed", "mean"), ("uniform", "table")])
def test_optimistic_hedge(xp, prior, hint):
    guess, make = HINTS[hint]
    oracle = OptimisticHedge(hull(xp), prior=PRIORS[prior], hint=make(xp))
    found = played(xp, oracle, oracle.weights)
    assert_literal(found, lambda losses: literal.optimistic_hedge(losses, PRIORS[prior] or UNIFORM, guess), LOSSES)


STEPS = {
    "box": (lambda xp: Box(), Euclidean(), literal.euclidean_step(literal.clipped(0, 1)), [1.0] * D, PRODUCTS),
    "hull": (hull, Euclidean(), literal.euclidean_step(literal.onto_simplex), UNIFORM, LOSSES),
    "entropic-box": (
        lambda xp: Box(0.1, 0.9), Entropic(), literal.entropic_step(literal.clipped(0.1, 0.9)), [0.9] * D, PRODUCTS,
    ),
    "entropic-hull": (hull, Entropic(), literal.entropic_step(literal.normalised), UNIFORM, LOSSES),
}  # fmt: skip


@pytest.mark.parametrize(("name", "hint"), [*zip(STEPS, ["last", "mean", "table", "last"], strict=True)])
def test_optimistic_omd(xp, name, hint):
    make, mirror, step, start, gradients = STEPS[name]
    guess, make_hint = HINTS[hint]
    oracle = OptimisticOMD(make(xp), eta=0.2, mirror=mirror, hint=make_hint(xp))
    found = played(xp, oracle, lambda state: state.u)
    assert_literal(found, lambda g: literal.optimistic_omd(g, start, 0.2, step, guess), gradients)


def test_optimistic_omd_on_a_set_that_changes():
    """The step along the gradient ends in the set of its round, as the proof needs, that along the hint in the next."""
    box = lambda t: (0.5 - 0.5 / t, 1.0 if t % 2 else 0.75)
    oracle = OptimisticOMD(Varying(lambda t: Box(*box(t.item()))), eta=0.3)
    state = oracle.init(np.zeros((RUNS, D)))
    p = np.ones((RUNS, D))
    for t, (s, m, g) in enumerate(zip(S, M, PRODUCTS, strict=True), start=1):
        state = oracle.learn(state, LinearLoss(s, m, SCALE))
        p = np.clip(p - 0.3 * g, *box(t))
        np.testing.assert_allclose(state.p, p, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.u, np.clip(p - 0.3 * g, *box(t + 1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
def test_fixed_share(xp, prior):
    oracle = FixedShare(hull(xp), gamma=0.7, alpha=0.1, prior=PRIORS[prior])
    found = played(xp, oracle, oracle.weights)
    assert_literal(found, lambda losses: literal.fixed_share(losses, PRIORS[prior] or UNIFORM, 0.7, 0.1), LOSSES)


@pytest.mark.parametrize(("name", "eta"), [("box", None), ("hull", 0.3)])
def test_solo_ftrl(xp, name, eta):
    make, _, _, start, gradients = STEPS[name]
    project = literal.clipped(0, 1) if name == "box" else literal.onto_simplex
    factor = eta or math.sqrt(3) / 2 * math.sqrt(D)  # the diameter of the box is sqrt(D)
    found = played(xp, SoloFTRL(make(xp), eta=eta), lambda state: state.u)
    assert_literal(found, lambda g: literal.solo_ftrl(g, start, factor, project), gradients)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_shares_are_a_mixture_over_all_sequences_of_experts(rounds):
    losses, prior = LOSSES[:rounds, 0].tolist(), PRIORS["skewed"]
    expected = literal.mixture_of_sequences(losses, prior, 0.7, 0.1)
    np.testing.assert_allclose(literal.fixed_share(losses, prior, 0.7, 0.1)[-1], expected, rtol=1e-12)


def numpy_hull():
    return Hull((Identity(), Projector.from_mask(np.asarray([True, False, True])), Dense(SWAP)))


class NumPy:
    """The fixture's interface, for tests of one library."""

    array = staticmethod(np.asarray)
    transform = staticmethod(lambda function: function)


@pytest.mark.parametrize("prior", PRIORS)
def test_without_hints_and_without_shares_they_are_what_they_extend(prior):
    none = lambda seen, h, t: 0 * seen
    weights = lambda oracle: played(NumPy, oracle, oracle.weights)
    pairs = [
        (OptimisticHedge(numpy_hull(), prior=PRIORS[prior], hint=none), AdaHedge(numpy_hull(), prior=PRIORS[prior])),
        (FixedShare(numpy_hull(), 0.7, 0.0, PRIORS[prior]), Hedge(numpy_hull(), gamma=0.7, prior=PRIORS[prior])),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(weights(found), weights(expected), rtol=0, atol=1e-13)
    for mirror in (Euclidean(), Entropic()):
        found, expected = OptimisticOMD(Box(), 0.2, mirror, none), OMD(Box(), 0.2, mirror)
        points = [played(NumPy, oracle, lambda state: state.u) for oracle in (found, expected)]
        np.testing.assert_allclose(*points, rtol=0, atol=1e-13)


def test_perfect_hints_cost_nothing():
    """Every forecast is right: no gap, so the rate stays infinite, and the mixture is never behind the best expert."""
    losses = RNG.normal(size=(40, 3))
    oracle = OptimisticHedge([Identity()] * 3, hint=from_table(np.concatenate([losses, losses[:1]])))
    state, lost = oracle.init(np.zeros(2)), 0.0
    for loss in losses:
        lost += oracle.weights(state) @ loss
        state = oracle.observe(state, loss)
    assert state.Delta == 0
    assert lost <= losses.sum(axis=0).min() + 1e-12


def test_one_wrong_forecast_costs_at_most_twice_its_size():
    losses = RNG.normal(size=(40, 3))
    losses[0] = [0.0, 0.05, 0.1]
    forecasts = np.concatenate([losses, losses[:1]])
    forecasts[0] = [0.2, -0.05, 0.1]  # the second expert is played, and the first is better by 0.05
    oracle = OptimisticHedge([Identity()] * 3, hint=from_table(forecasts))
    state, lost = oracle.init(np.zeros(2)), 0.0
    for loss in losses:
        lost += oracle.weights(state) @ loss
        state = oracle.observe(state, loss)
    assert state.Delta == pytest.approx(0.05, abs=1e-5)
    assert lost - losses.sum(axis=0).min() <= 2 * state.Delta


def test_shares_follow_an_expert_that_becomes_good():
    """300 rounds for the first expert, 20 for the second: Hedge still plays the first, fixed share the second."""
    losses = np.concatenate([np.tile([0.0, 1.0], (300, 1)), np.tile([1.0, 0.0], (20, 1))])
    weights = {}
    for oracle in (Hedge([Identity()] * 2, gamma=0.5), FixedShare([Identity()] * 2, gamma=0.5, alpha=0.01)):
        state = oracle.init(np.zeros(2))
        for loss in losses:
            state = oracle.observe(state, loss)
        weights[type(oracle)] = oracle.weights(state)
    assert weights[Hedge][0] > 0.99
    assert weights[FixedShare][1] > 0.9


@pytest.mark.parametrize("operators", [Box(-1.0, 1.0), PositiveContractions(), numpy_hull()], ids=lambda S: str(S)[:8])
@pytest.mark.parametrize("scale", [2.0**-300, 2.0**40])
def test_solo_does_not_see_the_scale(operators, scale):
    """Multiplied by a power of two, which rounds nothing, the losses give the same points to the last bit."""
    oracle, points = SoloFTRL(operators), []
    for c in (1.0, scale):
        state = oracle.init(np.zeros((RUNS, D)))
        for s, m in zip(S, M, strict=True):
            state = oracle.learn(state, LinearLoss(s, m, c))
        points.append(state.u)
    np.testing.assert_array_equal(*points)
