"""Circuits of oracles: they lose the stated combination of what their parts lose, as measured and in the bounds."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stated_bounds as stated
from conftest import numpy_of
from contracts import NUMPY, in_every_library
from o2nc import Blocks, Smooth, learners, minimize
from o2nc.directions import Adam, Momentum
from o2nc.losses import DescentLoss, LinearLoss
from o2nc.operators import Blockwise, Dense, Diagonal, Identity, Projector
from o2nc.oracles import OGD, AdaGrad, Adaptive, Compared, Constant, Hedge, OverExperts, OverOracles, Product
from o2nc.sets import BlockBox, Box, Fantope, LeftFactors, SpectralBall
from o2nc.testing import check_oracle
from o2nc.vectors import join, split

SHAPES = ((2, 2), (2,), (1,))
FLAT = ((4,), (2,), (1,))
D, RUNS = 7, 40
COMMON = {"deadline": None, "derandomize": True, "database": None}
SWAP = Dense(np.asarray([[0.0, 1.0], [1.0, 0.0]]))
PARTS = (
    lambda: OGD(LeftFactors((2, 2))),
    lambda: Hedge([Identity(), SWAP], gamma=0.3),
    lambda: OGD(Box(-1.0, 1.0), eta=0.2),
)
COMPARATORS = (Dense(np.eye(4)[::-1] * 0.5), SWAP, Diagonal(np.asarray([-1.0])))  # one a block
INNER = {
    "constant": (lambda: Constant(), Identity()),
    "box": (lambda: OGD(Box()), Diagonal(np.asarray([0.0, 1.0, 0.5, 1.0, 0.0, 0.0, 1.0]))),
    "fantope": (lambda: OGD(Fantope(2)), Projector(np.eye(D)[:, :2])),
    "adagrad": (lambda: AdaGrad(Box(-1.0, 1.0)), Diagonal(-np.ones(D))),
}
seeds, rounds = st.integers(0, 2**32 - 1), st.integers(1, 40)


class Round(NamedTuple):
    state: object  # of the oracle, before it learns
    loss: object
    played: np.ndarray  # U m


def duel(oracle, seed, T, kappa=0.0):
    """T rounds of RUNS games, each with its own strategy; the adversary knows what will be played."""
    rng = np.random.default_rng(seed)
    kind, scale = rng.integers(5, size=(RUNS, 1)), 10 ** rng.uniform(-1, 1, size=(RUNS, 1))
    own = rng.normal(size=(RUNS, D))
    state = oracle.init(np.zeros((RUNS, D)))
    for t in range(T):
        m = np.where(kind % 2, own, rng.normal(size=(RUNS, D)))
        played = oracle.play(state, m) @ m
        noise = rng.normal(size=(RUNS, D))
        hunted = m - played + 1e-3 * noise  # what the identity would gain
        s = scale * np.choose(kind, [noise, (-1.0) ** t * own, hunted, np.where(t % 7 < 4, m, -m), noise + own])
        loss = DescentLoss(s, m, 0.5, kappa) if kappa else LinearLoss(s, m, 0.5)
        yield Round(state, loss, played)
        state = oracle.learn(state, loss)
    yield Round(state, None, None)


def cut(v):
    return split(v, FLAT).arrays


def energy(s, m):
    return np.sum(s**2, axis=-1) * np.sum(m**2, axis=-1) * 0.25  # the scale of the losses is 1/2


@pytest.mark.parametrize("kappa", [0.0, 0.3], ids=["linear", "descent"])
@settings(max_examples=15, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_regret_of_a_product_is_the_sum_of_its_parts(kappa, seed, T):
    """Every oracle keeps its regret against its own comparators, the product against their direct sums."""
    inside = [Compared(make(), [V, Identity()]) for make, V in zip(PARTS, COMPARATORS, strict=True)]
    both = [Blockwise(COMPARATORS, FLAT), Identity()]
    *_, end = duel(Compared(Product(inside, SHAPES), both), seed, T, kappa)
    parts = sum(part.regrets for part in end.state.oracle.parts)
    np.testing.assert_allclose(end.state.regrets, parts, rtol=1e-10, atol=1e-10)


@settings(max_examples=15, **COMMON)
@given(seed=seeds, T=rounds)
def test_the_bound_of_a_product(seed, T):
    """The regret is below the sum of the bounds of the parts at their energies, which is below what is stated."""
    oracle = Compared(Product([make() for make in PARTS], SHAPES), [Identity()])
    total, parts, regret = np.zeros(RUNS), np.zeros((3, RUNS)), None
    for state, loss, _ in duel(oracle, seed, T):
        regret = state.regrets[:, 0]
        if loss is not None:
            total += energy(loss.s, loss.m)
            parts += [energy(s, m) for s, m in zip(cut(loss.s), cut(loss.m), strict=True)]
    assert np.all(parts.sum(axis=0) <= total * (1 + 1e-12))
    x = np.zeros((1, D))
    for run in range(RUNS):
        bounds = [make().regret_bound(v, E) for make, v, E in zip(PARTS, cut(x), parts[:, run], strict=True)]
        whole = [make().regret_bound(v, total[run]) for make, v in zip(PARTS, cut(x), strict=True)]
        assert regret[run] <= sum(bounds) + 1e-9
        assert sum(bounds) <= oracle.regret_bound(x, total[run]) == sum(whole) < math.inf


def test_the_parts_of_a_product_are_alone():
    """Each plays and learns as it would on its block, without the others."""
    oracle, alone = Product([make() for make in PARTS], SHAPES), [make() for make in PARTS]
    states = [one.init(v) for one, v in zip(alone, cut(np.zeros((RUNS, D))), strict=True)]
    for _, loss, played in duel(oracle, 0, 30):
        if loss is None:
            continue
        for k, (s, m) in enumerate(zip(cut(loss.s), cut(loss.m), strict=True)):
            np.testing.assert_array_equal(alone[k].play(states[k], m) @ m, cut(played)[k])
            states[k] = alone[k].learn(states[k], LinearLoss(s, m, 0.5))


def test_a_product_on_blocks_and_on_the_array(xp):
    """The same numbers; a matrix block is seen as `Blocks` of it, a vector as an array, a number as `Blocks`."""
    parts = lambda: [OGD(LeftFactors((2, 2))), OGD(SpectralBall()), OGD(Box())]
    flat, blocks = Product(parts(), SHAPES), Product(parts())
    a, rng = flat.init(xp.array(np.zeros(D))), np.random.default_rng(0)
    shape = lambda v: Blocks((*split(xp.array(v), SHAPES).arrays[:2], xp.array(v[6])))
    b = blocks.init(shape(np.zeros(D)))
    both = lambda oracle: xp.transform(
        lambda state, s, m: (oracle.play(state, m) @ m, oracle.learn(state, LinearLoss(s, m, 1.0)))
    )
    for s, m in rng.normal(size=(5, 2, D)):
        one, a = both(flat)(a, xp.array(s), xp.array(m))
        two, b = both(blocks)(b, shape(s), shape(m))
        assert tuple(two.arrays[2].shape) == ()
        found = np.concatenate([numpy_of(two.arrays[0]).ravel("F"), *(numpy_of(v).ravel() for v in two.arrays[1:])])
        np.testing.assert_allclose(found, numpy_of(one), rtol=0, atol=1e-13)


@settings(max_examples=15, **COMMON)
@given(seed=seeds, T=rounds, outer=st.sampled_from(["hedge", "adahedge"]))
def test_the_regret_over_oracles_is_that_of_the_outer_learner_plus_that_of_any_oracle(seed, T, outer):
    """An equality for linear losses, for every oracle inside and every comparator; and the stated bounds on top."""
    gamma, K = 0.2, len(INNER)
    learner = learners.Hedge(gamma=gamma) if outer == "hedge" else learners.AdaHedge()
    comparators = [V for _, V in INNER.values()]
    inside = [Compared(make(), comparators) for make, _ in INNER.values()]
    oracle = Compared(OverOracles(inside, learner), comparators)
    weights, losses, total = [], [], np.zeros(RUNS)
    for state, loss, _ in duel(oracle, seed, T):
        if loss is not None:
            weights.append(oracle.oracle.weights(state.oracle))
            plays = [one.play(part, loss.m) @ loss.m for one, part in zip(inside, state.oracle.oracles, strict=True)]
            losses.append(np.concatenate([loss(v) for v in plays], axis=-1))
            total += energy(loss.s, loss.m)
    w, l = np.stack(weights), np.stack(losses)
    against = np.sum(w * l, axis=(0, 2))[:, None] - np.sum(l, axis=0)  # the outer regret, (runs, K)
    for k, part in enumerate(state.oracle.oracles):
        np.testing.assert_allclose(state.regrets, against[:, k : k + 1] + part.regrets, rtol=1e-9, atol=1e-9)
    record = _Losses(w, l)
    for k, (make, _) in enumerate(INNER.values()):
        vertex, prior = np.broadcast_to(np.eye(K)[k], (RUNS, K)), (1 / K,) * K
        terms = stated.hedge(record, vertex, prior, gamma) if outer == "hedge" else stated.adahedge(record, prior)
        own = [make().regret_bound(np.zeros((1, D)), E) for E in total]
        bound = sum(stated.over_oracles(terms, [np.asarray(own)]))
        assert np.all(state.regrets[:, 0] <= bound + 1e-9 * (1 + total))
        assert np.isinf(bound).all() == (k == 2)  # the Fantope does not hold the identity; the others do
    for run in range(RUNS):
        assert state.regrets[run, 0] <= oracle.regret_bound(np.zeros((1, D)), total[run]) + 1e-9


class _Losses(NamedTuple):
    """Weights and losses of experts, as `stated_bounds` reads them."""

    u: np.ndarray
    g: np.ndarray


@settings(max_examples=10, **COMMON)
@given(seed=seeds, T=rounds)
def test_convex_losses_over_oracles(seed, T):
    """The loss of a mixture is at most the mixture of the losses, so that the equality becomes a bound."""
    comparators = [V for _, V in INNER.values()]
    inside = [Compared(make(), comparators) for make, _ in INNER.values()]
    oracle, outer = Compared(OverOracles(inside), comparators), np.zeros((RUNS, len(INNER)))
    for state, loss, _ in duel(oracle, seed, T, kappa=0.3):
        if loss is not None:
            w = oracle.oracle.weights(state.oracle)
            plays = [one.play(part, loss.m) @ loss.m for one, part in zip(inside, state.oracle.oracles, strict=True)]
            l = np.concatenate([loss(v) for v in plays], axis=-1)
            outer += np.sum(w * l, axis=-1, keepdims=True) - l
    for k, part in enumerate(state.oracle.oracles):
        gap = outer[:, k : k + 1] + part.regrets - state.regrets
        assert np.all(gap >= -1e-9 * (1 + np.abs(part.regrets)))
    assert np.max(gap) > 1e-3 or T < 10  # and no equality


def test_over_constant_oracles_it_is_the_outer_learner():
    operators = (Identity(), Diagonal(np.linspace(-1, 1, D)), Dense(np.eye(D)[::-1]))
    oracle, hedge = OverOracles([Constant(U) for U in operators], learners.Hedge()), Hedge(operators)
    state = hedge.init(np.zeros((RUNS, D)))
    for _, loss, played in duel(oracle, 1, 30):
        if loss is not None:
            np.testing.assert_allclose(played, hedge.play(state, loss.m) @ loss.m, rtol=0, atol=1e-13)
            state = hedge.learn(state, loss)
    x = np.zeros((1, D))
    assert oracle.regret_bound(x, 5.0) == hedge.regret_bound(x, 5.0)


def test_over_directions_it_is_adaptive():
    """An oracle that follows a direction is an expert of `Adaptive`: the bound is the outer learner's."""
    oracle = OverOracles([Adaptive([Momentum()]), Adaptive([Adam()])], learners.Hedge())
    twin = Adaptive([Momentum(), Adam()], learners.Hedge())
    state = twin.init(np.zeros((RUNS, D)))
    for _, loss, played in duel(oracle, 2, 30):
        if loss is not None:
            np.testing.assert_allclose(played, twin.play(state, loss.m) @ loss.m, rtol=0, atol=1e-11)
            state = twin.learn(state, loss)
    assert oracle.regret_bound(np.zeros((1, D)), 5.0) == twin.regret_bound(np.zeros((1, D)), 5.0)


def test_stated_bounds_are_the_combinations():
    x, E = np.zeros((1, D)), 3.0
    experts = lambda k: [Identity() if j == k else Diagonal(np.zeros(D)) for j in range(3)]
    skewed = learners.Hedge(gamma=0.5, prior=(0.7, 0.2, 0.1))
    oracle = OverOracles([OGD(Fantope(1)), OGD(Box(-1.0, 1.0)), Constant()], skewed)
    choices = [
        math.inf,
        OverExperts(skewed, experts(1)).regret_bound(x, E) + 2 * math.sqrt(D) * math.sqrt(2 * E),
        -math.log(0.1) / 0.5 + 0.25 * E,
    ]
    assert oracle.regret_bound(x, E) == pytest.approx(min(choices), rel=1e-14)
    assert choices[1] > choices[2]
    none = OverOracles([OGD(Fantope(1)), Constant(Diagonal(np.zeros(D)))])
    assert none.regret_bound(x, E) == math.inf
    assert OverOracles([Constant()], learners.ShortMemoryHedge()).regret_bound(x, E) == math.inf  # it states none
    assert Product([Constant(), OGD(Fantope(1)), Constant()], SHAPES).regret_bound(x, E) == math.inf

    silent = Adaptive([Momentum()], learners.ShortMemoryHedge())
    assert Product([Constant(), silent, Constant()], SHAPES).regret_bound(x, E) == math.inf


def test_the_bound_of_a_product_is_reached():
    """Two learners held at the identity by gradients that alternate, in turns: each loses eta/2 of its energy."""
    etas, x = (0.1, 0.3), np.zeros(2)
    oracle = Compared(Product([OGD(Box(), eta=eta) for eta in etas], [(1,), (1,)]), [Identity()])
    state = oracle.init(x)
    for t in range(80):
        e = np.eye(2)[t // 40]
        state = oracle.learn(state, LinearLoss((-1.0) ** (t + 1) * e, e, 1.0))
    terms = stated.product([etas[0] / 2 * 40], [etas[1] / 2 * 40])  # the energies of the blocks are 40 and 40
    assert state.regrets[0] == pytest.approx(sum(terms), rel=1e-12)
    one = Compared(Product([OGD(Box(), eta=0.1), Constant()], [(1,), (1,)]), [Identity()])  # all energy in one block
    state = one.init(x)
    for t in range(40):
        state = one.learn(state, LinearLoss((-1.0) ** (t + 1) * np.eye(2)[0], np.eye(2)[0], 1.0))
    assert state.regrets[0] == pytest.approx(one.regret_bound(x, 40.0), rel=1e-12)


def test_the_bound_over_oracles_is_reached():
    """Held at equal weights and near the identity, then driven to it: the outer learner and the inner one both lose."""
    gamma, eta = 0.05, 0.04
    pairs, last = round(math.log(2) / gamma**2), round((math.log(2) + 1.5) / gamma)
    inside = [OGD(Box(-1.0, 1.0), eta=eta), Constant(Diagonal(-np.ones(1)))]
    oracle = Compared(OverOracles(inside, learners.Hedge(gamma=gamma)), [Identity()])
    one = np.ones(1)
    state = oracle.init(one)
    for t in range(2 * pairs + last):
        sign = (-1.0) ** (t + 1) if t < 2 * pairs else 1.0
        state = oracle.learn(state, LinearLoss(sign * one, one, 1.0))
    E = 2 * pairs + last
    terms = stated.over_oracles([math.log(2) / gamma, gamma / 2 * E], [eta / 2 * E])
    assert oracle.regret_bound(one, E) == pytest.approx(sum(terms), rel=1e-12)
    regret = float(state.regrets[0])
    assert 0.9 * sum(terms) < regret <= sum(terms)
    assert all(regret > sum(terms) - term / 2 for term in terms)


def test_circuits_of_circuits():
    inner = OverOracles([Constant(), OGD(BlockBox(shapes=[(1,), (1,)]))])
    for oracle in (
        Product([inner, OGD(Box())], [(2,), (1,)]),
        OverOracles([Product([OGD(SpectralBall()), Constant()], [(2,), (1,)]), OGD(Fantope(1)), Constant()]),
    ):
        check_oracle(oracle, np.zeros(3), rounds=16)


@in_every_library
@pytest.mark.parametrize("circuit", ["product", "over oracles"])
def test_the_contract_on_blocks(lib, circuit):
    shapes = [(2, 2), (1,)]
    x = lib.array(np.zeros(5))
    if circuit == "product":
        oracle = Product([OGD(LeftFactors((2, 2))), OGD(Box())], shapes)
    else:
        oracle = OverOracles([Constant(), OGD(Box()), OGD(BlockBox(shapes=shapes))], learners.Hedge())
    check_oracle(oracle, x, shapes=shapes, regret=False)
    check_oracle(oracle, split(x, shapes), rounds=4, regret=lib is NUMPY)


def test_a_fantope_beside_the_identity_finds_the_projector_and_has_an_a_priori_certificate():
    """Noise off a line, and the descent loss: the weight goes to the learner over projectors of rank one."""
    d, T, line = 5, 300, np.eye(5)[0]
    constants = Smooth.paper(M=4.0, beta=1.0, sigma=1.0, T=T)
    sample = lambda x, rng: np.sin(x) + 0.5 * (1 - line) * rng.choice([-1.0, 1.0], size=x.shape)
    oracle = OverOracles([Constant(), OGD(Fantope(1))])
    x1 = np.tile(line, (16, 1))
    found = minimize(sample, x1, oracle=oracle, constants=constants, kappa=16.0)
    assert np.mean(oracle.weights(found.state.oracle)[:, 1]) > 0.6
    assert np.mean(found.state.oracle.oracles[1].u[:, 0, 0]) > 2 / d
    assert found.a_priori.label == "a-priori"
    assert minimize(sample, x1, oracle=OGD(Fantope(1)), constants=constants).a_priori is None


def test_a_product_of_blocks_is_joined_like_the_array():
    """`split` and `join` see a matrix column by column, and so does the product on an array."""
    oracle, m = Product([OGD(LeftFactors((2, 2))), Constant(), Constant()], SHAPES), np.arange(1.0, 8.0)
    state = oracle.learn(oracle.init(m), LinearLoss(-m[::-1], m, 1.0))
    on_blocks = oracle.play(state, split(m, SHAPES)) @ split(m, SHAPES)
    np.testing.assert_allclose(join(on_blocks, SHAPES), oracle.play(state, m) @ m, rtol=0, atol=1e-13)
