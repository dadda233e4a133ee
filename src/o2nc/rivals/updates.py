"""Online learning of updates: the learner's displacement is the step, and the sample is at any place on its line."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._xp import Array
from ..checks import check_number
from ..conversions.average import Average, no_average
from ..conversions.base import as_scalar, check_given, registry
from ..conversions.coins import as_coin
from ..vectors import Vector, check_like, check_vector, zero_scalar
from .discounted import DiscountedConversion
from .discounted_ftrl import DiscountedFTRL
from .regularized_omd import RegularizedOMD


class UpdatesState(NamedTuple):
    """What is remembered between one sample and the next."""

    learner: Any  # the learner's state, from which Delta_t is played
    r: Array  # where the sample is taken: y_t = x_{t-1} + r_t Delta_t, (..., 1)
    c: Array  # c_{t-1} = 1 - b^{t-1}, (..., 1)
    average: Average  # the discounted average y_bar_{t-1}, and that of round tau


@dataclass(frozen=True)
class UpdatesConversion(DiscountedConversion):
    r"""The steps are a learner's displacements, and the sample is taken on the line of the step, at the place r.

    $$x_t=x_{t-1}+\Delta_t,\qquad y_t=x_{t-1}+r_t\Delta_t,\qquad E[s_t]=\nabla f(y_t),\qquad
      \bar y_t=\frac{1-b}{1-b^t}\sum_{i\le t}b^{t-i}y_i.$$

    The learner is shown $\langle b^{-t}s_t,\Delta\rangle$. Which place makes the linear losses add up to what f falls?

    - r uniform on [0, 1]: $E\langle s_t,\Delta_t\rangle=E[f(x_t)-f(x_{t-1})]$ for every Lipschitz f. With
      `RegularizedOMD.tuned` the measure has the bound that is stated there: a point on the segment is no further from
      the others than an iterate whose step is scaled by an exponential variable.
    - r fixed, f $\beta$-smooth: $f(x_t)-f(x_{t-1})\le\langle\nabla f(y_t),\Delta_t\rangle
      +\frac\beta2(r^2+(1-r)^2)\|\Delta_t\|^2$, from the two quadratic bounds at $y_t$.

    Both are derived here. `schedule_free` and `adam` make the two optimizers that are such conversions, with r > 1 and
    with r = 1. As in Algorithm 2 the points that are moved are those of the samples: `update` takes the sample at
    $y_t$, and if r is uniform $r_{t+1}$, and returns $y_{t+1}-y_t$. After T rounds `output` is $\bar y_\tau$.

    Args:
        learner: the online learner of displacements, with its discount ``b``.
        T: horizon, the number of rounds.
        r: the place: 0 is before the step, 1 after it, more is further on; None for uniform on [0, 1].

    Reference: Ahn, Magakyan and Cutkosky, General framework for online-to-nonconvex conversion: schedule-free SGD is
    also effective for nonconvex optimization (2025); Ahn, Zhang, Kook and Dai, Understanding Adam optimizer via online
    learning of updates (2024).

    >>> import numpy as np
    >>> conversion = UpdatesConversion.schedule_free(eta=0.1, kappa=0.9, c=0.1, T=100)
    >>> print(f"{conversion.r:.1f} {conversion.learner.b:.1f} {conversion.learner.eta:.4f}")
    1.9 0.9 0.0111
    >>> x = np.asarray([0.5])
    >>> state = conversion.init(x, tau=100)
    >>> for _ in range(100):
    ...     dx, state = conversion.update(x, state, x)
    ...     x = x + dx
    >>> bool(abs(conversion.output(state, x)[0]) < 0.01)
    True
    """

    r: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.r is not None:
            check_number("UpdatesConversion(r=...)", self.r)

    @classmethod
    def schedule_free(cls, eta: float, kappa: float, c: float, T: int) -> "UpdatesConversion":
        r"""`ScheduleFreeSGD` with a constant share c, as a conversion.

        $\Delta_t=x_t-x_{t-1}=c(z_t-x_{t-1})$ gives $\Delta_{t+1}=(1-c)\Delta_t-c\eta s_t$ and
        $y_t=x_t+(1-\kappa)(\frac1c-1)\Delta_t$: mirror descent with the discount 1 - c and the rate
        $c\eta/(1-c)$, and $r=1+(1-\kappa)(\frac1c-1)$.

        >>> UpdatesConversion.schedule_free(eta=0.1, kappa=1.0, c=0.5, T=10).r
        1.0
        """
        learner = RegularizedOMD(eta=c * eta / (1 - c), mu=0.0, b=1 - c)
        return cls(learner, T, r=1 + (1 - kappa) * (1 / c - 1))

    @classmethod
    def adam(cls, eta: float, b: float, T: int) -> "UpdatesConversion":
        r"""Adam with $\beta_1=b$, $\beta_2=b^2$, without bias correction and epsilon, as a conversion.

        Its m is $(1-b)\sum_ib^{t-i}s_i$ and its v is $(1-b^2)\sum_ib^{2(t-i)}s_i^2$, so
        $\eta m/\sqrt v$ is what `DiscountedFTRL` plays with $\alpha=\eta\frac{1-b}{\sqrt{1-b^2}}$, on no bounded set.

        >>> print(f"{UpdatesConversion.adam(eta=0.1, b=0.9, T=10).learner.alpha:.5f}")
        0.02294
        """
        return cls(DiscountedFTRL(alpha=eta * math.sqrt((1 - b) / (1 + b)), b=b), T, r=1.0)

    @property
    def needs(self) -> frozenset[str]:
        """The point and the coin tau; the coin r if the place is uniform."""
        return super().needs if self.r is None else super().needs - {"r"}

    def init(self, x: Vector, *, tau: Any = None) -> UpdatesState:
        """Nothing averaged; since Delta_1 = 0 the first place does not matter."""
        check_vector("x", x)
        zero = zero_scalar(x)
        return UpdatesState(self.learner.init(x), r=zero, c=zero, average=no_average(x, tau, self.T))

    def update(
        self, s: Vector, state: UpdatesState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, UpdatesState]:
        """Finish round t with the sample ``s`` at y_t = ``x``, begin round t + 1, with ``r`` = r_{t+1} if uniform."""
        check_given(self, x=x, r=r)
        check_like("s", s, state.average.mean)
        c, average = self.averaged(state.c, state.average, x)
        learner, play = self.learner.learn(state.learner, s), self.learner.play
        zero = zero_scalar(s)
        place = as_coin(r, zero) if self.r is None else as_scalar(self.r, zero)
        dy = play(state.learner) * (1 - state.r) + play(learner) * place  # x_t - y_t, then y_{t+1} - x_t
        return dy, UpdatesState(learner, place, c, average)


registry.add("updates", lambda oracle: UpdatesConversion(RegularizedOMD(0.5, 0.5, 0.9), T=100), "discounted regret")
registry.add(
    "schedule-free", lambda oracle: UpdatesConversion.schedule_free(0.1, 0.9, 0.1, T=100), "schedule-free, constant c"
)
registry.add("adam-ftrl", lambda oracle: UpdatesConversion.adam(0.1, 0.9, T=100), "Adam as discounted FTRL")
