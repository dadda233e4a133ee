"""Follow the perturbed leader on the operator-norm ball."""

from dataclasses import dataclass
from typing import NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import perturbed_leader
from ..checks import check_number, check_seed
from ..learners.base import OPTIONAL
from ..operators import gaussian_draws, perturbed_polar
from ..operators.polar_factor import check_steps
from ..vectors import Vector
from .base import registry
from .matrix_leader import MatrixLeader


class PerturbedState(NamedTuple):
    """What the perturbed leader remembers."""

    u: Array  # the point to play
    S: Array  # sum of the gradients G in X, like u
    V: Array  # sum of their squares G G^T, like u
    t: Array  # the round, counted from 1, (1,)
    N: Array  # the draws times eta, the same in all rounds and replications, (K, p, n)


@dataclass(frozen=True, eq=False)
class PerturbedLeader(MatrixLeader):
    r"""Plays minus the polar factor of the gradients' sum and Gaussian noise of its size: no projection, no rate.

    $X_t$ is made of the first p columns of $-\mathrm{polar}([S_{t-1},0]\pm\eta V_{t-1}^{1/2}N)$, averaged over the
    signs and the draws N, with $S_t=\sum_{i\le t}G_i$ and $V_t=\sum_{i\le t}G_iG_i^\top$ over the gradients in X, where
    the set is $\{c+\varrho X:\|X\|_{op}\le1\}$; on symmetric matrices the symmetric part is played. N is a standard
    normal matrix of p rows and 5p columns, divided by the least singular value of its last 4p columns. It is drawn
    from the seed before round 1 and kept, so that the oracle is a function of its seed, the same in every array
    library.

    Regret against every u of the set, for every sequence, with $\kappa$ the mean of $\|N\|_{op}$ over the draws:
    $(\frac1\eta+(1+\kappa)\eta)\,\mathrm{tr}V_T^{1/2}$, that is $2\sqrt{1+\kappa}\,\mathrm{tr}V_T^{1/2}$ for the
    default $\eta$; $\kappa$ is 3.2 for large p. The noise in the columns beside those of S makes it hold without an
    expectation, and against somebody who knows N. The proof is on the page "Leaders on the operator-norm ball".

    Args:
        set: a ball of matrices, the same in every round: `SpectralBall`, `PositiveContractions`, `WideSpectral`,
            `Contractions`, or `LeftFactors` and `RightFactors` of such.
        eta: the factor of the noise, or None for $1/\sqrt{1+\kappa}$.
        draws: how many matrices N the polar factor is averaged over.
        seed: from which they are drawn.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari (2026), follow the perturbed leader with Gaussian smoothing, where
    the noise is drawn anew in every round. The columns beside those of S, and the bound, are derived here.

    >>> import numpy as np
    >>> from o2nc.losses import LinearLoss
    >>> from o2nc.sets import SpectralBall
    >>> oracle, m = PerturbedLeader(SpectralBall()), np.asarray([1.0, 0.0])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=-m, m=m, scale=1.0))
    >>> bool(-1 < state.u[0, 0] < 0)
    True
    """

    eta: float | None = None
    draws: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_number("PerturbedLeader(eta=...)", self.eta, positive=True)
        check_steps("PerturbedLeader(draws=...)", self.draws)
        check_seed(self.seed)

    def init(self, x: Vector) -> PerturbedState:
        """The centre of the ball, and the draws."""
        state = super().init(x)
        N, kappa = self._drawn(state.u)
        eta = 1 / _xp.namespace(kappa).sqrt(1 + kappa) if self.eta is None else self.eta
        return PerturbedState(u=state.u, S=state.S, V=state.V, t=state.t, N=eta * N)

    def leader(self, state: PerturbedState) -> Array:
        """The polar factor of the sum and the noise."""
        return perturbed_polar(state.S, state.V, state.N)

    def bound(self, trace: float, u: Array) -> float:
        """That of the theorem."""
        return perturbed_leader(trace, _xp.number(self._drawn(u)[1]), self.eta)

    def _drawn(self, u: Array) -> tuple[Array, Array]:
        p, q = u.shape[-2:]
        return gaussian_draws(self.draws, (p, q), self.seed, u)


registry.add(
    "perturbed-leader", lambda S, rate, C: PerturbedLeader(S, rate),
    "the polar factor of the gradients' sum and Gaussian noise, no projection", rate=OPTIONAL,
)  # fmt: skip
