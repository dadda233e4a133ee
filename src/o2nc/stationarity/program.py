"""The best witness that some atoms can make: a small convex program."""

from typing import Any, NamedTuple

from ..checks import brief, check_number
from .witness import Witness

MIXED = 1e-5  # how much of the given weights is kept, so that every atom has some
GIVEN = 1e-9  # the same, of the weights that are to be improved
EXACT = 1e-12  # of the sum of the weights, and of the mean in units of the largest distance


class Best(NamedTuple):
    """The best mixture of some atoms with a given mean.

    Reference: Definition 2, with the infimum over the mixtures only.

    >>> Best(value=0.5, weights=[1.0], u=[1.0], v=[0.0]).value
    0.5
    """

    value: float  # the measure of the mixture: an upper bound at its mean
    weights: Any  # of the atoms, (n,)
    u: Any  # the dual direction of the mean gradient, (d,), of norm at most 1
    v: Any  # the multiplier of the mean, (d,)


def best_mixture(atoms: Witness, y: Any, lam: float, weights: Any) -> Best:
    r"""The mixture of ``atoms`` with mean ``y`` and the smallest measure.

    $$\min_{p\ge0,\ \sum p_i=1,\ \sum p_i\bar y_i=y}\ \Bigl\|\sum_ip_i\bar g_i\Bigr\|
      +\lambda\sum_ip_i\bigl(v_i+\|\bar y_i-y\|^2\bigr).$$

    An atom is a point, or a witness of its own: the points of a run before a stored window count as one atom, so that
    nothing is cut off. A second-order cone program for Clarabel. The solver is exact to eight digits or so; its weights
    are corrected to the mean and the sum, and where that fails or does not help, ``weights`` are returned.

    Args:
        atoms: witnesses with the atoms on the first axis, NumPy arrays (n, d), (n, d), (n, 1).
        y: the mean, (d,).
        lam: the weight of the spread.
        weights: of a mixture that has this mean, (n,): the witness that is to be improved.

    Reference: Definition 2; Goulart and Chen, Clarabel: an interior-point solver for conic programs (2024).

    >>> import numpy as np
    >>> x = np.asarray([[-1.0], [-0.1], [0.3], [1.0]])
    >>> atoms = Witness(x, np.sign(x), np.zeros((4, 1)))
    >>> best = best_mixture(atoms, np.zeros(1), 1.0, np.asarray([0.5, 0.0, 0.0, 0.5]))
    >>> round(best.value, 3), best.weights.round(3).tolist()  # 1 before: no mean gradient, all of it spread
    (0.16, [0.111, 0.389, 0.5, 0.0])
    """
    import clarabel
    import numpy as np
    from scipy import sparse

    check_number("lam", lam, positive=True)
    n, d = atoms.y.shape
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or weights.min() < 0 or abs(weights.sum() - 1) > GIVEN:
        raise ValueError(f"`weights` must be {n} nonnegative numbers that sum to 1; got {brief(weights.tolist())}.")
    offset = atoms.y - y
    unit = float(np.abs(offset).max()) or 1.0
    size = unit + float(np.abs(y).max(initial=0.0))  # the mean is rounded in units of y, however close the atoms are
    if float(np.abs(weights @ offset).max()) > GIVEN * size:
        raise ValueError(
            f"`weights` must give the atoms the mean `y`; it is off by {np.abs(weights @ offset).max():.3g}."
        )
    cost = lam * (atoms.spread[:, 0] + np.sum(offset**2, axis=1))

    def value(p: Any) -> float:
        return float(np.linalg.norm(p @ atoms.g) + p @ cost)

    # variables (p, t): equalities, p >= 0, and (t, sum p g) in the second-order cone
    equal = np.vstack([np.ones((1, n)), offset.T / unit])
    rows = [
        sparse.hstack([sparse.csc_matrix(equal), sparse.csc_matrix((1 + d, 1))]),
        sparse.hstack([-sparse.eye(n), sparse.csc_matrix((n, 1))]),
        sparse.hstack([sparse.csc_matrix((1, n)), sparse.csc_matrix([[-1.0]])]),
        sparse.hstack([sparse.csc_matrix(-atoms.g.T), sparse.csc_matrix((d, 1))]),
    ]
    right = np.concatenate([[1.0], np.zeros(d), np.zeros(n), [0.0], np.zeros(d)])
    cones = [clarabel.ZeroConeT(1 + d), clarabel.NonnegativeConeT(n), clarabel.SecondOrderConeT(1 + d)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    linear = np.concatenate([cost, [1.0]])
    found = clarabel.DefaultSolver(
        sparse.csc_matrix((n + 1, n + 1)), linear, sparse.vstack(rows, format="csc"), right, cones, settings
    ).solve()
    p, z = np.asarray(found.x)[:n], np.asarray(found.z)
    p = (1 - MIXED) * np.clip(p, 0.0, None) + MIXED * weights
    for _ in range(2):  # factors 1 + <row, l> restore the equalities and keep the signs
        p = p * (1 + np.linalg.lstsq((equal * p) @ equal.T, right[: 1 + d] - equal @ p, rcond=None)[0] @ equal)
    exact = np.abs(equal @ p - right[: 1 + d]).max() <= EXACT
    if not exact or p.min() < 0 or value(p) > value(weights):
        p = np.asarray(weights)
    return Best(value(p), p, -z[-d:], z[1 : 1 + d] / unit)
