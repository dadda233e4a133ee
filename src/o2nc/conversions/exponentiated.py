"""The conversion by discounted regret: steps scaled by exponential variables, a discounted average as output."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .. import _xp
from .._xp import Array
from ..checks import check_horizon
from ..vectors import Vector, check_like, check_vector, leaf, where, zero_scalar, zeros_like
from .base import check_given
from .learner import Learner, check_is_learner
from .output import check_tau, uniform_round


class ExponentiatedState(NamedTuple):
    """What is remembered between one sample and the next."""

    learner: Any  # the learner's state, from which Delta_t is played
    c: Array  # c_{t-1} = 1 - b^{t-1}, (..., 1)
    x_bar: Vector  # the discounted average x_bar_{t-1}
    output: Vector  # x_bar_tau once round tau is over, x_bar_{t-1} before
    tau: Array  # the round of the output, drawn before round 1, (..., 1)
    t: Array  # the round, counted from 1, (1,)


@runtime_checkable
class DiscountedLearner(Learner, Protocol):
    """A `Learner` whose losses are discounted: its discount ``b`` is that of the average as well."""

    @property
    def b(self) -> float:
        """The discount, at least 0 and less than 1."""
        ...


@dataclass(frozen=True)
class ExponentiatedConversion:
    r"""The exponentiated, or discounted-to-nonconvex, conversion: every step is scaled by an exponential variable.

    $$x_t=x_{t-1}+q_t\Delta_t,\quad q_t\sim\mathrm{Exp}(1),\qquad E[s_t]=\nabla f(x_t),\qquad
      \bar x_t=\frac{1-b}{1-b^t}\sum_{i\le t}b^{t-i}x_i.$$

    Since q is exponential, $E\langle s_t,\Delta_t\rangle=E[f(x_t)-f(x_{t-1})]$ with the sample at the iterate itself.
    The learner is shown the losses $\langle b^{-t}s_t,\Delta\rangle$, that is, it has a small regret
    $R_t=\sum_{i\le t}b^{t-i}\langle s_i,\Delta_i-u\rangle$ for every t. With the learner

    - `RegularizedOMD` this is SGD with momentum and random scaling (Zhang and Cutkosky),
    - `ClippedFTRL` this is clipped Adam with a moving average of the model (Ahn and Cutkosky).

    `update` takes the sample at $x_t$ and a uniform r, from which $q_{t+1}=-\log(1-r)$, and returns $x_{t+1}-x_t$.
    Since $\Delta_1=0$, $x_1=x_0$. The round tau of the output is uniform on 1, ..., T; after T rounds ``state.output``
    is $\bar x_\tau$.

    Args:
        learner: the online learner of displacements, with its discount ``b``.
        T: horizon, the number of rounds.

    Reference: Zhang and Cutkosky, Random scaling and momentum for non-smooth non-convex optimization (2024),
    Exponentiated O2NC; Ahn and Cutkosky, Adam with model exponential moving average is effective for nonconvex
    optimization (2024), discounted-to-nonconvex conversion.

    >>> import numpy as np
    >>> from o2nc.conversions import ClippedFTRL
    >>> conversion = ExponentiatedConversion(ClippedFTRL(D=0.02, b=0.9), T=100)
    >>> x = np.asarray([0.5])
    >>> state = conversion.init(x, tau=100)
    >>> for r in np.random.default_rng(0).random(100):
    ...     dx, state = conversion.update(np.sign(x), state, x, r=r)
    ...     x = x + dx
    >>> bool(abs(state.output[0]) < 0.1)
    True
    """

    learner: DiscountedLearner
    T: int

    def __post_init__(self) -> None:
        check_is_learner(self.learner)
        if not isinstance(self.learner, DiscountedLearner):
            raise TypeError(f"`learner` must have a discount `b`; got {self.learner!r}.")
        check_horizon(self.T)

    def tau(self, u: float) -> int:
        """The round of the output, uniform on 1, ..., T, from ``u`` uniform on [0, 1)."""
        return uniform_round(u, self.T)

    def init(self, x: Vector, *, tau: Any = None) -> ExponentiatedState:
        """``tau`` is a round or an array (..., 1) of rounds, from `tau`; T if not given."""
        check_vector("x", x)
        check_tau(tau, self.T)
        t, zeros = _xp.first_round(leaf(x)), zeros_like(x)
        tau = t * 0 + (self.T if tau is None else tau)
        return ExponentiatedState(
            learner=self.learner.init(x), c=zero_scalar(x), x_bar=zeros, output=zeros, tau=tau, t=t
        )  # fmt: skip

    def update(
        self, s: Vector, state: ExponentiatedState, x: Vector | None = None, *, r: Any = None
    ) -> tuple[Vector, ExponentiatedState]:
        """Finish round t with the sample ``s`` at x_t = ``x``, begin round t + 1 with the uniform ``r`` for q_{t+1}."""
        check_given("ExponentiatedConversion", x, r)
        check_like("s", s, state.x_bar)
        b = self.learner.b
        c = (1 - b) + b * state.c  # 1 - b^t
        x_bar = state.x_bar * (b * state.c / c) + x * ((1 - b) / c)
        learner = self.learner.learn(state.learner, s)
        q = exponential(_xp.like(r, leaf(s)) + zero_scalar(s))
        return self.learner.play(learner) * q, ExponentiatedState(
            learner=learner,
            c=c,
            x_bar=x_bar,
            output=where(state.t <= state.tau, x_bar, state.output),
            tau=state.tau,
            t=state.t + 1,
        )


def exponential(r: Array) -> Array:
    """An exponential variable of mean 1 from ``r`` uniform on [0, 1).

    >>> import numpy as np
    >>> exponential(np.asarray([0.0, 0.5])).round(6)
    array([0.      , 0.693147])
    """
    low = _xp.machine_eps(r) / 2 - 1  # a uniform number may be rounded to 1 when its precision is lowered
    return -_xp.namespace(r).log1p(_xp.at_least(-r, low))
