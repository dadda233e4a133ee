"""The conversion by shifting regret: epochs, a sample on the segment of the step, the average of an epoch."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number
from ..constants import Nonsmooth
from ..conversions.average import Average, no_average
from ..conversions.base import check_given, registry
from ..conversions.coins import as_coin
from ..vectors import Vector, check_like, check_vector, leaf, project_ball, zero_scalar, zeros_like
from .displacement import DisplacementLearner, check_is_learner
from .epochs import EpochConversion, restarted


class BallOGDState(NamedTuple):
    """What online gradient descent on a ball remembers."""

    delta: Vector  # the displacement of the coming round


@dataclass(frozen=True)
class BallOGD:
    r"""Online gradient descent on the ball of radius $D$: $\Delta_1=0$, $\Delta_{n+1}=\Pi_{\|\Delta\|\le D}(\Delta_n-\eta s_n)$.

    Its regret after T rounds is at most $\frac{D^2}{2\eta}+\frac\eta2\sum_n\|s_n\|^2$ against every point of the ball.

    Args:
        D: the radius, the length of the longest step.
        eta: the rate.

    Reference: Zinkevich, Online convex programming and generalized infinitesimal gradient ascent (2003).

    >>> import numpy as np
    >>> learner = BallOGD(D=1.0, eta=0.5)
    >>> learner.play(learner.learn(learner.init(np.zeros(2)), np.asarray([3.0, 4.0])))
    array([-0.6, -0.8])
    """  # noqa: E501

    D: float
    eta: float

    def __post_init__(self) -> None:
        check_number("BallOGD(D=...)", self.D, positive=True)
        check_number("BallOGD(eta=...)", self.eta, positive=True)

    def init(self, x: Vector) -> BallOGDState:
        """At rest."""
        return BallOGDState(delta=zeros_like(x))

    def play(self, state: BallOGDState) -> Vector:
        """The displacement."""
        return state.delta

    def learn(self, state: BallOGDState, s: Vector) -> BallOGDState:
        """A step against the sample, and back into the ball."""
        return BallOGDState(delta=project_ball(state.delta - self.eta * s, self.D)[0])


class ShiftingState(NamedTuple):
    """What is remembered between the sample of one round and that of the next."""

    learner: Any  # the learner's state, from which Delta_n is played
    r: Array  # where on the segment the sample is taken: w_n = x_{n-1} + r_n Delta_n, (..., 1)
    average: Average  # of the points of the epoch so far, and that of round tau; its t is the round n


@dataclass(frozen=True)
class ShiftingConversion(EpochConversion):
    r"""The online-to-nonconvex conversion by $K$-shifting regret: a learner of displacements, reset every epoch.

    $$x_n=x_{n-1}+\Delta_n,\qquad w_n=x_{n-1}+r_n\Delta_n,\qquad E[s_n]=\nabla f(w_n),\qquad
      \bar w^k=\frac1{T_e}\sum_{n=(k-1)T_e+1}^{kT_e}w_n.$$

    With $r_n$ uniform on [0, 1], $E\langle s_n,\Delta_n\rangle=E[f(x_n)-f(x_{n-1})]$. If the steps are at most
    $D=\delta/T_e$ long, the points of an epoch are within $\delta$ of each other, and the mean over the K epochs of
    $\|\frac1{T_e}\sum_n\nabla f(w_n)\|$ is, in expectation, at most $(M+R)/(DKT_e)+\sigma/\sqrt{T_e}$, where R is the
    regret against the best point of length D in each epoch.

    As in Algorithm 2 the points that are moved are those of the samples: `update` takes the sample at $w_n$ and the
    uniform $r_{n+1}$ and returns $w_{n+1}-w_n$. Since $\Delta_1=0$, $w_1=x_0$. After T rounds `output` is the
    average of the epoch that ends in round tau.

    Args:
        learner: the online learner of displacements, `BallOGD` in the paper.
        epoch: the length $T_e$ of an epoch.
        T: horizon, the number of rounds; those after the last whole epoch are not used.

    Reference: Cutkosky, Mehta and Orabona, Optimal stochastic non-smooth non-convex optimization through
    online-to-non-convex conversion (2023), Algorithm 1 and Theorem 8.

    >>> import numpy as np
    >>> conversion = ShiftingConversion(BallOGD(D=0.02, eta=0.01), epoch=10, T=100)
    >>> w = np.asarray([0.5])
    >>> state = conversion.init(w, tau=conversion.tau(0.99, 100))
    >>> for r in np.random.default_rng(0).random(100):
    ...     dw, state = conversion.update(np.sign(w), state, w, r=r)
    ...     w = w + dw
    >>> bool(abs(conversion.output(state, w)[0]) < 0.02)
    True
    """

    learner: DisplacementLearner
    epoch: int
    T: int

    def __post_init__(self) -> None:
        check_is_learner(self.learner)
        super().__post_init__()

    @classmethod
    def tuned(cls, constants: Nonsmooth, delta: float | None = None) -> "ShiftingConversion":
        r"""The conversion with the constants of Corollary 9, for points within ``delta`` of each other.

        $$T_e=\min\{\lceil(GT\delta/M)^{2/3}\rceil,\lfloor T/2\rfloor\},\quad D=\frac\delta{T_e},\quad
          \eta=\frac D{G\sqrt{T_e}},\quad G=\sqrt{L^2+\sigma^2}.$$

        The corollary asks for a learner of shifting regret $DGK\sqrt{T_e}$, and this rate gives it. The bound is
        $5(G^2M/(T\delta))^{1/3}$ to leading order. A set within delta of its mean has a spread of at
        most $\delta^2$; so, if ``delta`` is not given, it is the minimiser
        $(\frac56(G^2M/T)^{1/3}/\lambda)^{3/7}$ of that bound plus $\lambda\delta^2$.

        >>> from o2nc import Nonsmooth
        >>> ShiftingConversion.tuned(Nonsmooth(L=1.0, M=1.0, sigma=0.0, lam=1.0, T=1000), delta=0.5).epoch
        63
        """
        G, M, T = constants.B, constants.M, constants.T
        if T < 2:
            raise ValueError(f"`T` must be at least 2 for the tuned epochs; got {T}.")
        if delta is None:
            delta = (5 / 6 * (G**2 * M / T) ** (1 / 3) / constants.lam) ** (3 / 7)
        check_number("delta", delta, positive=True)
        epoch = min(math.ceil((G * T * delta / M) ** (2 / 3)), T // 2)
        D = delta / epoch
        return cls(BallOGD(D=D, eta=D / (G * math.sqrt(epoch))), epoch=epoch, T=T)

    @property
    def needs(self) -> frozenset[str]:
        """The point, and the coins tau and r."""
        return super().needs | {"r"}

    def init(self, x: Vector, *, tau: Any = None) -> ShiftingState:
        """Nothing averaged; the end of the last epoch if ``tau`` is not given."""
        check_vector("x", x)
        return ShiftingState(self.learner.init(x), r=zero_scalar(x), average=no_average(x, tau, self.last))

    def update(
        self, s: Vector, state: ShiftingState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, ShiftingState]:
        """Finish round n with the sample ``s`` at w_n = ``x``, begin round n + 1 with the uniform ``r`` = r_{n+1}."""
        check_given(self, x=x, r=r)
        check_like("s", s, state.average.mean)
        n, play = state.average.t, self.learner.play
        before = _xp.like((n - 1) % self.epoch, leaf(s))  # rounds of this epoch that are over
        ends = n % self.epoch == 0
        fresh, learned = self.learner.init(s), self.learner.learn(state.learner, s)
        learner = restarted(ends, fresh, learned)
        r = as_coin(r, zero_scalar(s))
        dw = play(state.learner) * (1 - state.r) + play(learner) * r  # x_n - w_n, then w_{n+1} - x_n
        return dw, ShiftingState(learner, r, state.average.add(x, 1 / (before + 1)))


registry.add("shifting", lambda _: ShiftingConversion(BallOGD(D=1.0, eta=0.5), epoch=2, T=100), "shifting regret")
