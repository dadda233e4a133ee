"""Heavy ball and Adam against torch.optim."""

import numpy as np
import pytest
import torch

from o2nc.rivals import Adam, HeavyBall


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (HeavyBall(eta=0.02), lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9)),
        (HeavyBall(eta=0.1, mu=0.0), lambda p: torch.optim.SGD(p, lr=0.1)),
        (Adam(eta=0.02), lambda p: torch.optim.Adam(p, lr=0.02)),
        (
            Adam(eta=0.1, b1=0.5, b2=0.9, epsilon=1e-3),
            lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.5, 0.9), eps=1e-3),
        ),
    ],
)
def test_the_same_as_torch(ours, theirs):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 5))
    point = torch.tensor(x, requires_grad=True)
    optimizer, state = theirs([point]), ours.init(x)
    for noise in rng.normal(size=(300, 3, 5)):
        s = np.sin(x) + noise
        dx, state = ours.update(s, state, x)
        x = x + dx
        point.grad = torch.sin(point.detach()) + torch.tensor(noise)
        optimizer.step()
        np.testing.assert_allclose(x, point.detach().numpy(), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: HeavyBall(eta=0.0), r"`HeavyBall\(eta=...\)` must be finite and positive; got 0.0"),
        (lambda: HeavyBall(eta=0.1, mu=1.0), r"`HeavyBall\(mu=...\)` must be at least 0 and less than 1; got 1.0"),
        (lambda: Adam(eta=0.1, b2=1.5), r"`Adam\(b2=...\)` must be at least 0 and less than 1; got 1.5"),
        (lambda: Adam(eta=0.1, epsilon=0.0), r"`Adam\(epsilon=...\)` must be finite and positive; got 0.0"),
    ],
)
def test_arguments_are_checked(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
