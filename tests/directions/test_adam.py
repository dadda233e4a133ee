"""Adam's direction against torch's Adam, and its arguments."""

import numpy as np
import pytest
import torch

from conftest import numpy_of
from o2nc import Blocks
from o2nc.directions import Adam
from sentences import check

RNG = np.random.default_rng(0)


def test_it_is_adam_without_momentum(xp):
    """torch's Adam with beta1 = 0 moves by lr s_t / (sqrt(v_t / c_t) + eps); so with m = s_t after s_t was learned."""
    expert = Adam(b2=0.9, eps=1e-3)
    parameter = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([parameter], lr=1.0, betas=(0.0, 0.9), eps=1e-3)
    state = expert.init(xp.array(np.zeros(4)))
    for t in range(6):
        s, before = RNG.normal(size=4), parameter.detach().numpy().copy()
        parameter.grad = torch.asarray(s)
        adam.step()
        state = expert.learn(state, xp.array(s))
        d = numpy_of(expert.direction(state, xp.array(s)))
        np.testing.assert_allclose(d, before - parameter.detach().numpy(), rtol=0, atol=1e-12, err_msg=str(t))


def test_replications_and_blocks_are_the_same_numbers():
    s, m = RNG.normal(size=(2, 3, 5))
    rows, adam = Adam(), Adam()
    d = rows.direction(rows.learn(rows.init(m), s), m)
    for row in range(3):
        one = Blocks((m[row, :2], m[row, 2:]))
        state = adam.learn(adam.init(one), Blocks((s[row, :2], s[row, 2:])))
        np.testing.assert_allclose(np.concatenate(adam.direction(state, one).arrays), d[row], rtol=1e-14)


@pytest.mark.parametrize("eps", [0.0, 1e-8])
def test_a_coordinate_without_gradients_stands_still(eps):
    adam = Adam(eps=eps)
    state = adam.learn(adam.init(np.zeros(2)), np.asarray([3.0, 0.0]))
    np.testing.assert_allclose(adam.direction(state, np.asarray([1.5, 0.0])), [0.5, 0.0], atol=1e-8)


def test_wrong_arguments_are_sentences():
    check(lambda: Adam(b2=1.0), ValueError, "`Adam(b2=...)`", "less than 1; got 1.0")
    check(lambda: Adam(eps=-1.0), ValueError, "`Adam(eps=...)`", "nonnegative; got -1.0")
