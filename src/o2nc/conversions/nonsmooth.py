"""Algorithm 2: nonsmooth nonconvex optimization by static regret."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..certificates import Certificate, theorem2, tight_nonsmooth
from ..certificates.declared import Descent
from ..constants import Nonsmooth
from ..losses import LinearLoss
from ..operators import act
from ..oracles.base import Oracle
from ..vectors import Vector, check_like, inner, zero_scalar, zeros_like
from .average import Average, no_average
from .base import Answer, Samples, check_given, check_uniform, registry
from .coins import as_coin, is_no_coin, stray_objection
from .evidence import Claims
from .tracked import Tracked, TrackedConversion, checked, first_round, one_round, summed


class LostNorms(NamedTuple):
    """What rounding has taken from two sums of `NonsmoothState`, as far as it is kept."""

    norms: Array  # (..., 1)
    spread: Array  # (..., 1)


class NonsmoothState(NamedTuple):
    """What Algorithm 2 remembers between the sample of one round and that of the next."""

    run: Tracked  # the tracker, the oracle and the sums
    Uz: Vector  # U_t z_t, of the committed displacement -eta U_t z_t = x_{t+1} - x_t
    r: Array  # where on the segment the sample is taken: y_t = x_t - r_t eta U_t z_t, (..., 1)
    c: Array  # c_{t-1} = 1 - b^{t-1}, (..., 1)
    average: Average  # the weighted point y_bar_{t-1}, and that of round tau
    norms: Array  # sum of |m_{t+1}| over the rounds that are over, (..., 1)
    v: Array  # v_{t-1}, the mean squared distance of the points to y_bar_{t-1} with its weights, (..., 1)
    spread: Array  # sum of c_t v_t over the rounds that are over, (..., 1)
    lost: LostNorms  # by the sums, through rounding
    strayed: Array  # rounds whose r was not in [0, 1], which is refused where it has a value, (..., 1)


@dataclass(frozen=True, eq=False)
class NonsmoothConversion(TrackedConversion):
    r"""Algorithm 2: normalised direction, a sample on the segment of the committed step, a weighted output.

    $$z_t=\frac{bm_t}{\sqrt{b^2\|m_t\|^2+\rho^2}},\quad \delta_t=-\eta U_tz_t,\quad y_t=x_t+r_t\delta_t,\quad
      L_t(U)=-\langle s_t,Uz_t\rangle,$$
    $$m_{t+1}=\Pi_{\|m\|\le L}(bm_t+as_t),\qquad \bar y_t=\frac{bc_{t-1}}{c_t}\bar y_{t-1}+\frac a{c_t}y_t.$$

    The points that this conversion moves are the $y_t$, where samples are taken: `update` takes the sample at $y_t$ and
    the uniform $r_{t+1}$, commits $\delta_{t+1}$ and returns $y_{t+1}-y_t$. Since $m_1=0$, $y_1=x_1$. The round
    $\tau$ of the output is drawn before the first, so that only one point is kept: after T rounds `output` is
    $\bar y_\tau$.

    Args:
        oracle: the online learner.
        constants: `Nonsmooth`, which derives or takes a, eta and rho.

    Reference: Algorithm 2 and Theorem 2.

    >>> import numpy as np
    >>> from o2nc import Nonsmooth
    >>> from o2nc.oracles import Constant
    >>> conversion = NonsmoothConversion(Constant(), Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=100))
    >>> y = np.asarray([0.5])
    >>> state = conversion.init(y, tau=100)
    >>> for r in np.random.default_rng(0).random(100):
    ...     dy, state = conversion.update(np.sign(y), state, y, r=r)
    ...     y = y + dy
    >>> bool(abs(conversion.output(state, y)[0]) < 0.1)
    True
    """

    oracle: Oracle
    constants: Nonsmooth

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.constants, Nonsmooth):
            raise TypeError(f"`constants` must be Nonsmooth(L, M, sigma, lam, T); got {self.constants!r}.")

    @property
    def needs(self) -> frozenset[str]:
        """The point, and the coins tau and r."""
        return frozenset({"tau", "x", "r"})

    def tau(self, u: float, rounds: int) -> int:
        """The round of the output, by the law of line 12, from ``u`` uniform on [0, 1)."""
        check_uniform(u)
        return self.constants.tau(u)

    def init(self, x: Vector, *, tau: Any = None) -> NonsmoothState:
        """m_1 = 0. Without ``tau`` the output is y_bar_T, of which the theorem does not speak."""
        run, zero, T = first_round(self.oracle, x, self.claims, self.mark), zero_scalar(x), self.constants.T
        average = no_average(x, tau, T, T + 1)
        zeros = dict.fromkeys(("r", "c", "norms", "v", "spread", "strayed"), zero)
        return NonsmoothState(run, zeros_like(x), average=average, lost=LostNorms(zero, zero), **zeros)

    def update(
        self, s: Vector, state: NonsmoothState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, NonsmoothState]:
        """Finish round t with the sample ``s`` at y_t = ``x``, begin round t + 1 with the uniform ``r`` = r_{t+1}."""
        check_given(self, x=x, r=r)
        check_like("s", s, state.run.m)
        L, a, b, eta, _ = self.constants.values
        loss = LinearLoss(s, self.direction(state.run.m), 1.0)  # line 8
        before = self.marked(state.run)
        run = one_round(self.oracle, before, loss, state.Uz, a, L)  # line 9
        c = a + b * state.c  # line 10: c_t = 1 - b^t
        share, away, length = a / c, x - state.average.mean, inner(run.m, run.m)
        v = (1 - share) * (state.v + share * inner(away, away))
        average = state.average.add(x, share)
        state = summed(state, norms=_xp.namespace(length).sqrt(length), spread=c * v)

        z = self.direction(run.m)  # line 3 of round t + 1
        Uz = act(self.oracle.play(run.oracle, z), z)  # line 4
        r = as_coin(r, zero_scalar(s))
        dy = (state.Uz * (1 - state.r) + Uz * r) * -eta  # lines 5, 6: y_{t+1} - y_t
        run = run._replace(evidence=self.watched(before, s, None, inner(dy, dy) * (1 / eta**2)))
        strayed = state.strayed + is_no_coin(r)
        return dy, state._replace(run=run, Uz=Uz, r=r, c=c, average=average, v=v, strayed=strayed)

    def output(self, state: NonsmoothState, x: Vector) -> Vector:
        """y_bar_tau once round tau is over, y_bar_t before: line 12."""
        return state.average.output

    def objection(self, state: NonsmoothState, samples: Samples | None = None) -> str:
        """Also an output whose round was not drawn."""
        tau = _xp.floats(state.average.tau)
        drawn = "" if 1 <= min(tau) <= max(tau) <= self.constants.T else "the round tau of the output was not drawn"
        return stray_objection(state.strayed) or super().objection(state, samples) or drawn

    def tight(self, state: NonsmoothState, samples: Samples) -> Answer:
        """`o2nc.certificates.tight_nonsmooth` from the trackers and the spread of the points, or why there is none."""
        if why := self.hypothesis(int(_xp.floats(state.run.t)[0]) - 1) or self.objection(state, samples):
            return why
        T, a, m = self.constants.T, self.constants.values.a, state.run.m
        length = inner(m, m)
        tracker = (state.norms + (1 / a - 1) * _xp.namespace(length).sqrt(length)) / T  # the last weight is 1 / (a T)
        spread = (state.spread - state.c * state.v) / T + (1 - self.constants.tau_cdf(T - 1)) * state.v
        found = tight_nonsmooth(self.constants, _xp.floats(tracker), _xp.floats(spread))
        return self.noted(found, state, samples)

    def claimed(self) -> Claims:
        """The bound on the gradient, and the variance."""
        c = self.constants
        return Claims(c.sigma, eta=c.values.eta, apart=2 * c.L, B=c.B)

    def descent(self, state: NonsmoothState) -> Descent:
        """The range along the steps: at a uniform point of a step the gradient has the slope of f in the mean."""
        c = self.constants
        found = self.descended(state.run, G=1.0, curvature=0.0, eta=c.eta, beta=0.0, gap=c.M)
        return found._replace(names=("range M", "M, L or sigma"))

    def tracked(self, state: NonsmoothState) -> Tracked:
        """The part that Algorithm 1 has too."""
        return checked(self, state, NonsmoothState).run

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """Theorem 2."""
        return theorem2(self.constants, regret, **details)

    def direction(self, m: Vector) -> Vector:
        """z of the tracker m, on which the operator acts: line 3."""
        _, _, b, _, rho = self.constants.values
        square = inner(m, m)
        return m * (b / _xp.namespace(square).sqrt(b**2 * square + rho**2))


EXAMPLE = Nonsmooth(L=1.0, M=1.0, sigma=0.5, lam=1.0, T=100)
registry.add("nonsmooth", lambda oracle: NonsmoothConversion(oracle, EXAMPLE), "Algorithm 2")
