"""Adaptive experts: legal operators for any short direction, the directions themselves, and learning between them."""

import numpy as np
import pytest

from conftest import numpy_of
from o2nc import Blocks, Smooth, SmoothConversion
from o2nc.certificates import theorem1, tight
from o2nc.directions import Adam, Mask, Momentum, Polar, Sign
from o2nc.learners import Hedge, ShortMemoryHedge
from o2nc.operators import Toward, act
from o2nc.oracles import Adaptive, Constant
from o2nc.oracles.adaptive import legal, shortened, with_length
from o2nc.vectors import vec

RNG = np.random.default_rng(0)
M = RNG.normal(size=(5, 4))
DIRECTIONS = RNG.normal(size=(5, 4))
DIRECTIONS *= (
    RNG.random((5, 1)) * np.linalg.norm(M, axis=-1, keepdims=True) / np.linalg.norm(DIRECTIONS, axis=-1, keepdims=True)
)


def dense(m, d):
    """The matrix of Toward, from its action on the unit vectors."""
    return np.stack([Toward(m, d) @ e for e in np.eye(len(m))], axis=-1)


def test_toward_is_a_symmetric_contraction_that_maps_m_to_d(xp):
    U = Toward(xp.array(M), xp.array(DIRECTIONS))
    np.testing.assert_allclose(numpy_of(act(U, xp.array(M))), DIRECTIONS, rtol=0, atol=1e-14)
    for m, d in zip(M, DIRECTIONS, strict=True):
        A = dense(m, d)
        np.testing.assert_allclose(A, A.T, rtol=0, atol=1e-14)
        assert np.linalg.norm(A, 2) == pytest.approx(np.linalg.norm(d) / np.linalg.norm(m), rel=1e-12)


@pytest.mark.parametrize("d", [np.zeros(4), M[0], -M[0], M[0] * (1 - 1e-9)], ids=["zero", "same", "opposite", "near"])
def test_toward_at_the_edges(d):
    np.testing.assert_allclose(Toward(M[0], d) @ M[0], d, rtol=0, atol=1e-13)
    assert np.linalg.norm(dense(M[0], d), 2) <= 1 + 1e-13


def test_no_nan_where_the_tracker_is_zero():
    zero = np.zeros(3)
    np.testing.assert_array_equal(Toward(zero, zero) @ np.ones(3), zero)
    for expert in (Momentum(), Sign(), Adam(), Polar(shapes=[(3, 1)])):
        np.testing.assert_array_equal(expert.direction(expert.init(zero), zero), zero)


def test_a_longer_direction_is_refused():
    with pytest.raises(ValueError, match=r"`Toward\(d=...\)` must have operator norm at most 1; got 2"):
        Toward(np.ones(3), 2 * np.ones(3))


def test_lengths(xp):
    d, m = xp.array(DIRECTIONS * 7), xp.array(M)
    norm = lambda v: np.linalg.norm(numpy_of(v), axis=-1)
    np.testing.assert_allclose(norm(with_length(d, m)), norm(m), rtol=1e-12)
    np.testing.assert_allclose(norm(shortened(d, m)), np.minimum(norm(d), norm(m)), rtol=1e-12)


def test_scale_free_directions_get_the_length_of_the_tracker_block_by_block(xp):
    X, b = RNG.normal(size=(3, 2)), 10 * RNG.normal(size=4)
    norm = lambda v: np.linalg.norm(numpy_of(v))
    for expert in (Sign(), Polar(), Adam()):
        m = Blocks((xp.array(X), xp.array(b)))
        d = legal(expert, expert.direction(expert.init(m), m), m)
        for ours, given in zip(d.arrays, m.arrays, strict=True):
            assert norm(ours) == pytest.approx(norm(given), rel=1e-12)
    flat, x = Polar(shapes=[(3, 2), (4,)]), xp.array(np.stack([np.concatenate([vec(X), b])] * 2))
    row = numpy_of(legal(flat, flat.direction(flat.init(x), x), x))[1]
    assert norm(row[:6]) == pytest.approx(norm(X), rel=1e-12)
    assert norm(row[6:]) == pytest.approx(norm(b), rel=1e-12)
    sign = numpy_of(legal(Sign(), Sign().direction((), xp.array([3.0, -4.0])), xp.array([3.0, -4.0])))
    np.testing.assert_allclose(sign, np.asarray([1, -1]) * 5 / 2**0.5, rtol=1e-12)


def test_one_expert_is_the_conversion_of_that_expert():
    """Momentum alone is the tracker with the identity."""
    constants, x = Smooth.paper(M=8.0, beta=1.0, sigma=0.5, T=30), np.full(4, 1.0)
    one, two = SmoothConversion(Adaptive([Momentum()]), constants), SmoothConversion(Constant(), constants)
    a, b = one.init(x), two.init(x)
    for _ in range(30):
        s = RNG.normal(size=4)
        da, a = one.update(s, a)
        db, b = two.update(s, b)
        np.testing.assert_allclose(da, db, rtol=0, atol=1e-15)


def test_the_learner_moves_to_the_expert_that_is_better_and_certificates_hold():
    """Noise on nine of ten coordinates: with the descent loss, Hedge leaves momentum for the mask."""
    runs, d, T = 32, 10, 400
    constants = Smooth.paper(M=2.0 * d, beta=1.0, sigma=0.9, T=T)
    mask = np.asarray([1.0] + [0.0] * 9)
    oracle = Adaptive([Momentum(), Mask(mask), Adam()], learner=Hedge(gamma=5.0))
    conversion = SmoothConversion(oracle, constants, kappa=16.0)
    rng = np.random.default_rng(1)
    x = np.tile(np.asarray([1.0] + [0.0] * 9), (runs, 1))
    state, total = conversion.init(x), 0.0
    for _ in range(T):
        g = np.sin(x)
        total += np.mean(np.sum(g * g, axis=-1))
        dx, state = conversion.update(g + 0.3 * (1 - mask) * rng.choice([-1.0, 1.0], size=x.shape), state)
        x = x + dx
    weights = oracle.weights(state.oracle)
    assert np.mean(weights[:, 1]) > 0.6 > 1 / 3  # the prior
    assert theorem1(constants, float(np.mean(state.regret)), measured=total / T).holds
    sums = (v.ravel().tolist() for v in (state.Q, state.N, state.W))
    assert tight(constants, *sums, first=np.sin(1.0) ** 2, measured=total / T).interval[1] >= total / T


def test_an_a_priori_bound_needs_momentum():
    x = np.ones(3)
    assert Adaptive([Adam(), Momentum()]).regret_bound(x, 4.0) > 0
    assert Adaptive([Adam(), Sign()]).regret_bound(x, 4.0) == float("inf")
    assert Adaptive([Momentum()], learner=ShortMemoryHedge()).regret_bound(x, 4.0) == float("inf")
    skewed = Adaptive([Adam(), Momentum()], learner=Hedge(gamma=1.0, prior=(0.1, 0.9)))
    assert skewed.regret_bound(x, 0.0) == pytest.approx(-np.log(0.9))


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Adaptive([]), r"`Adaptive\(experts=...\)` must have at least one direction"),
        (lambda: Adaptive(["adam"]), r"`Adaptive\(experts=...\)` must be directions of `o2nc.directions`; got 'adam'"),
        (lambda: Adaptive([Momentum()], learner=3), r"`Adaptive\(learner=...\)` must be a learner, as .*; got 3"),
        (lambda: Adaptive([Momentum()], learner=Hedge), r"`Adaptive\(learner=...\)` must be a learner"),
        (lambda: Adaptive([Momentum()], Hedge(prior=[0.5, 0.5])), r"`Hedge\(prior=...\)` must .* an expert, 1; got"),
    ],
)
def test_wrong_arguments_are_sentences(build, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        build()
