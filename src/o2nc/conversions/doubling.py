"""Algorithm 1 for a horizon that nobody knows: phases, each twice as long as the one before."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import Certificate, theorem1_doubling
from ..certificates.declared import Descent
from ..certificates.theorem_1 import KAPPA_LIMIT
from ..constants import PaperSmooth, Smooth
from ..vectors import Vector, inner, leaf, where, zero_scalar, zeros_like
from .base import Answer, Conversion, Samples, registry
from .smooth import SmoothConversion
from .tracked import Tracked, checked, first_round


class DoublingState(NamedTuple):
    """What is remembered of the run, and where in which phase it is."""

    run: Tracked  # what Algorithm 1 remembers; its sums are those of all phases
    t: Array  # the round of the phase, from 1 to T, (1,)
    T: Array  # the length of the phase, (1,)
    paid: Array  # sum of -<s_t, dx_t> - beta |dx_t|^2 / 2, (..., 1)
    way: Array  # sum of |dx_t|^2, (..., 1)


@dataclass(frozen=True, eq=False)
class DoublingConversion(SmoothConversion):
    r"""Algorithm 1 in phases of $T_i=2^iT_0$ rounds, $i=0,1,2,\dots$: the horizon need not be known.

    $$a_i=\frac G{\max\{G,\sigma\sqrt{T_i}\}},\qquad\eta_i=\frac{a_i}{64\beta},\qquad m=0\ \text{when a phase begins.}$$

    A phase begins where the one before ended. Its tracker and its rates are new; the oracle goes on as if there were no
    phases, since the proof asks for the sum of the regrets of the phases only, and that is the regret of the whole run.
    `o2nc.certificates.theorem1_doubling` bounds the average squared gradient over every fixed number of rounds, whether
    or not a phase is over. Of a number of rounds that depends on the samples it says nothing.

    Args:
        oracle: the online learner.
        constants: `Smooth.paper`, whose ``T`` is $T_0$, the length of the first phase.
        kappa: as in `SmoothConversion`.

    Reference: Theorem 1 with phases, in the theory pages.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = DoublingConversion(Constant(), Smooth.paper(M=2.0, beta=1.0, sigma=1.0, T=4))
    >>> state = conversion.init(np.asarray([3.0]))
    >>> for _ in range(14):
    ...     dx, state = conversion.update(np.asarray([1.0]), state)
    >>> [int(state.t[0]), int(state.T[0])]  # 4 + 8 rounds are over, and 2 of 16
    [3, 16]
    """

    constants: PaperSmooth

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.constants, PaperSmooth):
            raise TypeError(
                f"`constants` must be Smooth.paper(M, beta, sigma, T): phases begin where the first gap is not known; "
                f"got {self.constants!r}."
            )
        if self.kappa >= KAPPA_LIMIT:
            raise ValueError(f"`kappa` must be below {KAPPA_LIMIT} = {float(KAPPA_LIMIT):.2f}; got {self.kappa}.")

    @property
    def horizon(self) -> int | None:
        """None: any number of rounds."""
        return None

    def init(self, x: Vector, *, tau: Any = None) -> DoublingState:
        """The first round of the first phase."""
        run, zero = first_round(self.oracle, x, self.claims, self.mark), zero_scalar(x)
        return DoublingState(run=run, t=run.t, T=run.t * self.constants.T, paid=zero, way=zero)

    def update(
        self, s: Vector, state: DoublingState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, DoublingState]:
        """One round of Algorithm 1 with the rates of its phase. Nothing else than the sample is used."""
        c, T = self.constants, _xp.like(state.T, leaf(state.run.m))
        a = c.G / _xp.namespace(T).sqrt(_xp.at_least(c.sigma**2 * T, c.G**2))
        dx, run = self.step(s, state.run, a, a / (64 * c.beta))
        length = inner(dx, dx)
        is_last, xp = state.t == state.T, _xp.namespace(state.t)
        return dx, DoublingState(
            run=run._replace(m=where(is_last, zeros_like(run.m), run.m)),
            t=xp.where(is_last, xp.ones_like(state.t), state.t + 1),
            T=xp.where(is_last, 2 * state.T, state.T),
            paid=state.paid - inner(s, dx) - c.beta / 2 * length,
            way=state.way + length,
        )

    def tracked(self, state: DoublingState) -> Tracked:
        """The run."""
        return checked(self, state, DoublingState).run

    def descent(self, state: DoublingState) -> Descent:
        """The smoothness of f along the steps, against the range."""
        paid, way, c = _xp.floats(state.paid), _xp.floats(state.way), self.constants
        rounding = _xp.floats(state.run.t)[0] * _xp.machine_eps(state.way) * (fmean(map(abs, paid)) + fmean(way))
        guess = c.T * c.eta**2 * (c.beta * c.M / 2 + c.a * c.sigma**2)
        return Descent(paid, way, gap=c.M, guess=guess, spread=c.sigma, rounding=rounding)

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """Theorem 1 with phases."""
        return theorem1_doubling(self.constants, regret, rounds, kappa=self.kappa, **details)

    def a_priori(self, x: Vector) -> Answer:
        """None: the energy of the losses grows with the rounds, whose number is not known."""
        return "the number of rounds, and with it the regret bound, is not known before the run"

    def tight(self, state: DoublingState, samples: Samples) -> Answer:
        """None: the tracker begins anew in every phase."""
        return Conversion.tight(self, state, samples)


registry.add(
    "doubling",
    lambda oracle: DoublingConversion(oracle, Smooth.paper(M=2.0, beta=1.0, sigma=0.5, T=2)),
    "Algorithm 1 in phases",
    predictable=True,
)
