"""Shampoo's direction against the algorithm of its paper in a plain loop, and as an expert of `Adaptive`."""

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power

from conftest import numpy_of
from contracts import NUMPY, in_every_library
from o2nc import Blocks, Smooth, SmoothConversion, minimize
from o2nc.directions import Adam, Direction, Momentum, Shampoo, Sign
from o2nc.learners import Hedge
from o2nc.losses import LinearLoss
from o2nc.operators import act
from o2nc.oracles import Adaptive
from o2nc.testing import check_oracle
from o2nc.vectors import mat, vec
from sentences import check

RNG = np.random.default_rng(0)
P, Q = 3, 2
SAMPLES = RNG.normal(size=(6, P, Q))
EPS = 0.1


def inverse_root(A):
    """By another algorithm, with a ridge of a ten-thousandth of the mean eigenvalue."""
    return fractional_matrix_power(A + 1e-4 * np.trace(A) / len(A) * np.eye(len(A)), -1 / 4)


def literal(samples, eps=EPS):
    """The steps of Algorithm 1 of Gupta, Koren and Singer (2018) with eta = 1, and a ridge."""
    L, R = eps * np.eye(P), eps * np.eye(Q)
    for G in samples:
        L, R = L + G @ G.T, R + G.T @ G
        yield inverse_root(L) @ G @ inverse_root(R)


def at_length(v):
    return 0.2 * v / np.sqrt(np.mean(v**2))


def unit(v):
    return v / np.linalg.norm(v)


def test_it_is_shampoo(xp):
    """With the sample as the tracker, after it was learned, it is the step of the algorithm at its length."""
    expert = Shampoo(eps=EPS)
    assert isinstance(expert, Direction)
    state = expert.init(Blocks((xp.array(np.zeros((P, Q))),)))
    for G, step in zip(SAMPLES, literal(SAMPLES), strict=True):
        m = Blocks((xp.array(G),))
        state = xp.transform(expert.learn)(state, m)
        found = numpy_of(xp.transform(expert.direction)(state, m).arrays[0])
        np.testing.assert_allclose(found, at_length(step), rtol=0, atol=1e-12)


def test_it_sees_the_past_only():
    """In `Adaptive` the direction of a round is made of the sums before it; in the first round it is the tracker."""
    oracle = Adaptive([Shampoo(shapes=[(P, Q)], eps=EPS)])
    state = oracle.init(np.zeros(P * Q))
    m = RNG.normal(size=P * Q)
    np.testing.assert_allclose(act(oracle.play(state, m), m), m, rtol=0, atol=1e-14)
    L, R = EPS * np.eye(P), EPS * np.eye(Q)
    for G in SAMPLES:
        M = RNG.normal(size=(P, Q))
        d = inverse_root(L) @ M @ inverse_root(R)
        found = act(oracle.play(state, vec(M)), vec(M))
        np.testing.assert_allclose(found, vec(np.linalg.norm(M) * unit(d)), rtol=0, atol=1e-12)
        state = oracle.learn(state, LinearLoss(vec(G), vec(M), 1.0))
        L, R = L + G @ G.T, R + G.T @ G


def test_an_array_in_batches_and_its_blocks(xp):
    """Column by column, replication by replication; the bias takes the fallback."""
    flat, blocks = Shampoo(shapes=[(P, Q), (4,)]), Shampoo()
    x = RNG.normal(size=(5, 3, P * Q + 4))  # five rounds of three replications
    state = flat.init(xp.array(x[0]))
    for s in x:
        state = flat.learn(state, xp.array(s))
    found = numpy_of(xp.transform(flat.direction)(state, xp.array(x[0])))
    for row in range(3):
        cut = lambda v: Blocks((xp.array(mat(v[:6], P, Q)), xp.array(v[6:])))
        one, adam = blocks.init(cut(x[0, row])), Adam().init(xp.array(x[0, row, 6:]))
        for s in x[:, row]:
            one, adam = blocks.learn(one, cut(s)), Adam().learn(adam, xp.array(s[6:]))
        d = blocks.direction(one, cut(x[0, row]))
        np.testing.assert_allclose(found[row, :6], vec(numpy_of(d.arrays[0])), rtol=0, atol=1e-12)
        whole = numpy_of(Adam().direction(one.other, cut(x[0, row])).arrays[1])
        np.testing.assert_allclose(found[row, 6:], whole, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            unit(whole), unit(numpy_of(Adam().direction(adam, xp.array(x[0, row, 6:])))), atol=1e-12
        )


def test_a_convolution_is_the_matrix_of_its_first_axis():
    K = RNG.normal(size=(2, 4, 3, 2, 2))
    shampoo = lambda s, m: Shampoo().direction(Shampoo().learn(Shampoo().init(m), s), m).arrays[0]
    tensor = shampoo(Blocks((K[0],)), Blocks((K[1],)))
    matrix = shampoo(Blocks((K[0].reshape(4, 12),)), Blocks((K[1].reshape(4, 12),)))
    np.testing.assert_allclose(tensor, matrix.reshape(K[0].shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_nan_and_the_dtype_of_the_vector(xp, dtype):
    """Also where samples are 0, of rank one, and large."""
    zero, e = np.zeros((P, Q)), np.eye(P, Q)
    one = np.ones((P, Q))
    expert = Shampoo()
    for s in (zero, one, 1e6 * one, 1e6 * e):
        state = expert.learn(expert.init(Blocks((xp.array(zero, dtype),))), Blocks((xp.array(s, dtype),)))
        for m in (zero, one, e):
            d = expert.direction(state, Blocks((xp.array(m, dtype),))).arrays[0]
            assert str(d.dtype).endswith(dtype)
            length = np.sqrt(np.mean(numpy_of(d).astype(float) ** 2))
            assert length == pytest.approx(0.2 * m.any(), rel=1e-5, abs=1e-12)


@in_every_library
def test_the_contract_of_an_oracle(lib):
    oracle = Adaptive([Momentum(), Shampoo(shapes=[(2, 2), (1,)])], Hedge(gamma=0.5))
    check_oracle(oracle, lib.array(np.zeros(5)), shapes=[(2, 2), (1,)], regret=lib is NUMPY, rounds=16)


def test_it_halves_the_scales_of_rows_and_columns_in_logarithms():
    """Samples with the entries a_i b_j of a matrix one by one: L and R are a^2 and b^2, and ab becomes its root."""
    a, b = np.asarray([1.0, 0.5, 0.25]), np.asarray([1.0, 0.3])  # well above the ridge
    expert, m = Shampoo(eps=1e-30), a[:, None] * b
    state = expert.init(Blocks((m,)))
    for k in range(P * Q):
        state = expert.learn(state, Blocks((m * np.eye(P * Q)[k].reshape(P, Q),)))
    found = expert.direction(state, Blocks((m,))).arrays[0]
    np.testing.assert_allclose(found, at_length(np.sqrt(m)), rtol=1e-3)


def test_a_run_inside_theorem_1():
    constants, shapes = Smooth.paper(M=8.0, beta=1.0, sigma=0.3, T=60), [(2, 2)]
    oracle = Adaptive([Momentum(), Shampoo(shapes=shapes), Sign()])
    sample = lambda x, rng: np.sin(x) + 0.15 * rng.choice([-1.0, 1.0], size=x.shape)
    result = minimize(sample, np.ones((8, 4)), oracle=oracle, constants=constants)
    assert result.certificate.label == "a-posteriori"
    assert result.a_priori.label == "a-priori"
    assert np.all(np.isfinite(result.last))
    assert isinstance(SmoothConversion(oracle, constants).init(np.ones(4)).oracle.experts[1].L[0], np.ndarray)


WRONG = {
    "eps": (lambda: Shampoo(eps=0.0), ValueError, "`Shampoo(eps=...)`", "positive; got 0.0"),
    "shapes": (lambda: Shampoo(shapes=3), TypeError, "`Shampoo(shapes=...)`", "got 3"),
    "fallback": (lambda: Shampoo(fallback="adam"), TypeError, "`Shampoo(fallback=...)`", "got 'adam'"),
    "an array": (lambda: Shampoo().init(np.ones(3)), ValueError, "`Shampoo(shapes=...)` must be given", "got none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_sentences(name):
    call, kind, *parts = WRONG[name]
    check(call, kind, *parts)
