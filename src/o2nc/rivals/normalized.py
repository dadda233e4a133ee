"""Normalised SGD with momentum, a baseline, with the interface of the conversions."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import _xp
from ..checks import check_number, check_share
from ..constants import PaperSmooth
from ..conversions.base import Conversion, registry
from ..vectors import Vector, check_like, check_vector, inner, zeros_like


class NormalizedSGDState(NamedTuple):
    """What normalised SGD remembers."""

    m: Vector  # moving average of the samples


@dataclass(frozen=True)
class NormalizedSGD(Conversion):
    r"""$m_t=bm_{t-1}+(1-b)s_t,\quad x_{t+1}=x_t-\eta\,m_t/\|m_t\|$: every step is as long as every other.

    Where $m_t=0$ the point stays. The average starts at $m_0=0$: then every sample has its discounted weight, and the
    bias that `Adam` corrects cancels in the direction.

    Args:
        eta: the length of a step.
        b: the momentum (beta in the paper), at least 0 and less than 1.

    Reference: Cutkosky and Mehta, Momentum improves normalized SGD (2020), Algorithm 1.

    >>> import numpy as np
    >>> sgd = NormalizedSGD(eta=0.5)
    >>> sgd.update(np.asarray([3.0, -4.0]), sgd.init(np.zeros(2)))[0]
    array([-0.3,  0.4])
    """

    eta: float
    b: float = 0.9

    def __post_init__(self) -> None:
        check_number("NormalizedSGD(eta=...)", self.eta, positive=True)
        check_share("NormalizedSGD(b=...)", self.b)

    @classmethod
    def tuned(cls, constants: PaperSmooth) -> "NormalizedSGD":
        r"""The step and the momentum of the paper's theorem for a smooth objective.

        $$1-b=\min\Bigl\{\frac{\sqrt{M\beta}}{\sigma\sqrt T},1\Bigr\},\qquad\eta=\sqrt{\frac{M(1-b)}{\beta T}}.$$

        >>> from o2nc import Smooth
        >>> sgd = NormalizedSGD.tuned(Smooth.paper(M=1.0, beta=4.0, sigma=1.0, T=64))
        >>> print(f"{sgd.b} {sgd.eta}")
        0.75 0.03125
        """
        M, beta, T, a = constants.M, constants.beta, constants.T, constants.a
        return cls(eta=math.sqrt(M * a / (beta * T)), b=1 - a)

    def init(self, x: Vector, *, tau: Any = None) -> NormalizedSGDState:
        """Nothing seen."""
        check_vector("x", x)
        return NormalizedSGDState(m=zeros_like(x))

    def update(
        self, s: Vector, state: NormalizedSGDState, x: Vector | None = None, *, r: Any = None, value: Any = None
    ) -> tuple[Vector, NormalizedSGDState]:
        """One step of length eta against the average sample."""
        check_like("s", s, state.m)
        m = self.b * state.m + (1 - self.b) * s
        square = inner(m, m)
        norm = _xp.namespace(square).sqrt(_xp.at_least(square, _xp.smallest_normal(square)))
        return m * (-self.eta / norm), NormalizedSGDState(m=m)


registry.add("normalized-sgd", lambda oracle: NormalizedSGD(eta=0.1), "SGD with steps of one length")
