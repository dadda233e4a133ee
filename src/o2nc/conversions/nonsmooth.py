"""Algorithm 2: nonsmooth nonconvex optimization by static regret."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..constants import Nonsmooth
from ..losses import LinearLoss
from ..operators import act
from ..oracles.base import Oracle, check_is_oracle
from ..vectors import Vector, check_like, check_vector, inner, leaf, project_ball, where, zero_scalar, zeros_like
from .base import check_given
from .output import check_tau


class NonsmoothState(NamedTuple):
    """What Algorithm 2 remembers between the sample of one round and that of the next."""

    m: Vector  # the tracker m_t
    oracle: Any  # the oracle's state, from which U_t is played
    delta: Vector  # the committed displacement delta_t = x_{t+1} - x_t
    r: Array  # where on the segment the sample is taken: y_t = x_t + r_t delta_t, (..., 1)
    c: Array  # c_{t-1} = 1 - b^{t-1}, (..., 1)
    y_bar: Vector  # the weighted point y_bar_{t-1}
    output: Vector  # y_bar_tau once round tau is over, y_bar_{t-1} before
    tau: Array  # the round of the output, drawn before round 1, (..., 1)
    t: Array  # the round, counted from 1, (1,)
    regret: Array  # sum of L_t(U_t) - L_t(I), (..., 1)
    clipped: Array  # rounds in which the projection of the tracker was active, (..., 1)


@dataclass(frozen=True, eq=False)
class NonsmoothConversion:
    r"""Algorithm 2: normalised direction, a sample on the segment of the committed step, a weighted output.

    $$z_t=\frac{bm_t}{\sqrt{b^2\|m_t\|^2+\rho^2}},\quad \delta_t=-\eta U_tz_t,\quad y_t=x_t+r_t\delta_t,\quad
      L_t(U)=-\langle s_t,Uz_t\rangle,$$
    $$m_{t+1}=\Pi_{\|m\|\le L}(bm_t+as_t),\qquad \bar y_t=\frac{bc_{t-1}}{c_t}\bar y_{t-1}+\frac a{c_t}y_t.$$

    The points that this conversion moves are the $y_t$, where samples are taken: `update` takes the sample at $y_t$ and
    the uniform $r_{t+1}$, commits $\delta_{t+1}$ and returns $y_{t+1}-y_t$. Since $m_1=0$, $y_1=x_1$. The round
    $\tau$ of the output is drawn before the first, so that only one point is kept: after T rounds ``state.output`` is
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
    >>> bool(abs(state.output[0]) < 0.1)
    True
    """

    oracle: Oracle
    constants: Nonsmooth

    def __post_init__(self) -> None:
        check_is_oracle("oracle", self.oracle)
        if not isinstance(self.constants, Nonsmooth):
            raise TypeError(f"`constants` must be Nonsmooth(L, M, sigma, lam, T); got {self.constants!r}.")

    def tau(self, u: float) -> int:
        """The round of the output, from ``u`` uniform on [0, 1)."""
        return self.constants.tau(u)

    def init(self, x: Vector, *, tau: Any = None) -> NonsmoothState:
        """m_1 = 0. ``tau`` is a round or an array (..., 1) of rounds, from ``constants.tau(u)``; T if not given."""
        check_vector("x", x)
        check_tau(tau, self.constants.T)
        zero, zeros, t = zero_scalar(x), zeros_like(x), _xp.first_round(leaf(x))
        tau = t * 0 + (self.constants.T if tau is None else tau)
        return NonsmoothState(
            m=zeros, oracle=self.oracle.init(x), delta=zeros, r=zero, c=zero, y_bar=zeros, output=zeros, tau=tau, t=t,
            regret=zero, clipped=zero,
        )  # fmt: skip

    def update(
        self, s: Vector, state: NonsmoothState, x: Vector | None = None, *, r: Any = None
    ) -> tuple[Vector, NonsmoothState]:
        """Finish round t with the sample ``s`` at y_t = ``x``, begin round t + 1 with the uniform ``r`` = r_{t+1}."""
        check_given("Algorithm 2", x, r)
        check_like("s", s, state.m)
        L, a, b, eta, _ = self.constants.values
        z = self._direction(state.m)
        loss = LinearLoss(s, z, 1.0)  # line 8
        Uz = -(1 / eta) * state.delta
        regret = state.regret + loss(Uz) - loss(z)
        m, square = project_ball(b * state.m + a * s, L)  # line 9
        c = a + b * state.c  # line 10: c_t = 1 - b^t
        y_bar = state.y_bar * (b * state.c / c) + x * (a / c)
        oracle = self.oracle.learn(state.oracle, loss)

        z = self._direction(m)  # line 3 of round t + 1
        delta = -eta * act(self.oracle.play(oracle, z), z)  # lines 4, 5
        r = _xp.like(r, leaf(x)) + zero_scalar(x)
        return state.delta * (1 - state.r) + delta * r, NonsmoothState(  # line 6: y_{t+1} - y_t
            m=m,
            oracle=oracle,
            delta=delta,
            r=r,
            c=c,
            y_bar=y_bar,
            output=where(state.t <= state.tau, y_bar, state.output),  # line 12
            tau=state.tau,
            t=state.t + 1,
            regret=regret,
            clipped=state.clipped + _xp.indicator(square > L**2, square),
        )

    def _direction(self, m: Vector) -> Vector:
        """z of the tracker m: line 3."""
        _, _, b, _, rho = self.constants.values
        square = inner(m, m)
        return m * (b / _xp.namespace(square).sqrt(b**2 * square + rho**2))
