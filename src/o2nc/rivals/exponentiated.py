"""The conversion by discounted regret: steps scaled by exponential variables, a discounted average as output."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from .._xp import Array
from ..conversions.average import Average, no_average
from ..conversions.base import check_given
from ..conversions.coins import as_coin
from ..vectors import Vector, check_like, check_vector, zero_scalar
from .discounted import DiscountedConversion


class ExponentiatedState(NamedTuple):
    """What is remembered between one sample and the next."""

    learner: Any  # the learner's state, from which Delta_t is played
    c: Array  # c_{t-1} = 1 - b^{t-1}, (..., 1)
    average: Average  # the discounted average x_bar_{t-1}, and that of round tau


@dataclass(frozen=True)
class ExponentiatedConversion(DiscountedConversion):
    r"""The exponentiated, or discounted-to-nonconvex, conversion: every step is scaled by an exponential variable.

    $$x_t=x_{t-1}+q_t\Delta_t,\quad q_t\sim\mathrm{Exp}(1),\qquad E[s_t]=\nabla f(x_t),\qquad
      \bar x_t=\frac{1-b}{1-b^t}\sum_{i\le t}b^{t-i}x_i.$$

    Since q is exponential, $E\langle s_t,\Delta_t\rangle=E[f(x_t)-f(x_{t-1})]$ with the sample at the iterate itself.
    The learner is shown the losses $\langle b^{-t}s_t,\Delta\rangle$, that is, it has a small regret
    $R_t=\sum_{i\le t}b^{t-i}\langle s_i,\Delta_i-u\rangle$ for every t. With the learner

    - `RegularizedOMD` this is SGD with momentum and random scaling (Zhang and Cutkosky),
    - `ClippedFTRL` this is clipped Adam with a moving average of the model (Ahn and Cutkosky).

    `update` takes the sample at $x_t$ and a uniform r, from which $q_{t+1}=-\log(1-r)$, and returns $x_{t+1}-x_t$.
    Since $\Delta_1=0$, $x_1=x_0$. The round tau of the output is uniform on 1, ..., T; after T rounds `output`
    is $\bar x_\tau$.

    Args:
        learner: the online learner of displacements, with its discount ``b``.
        T: horizon, the number of rounds.

    Reference: Zhang and Cutkosky, Random scaling and momentum for non-smooth non-convex optimization (2024),
    Exponentiated O2NC; Ahn and Cutkosky, Adam with model exponential moving average is effective for nonconvex
    optimization (2024), discounted-to-nonconvex conversion.

    >>> import numpy as np
    >>> from o2nc.rivals import ClippedFTRL
    >>> conversion = ExponentiatedConversion(ClippedFTRL(D=0.02, b=0.9), T=100)
    >>> x = np.asarray([0.5])
    >>> state = conversion.init(x, tau=100)
    >>> for r in np.random.default_rng(0).random(100):
    ...     dx, state = conversion.update(np.sign(x), state, x, r=r)
    ...     x = x + dx
    >>> bool(abs(conversion.output(state, x)[0]) < 0.1)
    True
    """

    def init(self, x: Vector, *, tau: Any = None) -> ExponentiatedState:
        """Nothing averaged."""
        check_vector("x", x)
        return ExponentiatedState(self.learner.init(x), c=zero_scalar(x), average=no_average(x, tau, self.T))

    def update(
        self, s: Vector, state: ExponentiatedState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, ExponentiatedState]:
        """Finish round t with the sample ``s`` at x_t = ``x``, begin round t + 1 with the uniform ``r`` for q_{t+1}."""
        check_given(self, x=x, r=r)
        check_like("s", s, state.average.mean)
        c, average = self.averaged(state.c, state.average, x)
        learner = self.learner.learn(state.learner, s)
        q = exponential(as_coin(r, zero_scalar(s)))
        return self.learner.play(learner) * q, ExponentiatedState(learner, c, average)


def exponential(r: Array) -> Array:
    """An exponential variable of mean 1 from ``r`` uniform on [0, 1).

    >>> import numpy as np
    >>> exponential(np.asarray([0.0, 0.5])).round(6)
    array([0.      , 0.693147])
    """
    low = _xp.machine_eps(r) / 2 - 1  # a uniform number may be rounded to 1 when its precision is lowered
    return -_xp.namespace(r).log1p(_xp.at_least(-r, low))
