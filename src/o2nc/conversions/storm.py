"""Variance reduction: Algorithm 1 with the STORM tracker."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import Certificate, theorem_storm, theorem_storm_decreasing
from ..certificates.declared import Descent
from ..checks import check_number
from ..constants import VarianceReduced
from ..losses import DescentLoss, LinearLoss, Loss, PredictionLoss
from ..operators import act
from ..oracles.base import Oracle, stated_bound
from ..vectors import Scalar, Vector, check_like, leaf, zeros_like
from .base import Answer, check_given, registry
from .evidence import Claims
from .tracked import Tracked, TrackedConversion, checked, first_round, learned


class StormState(NamedTuple):
    """What is remembered of the rounds so far."""

    run: Tracked  # the tracker of the last round, the oracle, and the sums
    away: Vector  # m_t - s_t of the last round; 0 before the first


@dataclass(frozen=True, eq=False)
class StormConversion(TrackedConversion):
    r"""Algorithm 1 with a tracker that takes each sample twice, at the point of its round and at the next one.

    $$x_{t+1}=x_t-\eta U_tm_t,\qquad m_{t+1}=\nabla F(x_{t+1},\xi_t)+(1-a)(m_t-\nabla F(x_t,\xi_t)),\qquad
      L_t(U)=-\langle s_t,Um_t\rangle,\quad s_t=\nabla F(x_t,\xi_t),$$

    and $m_1$ is the mean of a first batch at $x_1$. The new sample does not enter $m_t$: the tracker is predictable.
    There is no projection, so an a-priori certificate needs an oracle whose regret bound does not ask for the energy
    of the losses.

    Args:
        oracle: the online learner.
        constants: `VarianceReduced`, which derives a, eta and the first batch.
        kappa: 0 for the linear loss, up to 1/(beta eta) for the descent loss, None for the prediction loss, which has
            the same theorem for operators that are no contractions.

    Reference: variance reduction, in the theory pages; the tracker is that of Cutkosky and Orabona, Momentum-based
        variance reduction in non-convex SGD (2019).

    >>> import numpy as np
    >>> from o2nc.constants import VarianceReduced
    >>> from o2nc.oracles import Constant
    >>> constants = VarianceReduced(gap=1.0, beta=1.0, sigma=0.5, T=100)
    >>> conversion, x = StormConversion(Constant(), constants), np.asarray([1.0])
    >>> state = conversion.init(x)
    >>> dx, state = conversion.update(np.sin(x) + 0.1, state, again=np.sin(x))  # again: the mean of the first batch
    >>> x = x + dx
    >>> dx, state = conversion.update(np.sin(x) - 0.2, state, again=np.sin(x) + 0.1)  # the noise of round 1, here
    >>> print(f"{state.run.m[0] - np.sin(x[0]):.4f} {constants.a * 0.1:.4f}")
    0.0117 0.0117
    """

    oracle: Oracle
    constants: VarianceReduced
    kappa: float | None = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.constants, VarianceReduced):
            raise TypeError(f"`constants` must be VarianceReduced(gap, beta, sigma, T); got {self.constants!r}.")
        if self.kappa is None:
            return
        check_number("kappa", self.kappa)
        largest = 1 / (self.constants.beta * self.constants.eta)
        if self.kappa > largest:
            raise ValueError(f"`kappa` must be at most 1/(beta eta) = {largest:.6g}; got {self.kappa}.")

    @property
    def needs(self) -> frozenset[str]:
        """The sample of the last round at the point of this one."""
        return frozenset({"again"})

    @property
    def batch(self) -> int:
        """That of the constants."""
        return self.constants.batch

    def init(self, x: Vector, *, tau: Any = None) -> StormState:
        """Nothing is tracked yet: m_1 comes with the first round."""
        return StormState(first_round(self.oracle, x, self.claims, self.mark), away=zeros_like(x))

    def update(
        self,
        s: Vector,
        state: StormState,
        x: Vector | None = None,
        *,
        r: Any = None,
        value: Any = None,
        again: Vector | None = None,
    ) -> tuple[Vector, StormState]:
        """One round; ``s`` is a fresh sample at x_t, ``again`` the last one at x_t, in round 1 the first batch."""
        check_given(self, again=again)
        now = self.marked(state.run)
        check_like("s", s, now.m)
        check_like("again", again, now.m)
        m = state.away * (1 - self.rate(now)) + again
        Um = act(self.oracle.play(now.oracle, m), m)
        dx = Um * -self.constants.eta
        watch = partial(self.watched, now, s, again)
        after = learned(self.oracle, now, self.loss(s, m), Um, m, now.clipped, watch)
        return dx, StormState(after, away=m - s)

    def rate(self, now: Tracked) -> Scalar:
        """The weight of the last round: a, or max{a, 1/t} of that round."""
        if not self.constants.decreasing:
            return self.constants.a
        last = _xp.at_least(_xp.like(now.t - 1, leaf(now.m)), 1.0)  # before the first round there is none
        return _xp.at_least(1 / last, self.constants.a)

    def loss(self, s: Vector, m: Vector) -> Loss:
        """What the oracle is shown."""
        if self.kappa is None:
            return PredictionLoss(s, m)
        if self.kappa == 0:
            return LinearLoss(s, m, 1.0)
        return DescentLoss(s, m, 1.0, self.kappa * self.constants.beta * self.constants.eta / 2)

    def tracked(self, state: StormState) -> Tracked:
        """The sums."""
        return checked(self, state, StormState).run

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The theorem of variance reduction."""
        c, prove = self.constants, theorem_storm_decreasing if self.constants.decreasing else theorem_storm
        known: dict[str, Any] = {"gap": c.gap, "beta": c.beta, "sigma": c.sigma, "T": c.T, "a": c.a, "batch": c.batch}
        return prove(**known, regret=regret, **details)

    def a_priori(self, x: Vector) -> Answer:
        """The theorem with a bound that the oracle states whatever the energy of the losses."""
        bound = stated_bound(self.oracle, x, self.energy())
        if bound < float("inf"):
            return self.theorem(bound, label="a-priori")
        return "the oracle states no regret bound that holds without a bound on the trackers"

    def claimed(self) -> Claims:
        """The variance, and the smoothness of the samples in mean square."""
        return Claims(self.constants.sigma, eta=float(self.constants.eta), beta=self.constants.beta, twice=True)

    def descent(self, state: StormState) -> Descent:
        """The smoothness of f along the steps, against D."""
        c = self.constants
        curvature = 0.5 if self.kappa is None else self.kappa * c.beta * c.eta / 2
        return self.descended(state.run, 1.0, curvature, c.eta, c.beta, c.gap)

    @property
    def projects(self) -> bool:
        """Never."""
        return False

    def sums(self, state: StormState) -> dict[str, Array]:
        """Without the count of longer steps for the prediction loss, which any operator may serve."""
        return {name: v for name, v in super().sums(state).items() if name != "longer" or self.kappa is not None}


EXAMPLE = VarianceReduced(gap=2.0, beta=1.0, sigma=0.5, T=100)
registry.add("storm", lambda oracle: StormConversion(oracle, EXAMPLE, 0.5), "variance reduction", predictable=True)
