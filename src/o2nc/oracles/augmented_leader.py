"""Follow the augmented leader on the operator-norm ball."""

from dataclasses import dataclass

from .._xp import Array
from ..certificates import augmented_leader
from ..certificates.leaders import OWN
from ..checks import check_number
from ..learners.base import OPTIONAL
from ..operators import damped_polar
from .base import registry
from .matrix_leader import LeaderState, MatrixLeader


@dataclass(frozen=True, eq=False)
class AugmentedLeader(MatrixLeader):
    r"""Plays $X_t=-(S_{t-1}S_{t-1}^\top+\eta^2V_{t-1})^{-1/2}S_{t-1}$, a damped polar factor: no projection, no rate.

    $S_t=\sum_{i\le t}G_i$ and $V_t=\sum_{i\le t}G_iG_i^\top$ over the gradients of the losses in X, where the set is
    $\{c+\varrho X:\|X\|_{op}\le1\}$; on symmetric matrices the symmetric part of $X_t$ is played. It starts at c. The
    points do not change when all losses are multiplied by a positive number.

    Regret against every u of the set, for every sequence:
    $(\eta+\frac1{2\eta}+\sqrt{1+\frac1{4\eta^2}})\,\mathrm{tr}V_T^{1/2}$, that is $2.598\,\mathrm{tr}V_T^{1/2}$ for the
    default $\eta=\sqrt3/2$. It adapts to gradients of low rank: with all of them in r directions the trace is at most
    $\varrho\sqrt{r\sum_t\|g_t\|_F^2}$, with r = d at worst. The proof is on the page "Leaders on the operator-norm
    ball".

    Args:
        set: a ball of matrices, the same in every round: `SpectralBall`, `PositiveContractions`, `WideSpectral`,
            `Contractions`, or `LeftFactors` and `RightFactors` of such.
        eta: the factor of the damping.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari (2026), follow the augmented matrix leader. The damping without a
    multiple of the identity and the constant are derived here; Kovalev (2026) shows in another way that none is needed.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import SpectralBall
    >>> oracle, m = AugmentedLeader(SpectralBall(), eta=0.75), np.asarray([1.0, 0.0])
    >>> round(float(oracle.learn(oracle.init(m), LinearLoss(s=-m, m=m, scale=1.0)).u[0, 0]), 6)
    -0.8
    """

    eta: float = OWN

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("AugmentedLeader(eta=...)", self.eta, positive=True)

    def leader(self, state: LeaderState) -> Array:
        """The damped polar factor."""
        return damped_polar(state.S, self.eta**2 * state.V)

    def bound(self, trace: float, u: Array) -> float:
        """That of the theorem."""
        return augmented_leader(trace, self.eta)


registry.add(
    "augmented-leader", lambda S, rate, C: AugmentedLeader(S, *([] if rate is None else [rate])),
    "a damped polar factor of the gradients' sum, no projection", rate=OPTIONAL,
)  # fmt: skip
