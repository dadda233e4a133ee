"""Algorithm 1: smooth nonconvex optimization by static regret."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..constants import KAPPA_LIMIT, Smooth
from ..losses import DescentLoss, LinearLoss, Loss
from ..operators import act
from ..oracles.base import Oracle, check_is_oracle
from ..vectors import Scalar, Vector, check_like, check_vector, inner, project_ball, zero_scalar, zeros_like


class SmoothState(NamedTuple):
    """What Algorithm 1 remembers, and the sums that its certificates need."""

    m: Vector  # the tracker m_t
    oracle: Any  # the oracle's state
    regret: Array  # sum of L_t(U_t) - L_t(I), (..., 1)
    Q: Array  # sum of <s_t, m_t>, (..., 1)
    N: Array  # sum of |m_t|^2, (..., 1)
    W: Array  # sum of |U_t m_t|^2, (..., 1)
    clipped: Array  # rounds in which the projection of the tracker was active, (..., 1)


@dataclass(frozen=True, eq=False)
class SmoothConversion:
    r"""Algorithm 1: the oracle's operator turns the tracker into the step.

    $$x_{t+1}=x_t-\eta U_tm_t,\qquad m_{t+1}=\Pi_{\|m\|\le G_0}((1-a)m_t+as_t),\qquad
      L_t(U)=-\tfrac1G\langle s_t,Um_t\rangle.$$

    Args:
        oracle: the online learner.
        constants: `Smooth`, which derives G, G0, a and eta.
        kappa: 0 for the paper's linear loss; up to below 6080/129 for the descent loss, which sees the noise and has
            the same theorem up to kappa = 1.

    Reference: Algorithm 1 and Theorem 1.

    >>> import numpy as np
    >>> from o2nc import Smooth
    >>> from o2nc.oracles import Constant
    >>> conversion = SmoothConversion(Constant(), Smooth(M=2.0, beta=1.0, sigma=0.0, T=10))
    >>> x = np.asarray([3.0])
    >>> state = conversion.init(x)
    >>> dx, state = conversion.update(np.sin(x), state)  # m_1 = 0: the first round only fills the tracker
    >>> dx, state = conversion.update(np.sin(x), state)
    >>> print(f"{dx[0]:.6f}")
    -0.002205
    """

    oracle: Oracle
    constants: Smooth
    kappa: float = 0.0

    def __post_init__(self) -> None:
        check_smooth(self.oracle, self.constants, self.kappa)

    def init(self, x: Vector) -> SmoothState:
        """m_1 = 0."""
        check_vector("x", x)
        zero = zero_scalar(x)
        return SmoothState(
            m=zeros_like(x), oracle=self.oracle.init(x), regret=zero, Q=zero, N=zero, W=zero, clipped=zero
        )

    def update(
        self, s: Vector, state: SmoothState, x: Vector | None = None, *, r: Any = None
    ) -> tuple[Vector, SmoothState]:
        """One round; ``s`` is a fresh sample of the gradient at x_t. Neither ``x`` nor ``r`` is used."""
        return one_round(self, s, state, self.constants.a, self.constants.eta)


def one_round(conversion: Any, s: Vector, state: SmoothState, a: Scalar, eta: Scalar) -> tuple[Vector, SmoothState]:
    """A round of Algorithm 1 with the oracle, the constants and the loss of ``conversion``, and with these rates."""
    check_like("s", s, state.m)
    m, G0, oracle = state.m, conversion.constants.G0, conversion.oracle
    U = oracle.play(state.oracle, m)  # line 3
    loss = revealed_loss(s, m, conversion.constants, conversion.kappa, eta)  # line 5
    Um, sm = act(U, m), inner(s, m)
    tracker, square = project_ball(m * (1 - a) + s * a, G0)  # line 7
    return Um * -eta, SmoothState(  # line 6
        m=tracker,
        oracle=oracle.learn(state.oracle, loss),
        regret=state.regret + loss(Um) - loss(m),
        Q=state.Q + sm,
        N=state.N + inner(m, m),
        W=state.W + inner(Um, Um),
        clipped=state.clipped + _xp.indicator(square > G0**2, square),
    )


def revealed_loss(s: Vector, m: Vector, constants: Smooth, kappa: float, eta: Scalar) -> Loss:
    """What the oracle is shown: the paper's linear loss for kappa = 0, else the descent loss."""
    if kappa == 0:
        return LinearLoss(s, m, 1 / constants.G)
    return DescentLoss(s, m, 1 / constants.G, kappa * constants.beta * eta / 2)


def check_smooth(oracle: Any, constants: Any, kappa: Any) -> None:
    """Raise unless these are the arguments of a conversion for smooth objectives."""
    check_is_oracle("oracle", oracle)
    if not isinstance(constants, Smooth):
        raise TypeError(f"`constants` must be Smooth(M, beta, sigma, T); got {constants!r}.")
    check_number("kappa", kappa)
    if kappa >= KAPPA_LIMIT:
        raise ValueError(f"`kappa` must be below {KAPPA_LIMIT} = {float(KAPPA_LIMIT):.2f}; got {kappa}.")
