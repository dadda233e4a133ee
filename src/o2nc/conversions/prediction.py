"""Algorithm 1 with the prediction loss, for operators of any size."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..certificates import Certificate, theorem_sharp_least_squares
from ..constants import Smooth
from ..constants.rates import is_too_small, smallest_divisor
from ..losses import Loss, PredictionLoss
from ..oracles.base import stated_bound, stated_moments
from ..vectors import Scalar, Vector
from .base import Answer, registry
from .smooth import UNCLIPPED, SmoothConversion


@dataclass(frozen=True, eq=False)
class PredictionConversion(SmoothConversion):
    r"""Algorithm 1 whose oracle is asked to predict the sample; its operators need not be contractions.

    $$x_{t+1}=x_t-\eta U_tm_t,\qquad m_{t+1}=(1-a)m_t+as_t,\qquad
      L_t(U)=\tfrac1{2G}\bigl(\|Um_t-s_t\|^2-\|s_t\|^2\bigr).$$

    With a range M the tracker is projected as there. It is `SmoothConversion` with the largest $\kappa=c/a$, and the
    sharp theorem holds for every operator. For online least squares it holds with no regret in it, if the constants
    are those of `Smooth.least_squares`.

    Args:
        oracle: the online learner.
        constants: as in `SmoothConversion`.

    Reference: the sharp theorem, in the theory pages.

    >>> import numpy as np
    >>> import o2nc
    >>> from o2nc.oracles import LeastSquares
    >>> from o2nc.sets import Box
    >>> constants = o2nc.Smooth.least_squares(gap=2.0, beta=1.0, sigma=0.1, T=500)
    >>> conversion = PredictionConversion(LeastSquares(Box()), constants)
    >>> def gradient(x, rng):
    ...     return np.sin(x) + 0.1 * rng.choice([-1.0, 1.0], size=x.shape)
    >>> result = o2nc.minimize(gradient, np.asarray([3.0]), conversion)
    >>> bool(abs(result.last[0]) < 0.1), result.a_priori.bound < 0.2
    (True, True)
    """

    kappa: float = field(init=False, default=0.0)  # set below
    contractions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kappa", self.constants.c / self.constants.a)

    def loss(self, s: Vector, m: Vector, eta: Scalar) -> Loss:
        """The prediction loss."""
        return PredictionLoss(s, m, 1 / self.constants.G)

    def proved(self, regret: float, rounds: int, **details: Any) -> Certificate:
        """The sharp theorem, whatever the operators."""
        return self.sharp(regret, **details)

    def a_priori(self, x: Vector) -> Answer:
        """The sharp theorem for online least squares, with no regret in it; or with a bound that no size enters."""
        c, moments = self.constants, stated_moments(self.oracle, x, self.constants.sigma)
        if why := self.hypothesis() or (UNCLIPPED if self.clips else ""):
            return why
        if moments is None and (bound := stated_bound(self.oracle, x, math.inf)) < math.inf:
            return self.theorem(bound, label="a-priori")
        if moments is None:
            return "the oracle states no regret bound for the prediction loss that is known before the run"
        if is_too_small(c.c, least := smallest_divisor(c.a, k=2.0)):
            return f"for a regret bound c must be at least {least:.6g}, and it is {c.c:.6g}: see `Smooth.least_squares`"
        variance, lam = moments
        known: dict[str, Any] = {"gap": c.D, "beta": c.beta, "sigma": c.sigma, "T": c.T, "a": c.a, "c": c.c}
        return theorem_sharp_least_squares(**known, lam=lam, variance=variance, trivial=c.trivial)


registry.add(
    "prediction",
    lambda oracle: PredictionConversion(oracle, Smooth(gap=1.0, beta=1.0, sigma=0.5, T=100)),
    "Algorithm 1, predicting",
    predictable=True,
)
