"""Algorithm 1 for a horizon that nobody knows: phases, each twice as long as the one before."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..constants import Smooth
from ..oracles.base import Oracle
from ..vectors import Vector, leaf, where, zeros_like
from .smooth import SmoothConversion, SmoothState, check_smooth, one_round


class DoublingState(NamedTuple):
    """What is remembered of the run, and where in which phase it is."""

    run: SmoothState  # what Algorithm 1 remembers; its sums are those of all phases
    t: Array  # the round of the phase, from 1 to T, (1,)
    T: Array  # the length of the phase, (1,)

    @property
    def oracle(self) -> Any:
        """The oracle's state, where front ends look for it."""
        return self.run.oracle

    @property
    def regret(self) -> Array:
        """The regret of all rounds so far, (..., 1)."""
        return self.run.regret

    @property
    def clipped(self) -> Array:
        """Rounds in which the projection of the tracker was active, (..., 1)."""
        return self.run.clipped


@dataclass(frozen=True, eq=False)
class DoublingConversion:
    r"""Algorithm 1 in phases of $T_i=2^iT_0$ rounds, $i=0,1,2,\dots$: the horizon need not be known.

    $$a_i=\frac G{\max\{G,\sigma\sqrt{T_i}\}},\qquad\eta_i=\frac{a_i}{64\beta},\qquad m=0\ \text{when a phase begins.}$$

    A phase begins where the one before ended. Its tracker and its rates are new; the oracle goes on as if there were no
    phases, since the proof asks for the sum of the regrets of the phases only, and that is the regret of the whole run.
    `o2nc.certificates.theorem1_doubling` bounds the average squared gradient after every round, whether or not a phase
    is over.

    Args:
        oracle: the online learner.
        constants: `Smooth`, whose ``T`` is $T_0$, the length of the first phase.
        kappa: as in `SmoothConversion`.

    Reference: Theorem 1 with phases, in the theory pages.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = DoublingConversion(Constant(), Smooth(M=2.0, beta=1.0, sigma=1.0, T=4))
    >>> state = conversion.init(np.asarray([3.0]))
    >>> for _ in range(14):
    ...     dx, state = conversion.update(np.asarray([1.0]), state)
    >>> [int(state.t[0]), int(state.T[0])]  # 4 + 8 rounds are over, and 2 of 16
    [3, 16]
    """

    oracle: Oracle
    constants: Smooth
    kappa: float = 0.0

    def __post_init__(self) -> None:
        check_smooth(self.oracle, self.constants, self.kappa)

    def init(self, x: Vector) -> DoublingState:
        """The first round of the first phase."""
        run = SmoothConversion(self.oracle, self.constants, self.kappa).init(x)
        t = _xp.first_round(leaf(x))
        return DoublingState(run=run, t=t, T=t * self.constants.T)

    def update(
        self, s: Vector, state: DoublingState, x: Vector | None = None, *, r: Any = None
    ) -> tuple[Vector, DoublingState]:
        """One round of Algorithm 1 with the rates of its phase. Neither ``x`` nor ``r`` is used."""
        c, T = self.constants, _xp.like(state.T, leaf(state.run.m))
        a = c.G / _xp.namespace(T).sqrt(_xp.at_least(c.sigma**2 * T, c.G**2))
        dx, run = one_round(self, s, state.run, a, a / (64 * c.beta))
        is_last, xp = state.t == state.T, _xp.namespace(state.t)
        return dx, DoublingState(
            run=run._replace(m=where(is_last, zeros_like(run.m), run.m)),
            t=xp.where(is_last, xp.ones_like(state.t), state.t + 1),
            T=xp.where(is_last, 2 * state.T, state.T),
        )
