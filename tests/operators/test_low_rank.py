"""What is made of eigenvalues, on gradients of networks: of low rank, with zero rows, in single precision."""

import numpy as np
import pytest

from o2nc.operators import damped_polar, inverse_root, shorter_square
from o2nc.sets import SpectralBall

torch = pytest.importorskip("torch")


def gradients(seed):
    """Those of 16 ReLU layers, which hardly reach the first, and of a network on sparse inputs."""
    torch.manual_seed(seed)
    deep = torch.nn.Sequential(*(part for _ in range(16) for part in (torch.nn.Linear(64, 64), torch.nn.ReLU())))
    wide = torch.nn.Sequential(torch.nn.Linear(400, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    for model, x in ((deep, torch.randn(64, 64)), (wide, torch.randn(8, 400) * (torch.rand(8, 400) < 0.01))):
        model(x).square().mean().backward()
        yield from (p.grad for p in model.parameters() if p.ndim == 2)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_fails(seed):
    ball = SpectralBall()
    for G in gradients(seed):
        square = G.mT @ G
        for found in (damped_polar(G, shorter_square(G)), ball.project(square), ball.minimize(square)):
            assert found.isfinite().all()


@pytest.mark.parametrize("p", [2, 4])
def test_inverse_roots_are_those_of_eigenvalues(p):
    """In double precision to 1e-9; in single precision to what a ridge of 1e-4 leaves of its rounding."""
    for G in gradients(0):
        A = (G @ G.mT).double().numpy()
        w, Q = np.linalg.eigh(A + 1e-4 * np.trace(A) / len(A) * np.eye(len(A)))
        root = (Q * np.maximum(w, 1e-300) ** (-1 / p)) @ Q.T * (np.trace(A) > 0)
        for dtype, bound in ((torch.float64, 1e-9), (torch.float32, 0.02)):
            found = inverse_root(torch.tensor(A).to(dtype), p).double().numpy()
            if np.trace(A) > 1e-30:
                assert np.abs(found - root).max() < bound * np.abs(root).max()


def test_what_rounding_made_negative_does_not_grow():
    A = np.diag([1.0, -0.01])
    for p in (2, 4):
        found = inverse_root(A, p)
        assert np.isfinite(found).all()
        assert found[0, 0] == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(ValueError, match=r"^`p` must be 2 or 4; got 3\.$"):
        inverse_root(A, 3)


def test_what_has_no_root_is_a_sentence():
    with pytest.raises(ValueError, match=r"`A` must be square, of shape \(..., d, d\); got shape \(2, 3\)"):
        inverse_root(np.ones((2, 3)), 4)
    with pytest.raises(ValueError, match=r"`p` must be 2 or 4; got 3"):
        inverse_root(np.eye(2), 3)
