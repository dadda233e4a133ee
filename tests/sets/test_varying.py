"""Sets that change with the round, eager and traced."""

import math

import jax
import numpy as np

from conftest import BACKENDS, numpy_of
from o2nc import _xp
from o2nc.losses import LinearLoss
from o2nc.operators import Dense, Identity
from o2nc.oracles import OGD
from o2nc.sets import Box, Hull, Varying

D = 3
RNG = np.random.default_rng(0)
SWAP = np.eye(D)[::-1].copy()


def turning(xp):
    """The identity and a reversal that fades with t: the operators change, the weights are the coordinates."""
    return Varying(lambda t: Hull((Identity(), Dense(xp.array(SWAP) / numeric(t)))), holds_identity=True)


def numeric(t):
    """t as a floating number of its library, with the axes of a matrix."""
    return _xp.namespace(t).astype(_xp.namespace(t).reshape(t, (1, 1)), _xp.namespace(t).float64)


def test_ogd_on_a_varying_set(xp):
    """Eager and jitted, on every array library, against a literal loop."""
    oracle, T = OGD(turning(xp), eta=0.2), 8
    ss, m = RNG.normal(size=(T, 2, D)), RNG.normal(size=(2, D))
    learn = xp.transform(lambda state, s, m: oracle.learn(state, LinearLoss(s, m, 1.0)))
    state, w = oracle.init(xp.array(m)), np.full((2, 2), 0.5)
    for t in range(1, T + 1):
        np.testing.assert_allclose(numpy_of(state.u), w, rtol=0, atol=1e-12)
        played = numpy_of(oracle.play(state, xp.array(m)) @ xp.array(m))
        np.testing.assert_allclose(played, w[:, :1] * m + w[:, 1:] * m[:, ::-1] / t, rtol=0, atol=1e-12)
        g = -np.stack([np.sum(ss[t - 1] * m, axis=-1), np.sum(ss[t - 1] * m[:, ::-1] / t, axis=-1)], axis=-1)
        first = np.clip(w[:, 0] - 0.2 * g[:, 0] + (1 - np.sum(w - 0.2 * g, axis=-1)) / 2, 0, 1)  # K = 2
        w = np.stack([first, 1 - first], axis=-1)
        state = learn(state, xp.array(ss[t - 1]), xp.array(m))
    assert state.t.shape == (1,)
    assert int(numpy_of(state.t)[0]) == T + 1


def test_ogd_on_a_varying_set_inside_scan():
    xp = next(b for b in BACKENDS if b.name == "jax")
    oracle, ss, m = OGD(turning(xp)), xp.array(RNG.normal(size=(6, D))), xp.array(RNG.normal(size=D))
    step = lambda state, s: (oracle.learn(state, LinearLoss(s, m, 1.0)), state.u)
    end, _ = jax.lax.scan(step, oracle.init(m), ss)
    state = oracle.init(m)
    for s in ss:
        state = oracle.learn(state, LinearLoss(s, m, 1.0))
    np.testing.assert_allclose(numpy_of(end.u), numpy_of(state.u), rtol=0, atol=1e-14)


def test_what_a_varying_set_says_is_what_its_first_set_says():
    S = Varying(lambda t: Box(0.5 - 0.5 / int(t[0]), 1.0), holds_identity=True)
    x = np.zeros((2, D))
    assert S.diameter(x) == math.sqrt(3)
    assert S.sup_diameter(x) == S.gradient_factor(x) == 1
    np.testing.assert_array_equal(S.start(x), np.ones((2, D)))
    np.testing.assert_array_equal(S.identity(x), np.ones((2, D)))
    assert S.at(np.asarray([2])) == Box(0.25, 1.0)
    assert Varying(lambda t: Box()).identity(x) is None
