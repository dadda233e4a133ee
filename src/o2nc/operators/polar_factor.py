"""The polar factor of a matrix, exact and approximate."""

from .. import _xp
from .._xp import Array
from .base import check_matrix


def polar(A: Array) -> Array:
    r"""The polar factor $UV^\top$ of $A=U\Sigma V^\top$ in compact form; polar(0) = 0.

    It maximises $\langle A,Z\rangle$ over $\|Z\|_{op}\le 1$. Singular values below the rounding of the largest one are
    taken as zero.

    Reference: Notations and Paper Structure.

    >>> import numpy as np
    >>> polar(np.asarray([[2.0, 0.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    check_matrix("A", A, "(..., p, q)")
    xp = _xp.namespace(A)
    U, sigma, Vh = xp.linalg.svd(A, full_matrices=False)
    threshold = max(A.shape[-2:]) * _xp.machine_eps(A) * xp.max(sigma, axis=-1, keepdims=True)
    positive = xp.astype(sigma > threshold, A.dtype)
    return xp.matmul(U * positive[..., None, :], Vh)


QUINTIC = (3.4445, -4.7750, 2.0315)  # moves singular values in (0, 1] to about 1 fast, and never settles there


def newton_schulz(A: Array, steps: int = 5) -> Array:
    r"""An approximate polar factor by Muon's quintic iteration, in float32 or wider; no SVD.

    $$X_0=A/\|A\|_F,\qquad X_{i+1}=3.4445\,X_i-4.775\,X_iX_i^\top X_i+2.0315\,(X_iX_i^\top)^2X_i.$$

    It acts on the singular values alone. After five steps those of A above $\|A\|_F/100$ are at 0.68 to 1.14, smaller
    ones are on their way there, and those that are 0 stay 0: they are masked, and the result for A = 0 is 0.

    Args:
        A: a matrix, of shape (..., p, q).
        steps: how many.

    Reference: Jordan et al. (2024).

    >>> import numpy as np
    >>> newton_schulz(np.asarray([[2.0, 0.0], [0.0, 0.0]])).round(1)
    array([[0.7, 0. ],
           [0. , 0. ]])
    """
    check_matrix("A", A, "(..., p, q)")
    xp, (a, b, c) = _xp.namespace(A), QUINTIC
    peak = xp.max(xp.abs(A), axis=(-2, -1), keepdims=True)
    dtype = xp.result_type(A.dtype, xp.float32)  # bfloat16 is slow where there are no units for it
    X = xp.astype(A / xp.where(peak > 0, peak, xp.ones_like(peak)), dtype)  # its squares neither over- nor underflow
    X = X / xp.sqrt(_xp.at_least(xp.sum(X * X, axis=(-2, -1), keepdims=True), 1.0))
    tall = A.shape[-2] > A.shape[-1]
    X = xp.matrix_transpose(X) if tall else X  # the Gram matrix of the shorter side
    for _ in range(steps):
        gram = xp.matmul(X, xp.matrix_transpose(X))
        X = _xp.multiply_add(X, _xp.multiply_add(gram, gram, gram, b, c), X, a, 1.0)
    return xp.astype(xp.matrix_transpose(X) if tall else X, A.dtype)
