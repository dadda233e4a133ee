"""The polar factor of a matrix, exact and approximate."""

import math
from collections.abc import Sequence
from typing import Any

from .. import _xp
from .._xp import Array
from ..checks import brief
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


Coefficients = tuple[tuple[float, float, float], ...]  # of each step; the last are those of all steps after it

EXPRESS = (  # for singular values from 1/1000 to 1
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
)
SAFETY = 1.01  # rounding may bring singular values above 1, where these polynomials are wild

PRECISIONS = (None, "bfloat16", "float32", "float64")
COEFFICIENTS: dict[str, Coefficients] = {
    "standard": ((3.4445, -4.7750, 2.0315),),  # moves singular values to about 1 fast, and never settles there
    "dion": (
        (4.0848, -6.8946, 2.9270),
        (3.9505, -6.3029, 2.6377),
        (3.7418, -5.5913, 2.3037),
        (2.8769, -3.1427, 1.2046),
        (2.8366, -3.0525, 1.2012),
    ),
    "polar express": (*((a / SAFETY, b / SAFETY**3, c / SAFETY**5) for a, b, c in EXPRESS), (1.875, -1.25, 0.375)),
}


def check_steps(name: str, steps: Any, other: str = "") -> None:
    """Raise unless ``steps`` is a whole number of at least 1; ``other`` is what else it may be, for the message."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ValueError(f"`{name}` must be {other}a whole number of at least 1; got {steps!r}.")


def find_coefficients(name: str, given: Any) -> Coefficients:
    """The coefficients of each step, from a name, from three numbers or from a sequence of such; raise for others.

    >>> find_coefficients("coefficients", (1.5, -0.5, 0.0))
    ((1.5, -0.5, 0.0),)
    """
    if isinstance(given, str) and given in COEFFICIENTS:
        return COEFFICIENTS[given]
    try:
        steps = ((given,) if not isinstance(given[0], Sequence) else given) if not isinstance(given, str) else ()
        found = tuple((float(a), float(b), float(c)) for a, b, c in steps)
    except (TypeError, ValueError, IndexError, KeyError):
        found = ()
    if not found or not all(math.isfinite(value) for step in found for value in step):
        names = ", ".join(map(repr, COEFFICIENTS))
        raise ValueError(f"`{name}` must be {names}, three numbers, or three for each step; got {brief(given)}.")
    return found


def check_precision(name: str, precision: Any) -> None:
    """Raise unless this is None or the name of a dtype in which matrices can be multiplied."""
    if precision not in PRECISIONS:
        raise ValueError(f"`{name}` must be {', '.join(map(repr, PRECISIONS))}; got {brief(precision)}.")


def newton_schulz(
    A: Array, steps: int = 5, coefficients: str | Sequence[Any] = "standard", precision: str | None = None
) -> Array:
    r"""An approximate polar factor by Muon's quintic iteration, in float32 or wider; no SVD.

    $$X_0=A/\|A\|_F,\qquad X_{i+1}=aX_i+bX_iX_i^\top X_i+c(X_iX_i^\top)^2X_i.$$

    It acts on the singular values alone, and those that are 0 stay 0: they are masked, and the result for A = 0 is 0.
    With the "standard" coefficients (3.4445, -4.775, 2.0315) of Muon, singular values of A above $\|A\|_F/100$ are at
    0.68 to 1.14 after five steps, and smaller ones are on their way there. "dion" brings them to 0.97 to 1.04, and
    "polar express", whose coefficients differ from step to step, those above $\|A\|_F/1000$ to 0.84 to 1.13, and to 1
    in eight steps.

    Args:
        A: a matrix, of shape (..., p, q).
        steps: how many.
        coefficients: a name, (a, b, c), or a sequence of such for the first steps; the last are for all after them.
        precision: the dtype of the products, as "bfloat16", which is quicker where there are units for it; None is that
            of A, or float32 if A is narrower.

    Reference: Jordan et al. (2024); for "dion" Ahn et al. (2025), for "polar express" Amsel et al. (2025), Algorithm 1.

    >>> import numpy as np
    >>> newton_schulz(np.asarray([[2.0, 0.0], [0.0, 0.0]])).round(1)
    array([[0.7, 0. ],
           [0. , 0. ]])
    """
    check_matrix("A", A, "(..., p, q)")
    xp, each = _xp.namespace(A), find_coefficients("coefficients", coefficients)
    peak = xp.max(xp.abs(A), axis=(-2, -1), keepdims=True)
    dtype = xp.result_type(A.dtype, xp.float32)  # bfloat16 is slow where there are no units for it
    X = xp.astype(A / xp.where(peak > 0, peak, xp.ones_like(peak)), dtype)  # its squares neither over- nor underflow
    X = X / xp.sqrt(_xp.at_least(xp.sum(X * X, axis=(-2, -1), keepdims=True), 1.0))
    if precision is not None:
        if not hasattr(xp, precision):
            raise ValueError(f"`precision` must be a dtype that the library of `A` has; got {precision!r}.")
        X = xp.astype(X, getattr(xp, precision))
    tall = A.shape[-2] > A.shape[-1]
    X = xp.matrix_transpose(X) if tall else X  # the Gram matrix of the shorter side
    for a, b, c in (*each, *each[-1:] * steps)[:steps]:
        gram = xp.matmul(X, xp.matrix_transpose(X))
        X = _xp.multiply_add(X, _xp.multiply_add(gram, gram, gram, b, c), X, a, 1.0)
    return xp.astype(xp.matrix_transpose(X) if tall else X, A.dtype)
