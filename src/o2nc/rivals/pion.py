"""Pion: the perturbed leader of displacements."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import perturbed_leader
from ..checks import check_number, check_seed
from ..conversions.base import registry
from ..operators import gaussian_draws, perturbed_polar
from ..operators.polar_factor import check_steps
from ..vectors import Blocks, Vector
from .exponentiated import ExponentiatedConversion
from .matrix_learner import MatrixLearner


class PionState(NamedTuple):
    """What Pion remembers."""

    M: Vector  # the sum of b^{t-i} s_i
    V: Blocks  # for each block as a matrix S the sum of b^{2(t-i)} S_i S_i^T, or of S_i^T S_i if that is smaller
    N: Blocks  # for each block the draws times eta, the same in all rounds and replications, (K, p, n)


@dataclass(frozen=True)
class Pion(MatrixLearner):
    r"""Follow the perturbed leader with a discount: $\Delta_{t+1}=-D\,\mathrm{polar}([M_t,0]\pm\eta V_t^{1/2}N)$, cut.

    $M_t$ and $V_t$ are those of `Leon`. Of the polar factors the columns of $M_t$ are averaged over the signs and
    the draws.
    N is as in `o2nc.oracles.PerturbedLeader`: a Gaussian matrix, scaled, drawn from the seed before round 1 and kept.
    Against every u whose blocks have operator norm at most D,
    $R_t\le(\frac1\eta+(1+\kappa)\eta)D\sum\mathrm{tr}V_t^{1/2}$, summed over the blocks, with $\kappa=\|N\|_{op}$.

    Another optimizer is called Pion as well, that of Shi et al. (2026), which turns the weights from both sides by
    orthogonal matrices and keeps their singular values. This one has nothing to do with it.

    Args:
        D: the radius, the largest singular value of a displacement before it is scaled.
        b: the discount, at least 0 and less than 1.
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        eta: the factor of the noise, or None for $1/\sqrt{1+\kappa}$ of each block.
        draws: how many matrices N the polar factor is averaged over.
        seed: from which they are drawn.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari, Adaptive matrix online learning through smoothing with guarantees
    for nonsmooth nonconvex optimization (2026), Pion, from its abstract; kept draws, their columns and the constants
    are derived here.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> learner, x = Pion(D=0.1, b=0.5), Blocks((np.zeros((2, 3)),))
    >>> state = learner.init(x)
    >>> for _ in range(100):
    ...     state = learner.learn(state, Blocks((np.eye(2, 3),)))
    >>> bool(abs(learner.play(state).arrays[0]).max() <= 0.1)
    True
    """

    eta: float | None = None
    draws: int = 1
    seed: int = 0
    tuning: ClassVar[float] = perturbed_leader(1.0, 1 + math.sqrt(5))  # of large matrices

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta is not None:
            check_number("Pion(eta=...)", self.eta, positive=True)
        check_steps("Pion(draws=...)", self.draws)
        check_seed(self.seed)

    def init(self, x: Vector) -> PionState:
        """Nothing seen, and the draws."""
        state = super().init(x)
        return PionState(M=state.M, V=state.V, N=Blocks(tuple(self._drawn(A) for A in self.matrices(x))))

    def leader(self, M: Array, V: Array, k: int, state: Any) -> Array:
        """The polar factor of the sum and the noise."""
        return perturbed_polar(M, V, state.N.arrays[k])

    def _drawn(self, A: Array) -> Array:
        p, q = sorted(A.shape[-2:])
        N, kappa = gaussian_draws(self.draws, (p, q), self.seed, A)
        return N * (1 / _xp.namespace(A).sqrt(1 + kappa) if self.eta is None else self.eta)


registry.add(
    "pion", lambda _: ExponentiatedConversion(Pion(D=1.0, b=0.9, shapes=((2, 1), (1,))), T=100), "Pion, perturbed polar"
)
