"""Polar factors of a matrix that is smoothed by its past: damped by it, or perturbed."""

import random

from .. import _xp
from .._xp import Array

ROUNDING = 100  # an eigenvalue is 0 if it is smaller than this many roundings of the largest one
EXTRA = 4  # times as many columns of noise beside those of the matrix as it has rows: enough for a norm of some 3


def damped_polar(G: Array, L: Array) -> Array:
    r"""The damped polar factor $(GG^\top+L)^{-1/2}G$, of norm at most 1.

    It is the gradient of $\mathrm{tr}(GG^\top+L)^{1/2}$, the nuclear norm of the augmented matrix $[G,L^{1/2}]$; of the
    polar factor of that matrix it is the columns of G. Eigenvalues of $GG^\top+L$ below the rounding of the largest one
    are taken as zero, where the inverse is 0.

    Args:
        G: a matrix, of shape (..., p, q).
        L: the damping, symmetric and positive semidefinite, of shape (..., p, p); with (..., q, q) it is that of the
            columns, and the result $G(G^\top G+L)^{-1/2}$.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari (2026), follow the augmented matrix leader.

    >>> import numpy as np
    >>> damped_polar(np.asarray([[3.0, 0.0], [0.0, 0.0]]), np.diag([16.0, 0.0]))
    array([[0.6, 0. ],
           [0. , 0. ]])
    """
    xp = _xp.namespace(G)
    if L.shape[-1] != G.shape[-2]:
        return xp.matrix_transpose(damped_polar(xp.matrix_transpose(G), L))
    w, Q = _xp.eigh(xp.matmul(G, xp.matrix_transpose(G)) + L)
    root = xp.sqrt(_xp.inverse(_nonzero(w)))
    return xp.matmul(Q * root[..., None, :], xp.matmul(xp.matrix_transpose(Q), G))


def perturbed_polar(G: Array, L: Array, N: Array) -> Array:
    r"""The mean over the draws N, with both signs, of the polar factor of $[G,0]+L^{1/2}N$, cut to the columns of G.

    With $L^{1/2}N=[Z_1,Z_2]$, those are the polar factors of $G\pm Z_1$ damped by $Z_2Z_2^\top$. Its norm is at most 1.

    Args:
        G: a matrix, of shape (..., p, q).
        L: the covariance of a column of the noise, symmetric and positive semidefinite, of shape (..., p, p); with
            (..., q, q) all is done to the transposed matrix.
        N: the draws, of shape (K, p, n) with n at least q; for a transposed matrix (K, q, n) with n at least p.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari (2026), follow the perturbed leader; the columns beside those of G
    are this library's.

    >>> import numpy as np
    >>> G, L, N = np.asarray([[3.0]]), np.asarray([[4.0]]), np.asarray([[[0.0, 2.0]]])
    >>> perturbed_polar(G, L, N)
    array([[0.6]])
    """
    xp, q, root = _xp.namespace(G), G.shape[-1], root_of(L)
    if L.shape[-1] != G.shape[-2]:
        return xp.matrix_transpose(perturbed_polar(xp.matrix_transpose(G), L, N))
    noise = [xp.matmul(root, N[k, ...]) for k in range(N.shape[0])]
    beside = [xp.matmul(Z[..., q:], xp.matrix_transpose(Z[..., q:])) for Z in noise]
    pairs = [
        (damped_polar(G + Z[..., :q], L), damped_polar(G - Z[..., :q], L)) for Z, L in zip(noise, beside, strict=True)
    ]
    return sum((a + b for a, b in pairs[1:]), start=pairs[0][0] + pairs[0][1]) / (2 * len(pairs))


def shorter_square(G: Array) -> Array:
    """G G^T, or G^T G if that is smaller: what damps or perturbs G from its shorter side.

    >>> import numpy as np
    >>> shorter_square(np.asarray([[1.0], [2.0]]))
    array([[5.]])
    """
    xp = _xp.namespace(G)
    T = xp.matrix_transpose(G)
    return xp.matmul(G, T) if G.shape[-2] <= G.shape[-1] else xp.matmul(T, G)


def root_of(L: Array) -> Array:
    """The root of a positive semidefinite matrix, of which eigenvalues that are 0 but for rounding have the root 0."""
    return _xp.spectral_map(lambda w: _xp.namespace(w).sqrt(_nonzero(w)), L)


def _nonzero(w: Array) -> Array:
    """Eigenvalues, and 0 for those below the rounding of the largest one, whose root would not be small."""
    xp = _xp.namespace(w)
    rounding = ROUNDING * w.shape[-1] * _xp.machine_eps(w) * _xp.largest(xp.abs(w))
    return xp.where(w > rounding, w, xp.zeros_like(w))


def gaussian_draws(draws: int, shape: tuple[int, int], seed: int, v: Array) -> tuple[Array, Array]:
    r"""Standard normal matrices with more columns than ``shape`` = (p, q), scaled, and the mean of their norms, (1,).

    There are ``EXTRA`` times p columns beside the first q. Each matrix is divided by the least singular value of those
    beside, which is then 1.

    Args:
        draws: how many, K.
        shape: (p, q).
        seed: of the generator; the same numbers on every array library.
        v: an array whose library, dtype and device the draws have.

    Reference: none.

    >>> import numpy as np
    >>> N, kappa = gaussian_draws(2, (3, 3), 0, np.zeros(1))
    >>> N.shape, round(float(np.linalg.svd(N[0, :, 3:])[1].min()), 6), bool(kappa > 1)
    ((2, 3, 15), 1.0, True)
    """
    p, q = shape
    xp, N = _xp.namespace(v), _xp.like(_normals(draws, p, q + EXTRA * p, seed), v)
    N = N / xp.min(xp.linalg.svdvals(N[..., q:]), axis=-1)[:, None, None]
    return N, xp.mean(xp.max(xp.linalg.svdvals(N), axis=-1), keepdims=True)


def _normals(draws: int, rows: int, columns: int, seed: int) -> list[list[list[float]]]:
    normal = random.Random(seed).gauss
    return [[[normal(0.0, 1.0) for _ in range(columns)] for _ in range(rows)] for _ in range(draws)]
