"""Leon: the augmented leader of displacements, a damped polar factor."""

from dataclasses import dataclass
from typing import Any, ClassVar

from .._xp import Array
from ..certificates import augmented_leader
from ..certificates.leaders import OWN
from ..checks import check_number
from ..conversions.base import registry
from ..operators import damped_polar
from .exponentiated import ExponentiatedConversion
from .matrix_learner import MatrixLearner


@dataclass(frozen=True)
class Leon(MatrixLearner):
    r"""Follow the augmented leader with a discount: $\Delta_{t+1}=-D\,(M_tM_t^\top+\eta^2V_t)^{-1/2}M_t$, a block.

    $$\Delta_1=0,\qquad M_t=\sum_{i\le t}b^{t-i}S_i,\qquad V_t=\sum_{i\le t}b^{2(t-i)}S_iS_i^\top,$$

    with $S_i$ a block of the sample as a matrix, transposed if it has more rows than columns. Without the damping
    $V_t$ it is Muon's polar factor; a vector is a matrix of one row, where it is `ClippedFTRL` with a root for
    the maximum. Against every u whose blocks have operator norm at most D,
    $R_t\le(\eta+\frac1{2\eta}+\sqrt{1+\frac1{4\eta^2}})\,D\sum\mathrm{tr}V_t^{1/2}$, summed over the blocks: that of
    `o2nc.oracles.AugmentedLeader` for the losses $\langle b^{-i}S_i,\Delta\rangle$, times $b^t$.

    With `ExponentiatedConversion` it is an optimizer of nonsmooth nonconvex functions.

    Args:
        D: the radius, the largest singular value of a displacement before it is scaled.
        b: the discount, at least 0 and less than 1.
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        eta: the factor of the damping.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari, Adaptive matrix online learning through smoothing with guarantees
    for nonsmooth nonconvex optimization (2026), Leon, from its abstract; the constants are derived here.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> learner, x = Leon(D=0.1, b=0.5, eta=0.75), Blocks((np.zeros((2, 2)),))
    >>> learner.play(learner.learn(learner.init(x), Blocks((np.diag([4.0, -2.0]),)))).arrays[0].round(6) + 0.0
    array([[-0.08,  0.  ],
           [ 0.  ,  0.08]])
    """

    eta: float = OWN
    tuning: ClassVar[float] = augmented_leader(1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("Leon(eta=...)", self.eta, positive=True)

    def leader(self, M: Array, V: Array, k: int, state: Any) -> Array:
        """The damped polar factor."""
        return damped_polar(M, self.eta**2 * V)


registry.add(
    "leon", lambda _: ExponentiatedConversion(Leon(D=1.0, b=0.9, shapes=((2, 1), (1,))), T=100), "Leon, damped polar"
)
