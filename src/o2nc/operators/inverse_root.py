"""Inverse roots of averages of squares, by products of matrices alone."""

import math

from .. import _xp
from .._xp import Array
from .base import check_matrix

RIDGE = 1e-4  # the part of the mean eigenvalue that is added to all of them
CAP = 2.0  # no entry of an iterate is above 1, unless rounding has made an eigenvalue negative


def inverse_root(A: Array, p: int) -> Array:
    r"""The root $(A+10^{-4}\bar\lambda I)^{-1/p}$ with $\bar\lambda=\mathrm{tr}A/d$, for p = 2 or 4; 0 for A = 0.

    With $M_0=A+10^{-4}\bar\lambda I$ over its Frobenius norm $\nu$ and $X_0=\nu^{-1/p}I$,

    $$T_i=\frac{(p+1)I-M_i}p,\qquad X_{i+1}=X_iT_i,\qquad M_{i+1}=T_i^pM_i.$$

    Eigenvalues of M grow to 1, the smallest ones by $(1+1/p)^p$ in a step, so that the number of steps follows from d.
    There is no factorisation that might fail. What rounding has made negative must not grow for ever: where it has
    grown to 2 the iteration ends. The ridge makes the root a continuous function of A, also where A has no full rank.

    Args:
        A: symmetric and positive semidefinite, of shape (..., d, d).
        p: 2 or 4.

    Reference: Guo and Higham (2006), A Schur-Newton method for the matrix pth root and its inverse; Iannazzo (2006).

    >>> import numpy as np
    >>> inverse_root(np.diag([16.0, 1.0]), 4).round(4) + 0.0
    array([[0.5   , 0.    ],
           [0.    , 0.9998]])
    """
    check_matrix("A", A, "(..., d, d)")
    if A.shape[-2] != A.shape[-1]:
        raise ValueError(f"`A` must be square, of shape (..., d, d); got shape {tuple(A.shape)}.")
    if p not in (2, 4):
        raise ValueError(f"`p` must be 2 or 4; got {p!r}.")
    xp, d = _xp.namespace(A), A.shape[-1]
    eye, A = _xp.eye(d, A), _xp.symmetric(A)
    peak = xp.max(xp.abs(A), axis=(-2, -1), keepdims=True)
    M = A * _xp.inverse(peak)  # its squares neither over- nor underflow
    M = M + RIDGE * xp.mean(xp.linalg.diagonal(M), axis=-1, keepdims=True)[..., None] * eye
    norm = xp.sqrt(_xp.at_least(xp.sum(M * M, axis=(-2, -1), keepdims=True), 1.0))
    steps = math.ceil(math.log(d * (1 + RIDGE) / RIDGE) / (p * math.log1p(1 / p))) + 7

    def step(value: tuple[Array, Array]) -> tuple[Array, Array]:
        X, M = value
        T = ((p + 1) * eye - M) / p
        power = T
        for _ in range(p.bit_length() - 1):
            power = xp.matmul(power, power)
        new = _xp.symmetric(xp.matmul(power, M))
        is_sound = xp.max(xp.abs(new), axis=(-2, -1), keepdims=True) <= CAP
        return xp.where(is_sound, xp.matmul(X, T), X), xp.where(is_sound, new, M)

    X, _ = _xp.repeat(step, steps, (eye + 0 * M, M / norm))
    root = _xp.inverse(peak) ** (1 / p)
    return X * root * (norm ** (-1 / p))
