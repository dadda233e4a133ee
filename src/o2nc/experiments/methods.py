"""The methods of a run: the paper's two, three controls that tell what its gain is made of, and two that learn."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from .. import _xp
from .._xp import Array
from ..constants import Smooth
from ..conversions import SGD, Conversion, SegmentConversion, SmoothConversion
from ..operators import Identity, Mixture
from ..oracles import AdaGrad, AdaHedge, Constant, Hedge, Oracle
from ..sets import Box
from .objectives import Objective
from .paper import T_RUN

PRIOR = 0.5  # the weight of P before anything is learned
KAPPA = 16.0  # the factor of the descent loss of the learner that is shown P, one for all objectives
FIRST_KAPPA = 16.0  # what was tried first for the learner that is not shown P; it missed its aim on f7
BLIND_KAPPA = 4.0  # what was chosen after that: docs/learning.md has the numbers of both


@dataclass(frozen=True)
class Method:
    r"""A column of the experiment: a name, what it is called in print, and a conversion for an objective.

    Args:
        name: the key of the method in tables and files.
        label: the words for tables and figures.
        oracle: the oracle for an objective and an array of the wanted library; None for a baseline without one.
        weight: the weight of the projector P that the method plays in every round; None if it moves or there is none.
        kappa: the factor of the descent loss; 0 for the paper's linear loss.
        r: where on the step the sample is taken, from 0, the paper's start, to 1, the end; None for uniform.
        baseline: the conversion without an oracle; None for SGD with the paper's step size.

    Reference: Numerical Experiments, the stochastic oracle and Hedge experts.

    >>> import numpy as np
    >>> from o2nc.experiments.objectives import objective
    >>> conversion = METHODS["hedge"].conversion(objective("f1"), np.zeros(1))
    >>> print(f"{conversion.oracle.gamma:.5e}")
    9.03934e-05
    """

    name: str
    label: str
    oracle: Callable[[Objective, Array], Oracle] | None
    weight: float | None = None
    kappa: float = 0.0
    r: float | None = 0.0
    baseline: Callable[[Objective], Conversion] | None = None

    def conversion(self, f: Objective, like: Array, T: int = T_RUN) -> Conversion:
        """The method on ``f`` for the horizon ``T``, with arrays of the library, dtype and device of ``like``."""
        constants = f.constants(T)
        if self.oracle is None:
            return SGD(constants.eta) if self.baseline is None else self.baseline(f)
        return self.around(self.oracle(f, like), constants)

    def around(self, oracle: Oracle, constants: Smooth) -> Conversion:
        """Algorithm 1 with ``oracle``, and with the loss and the place of the sample of this method."""
        if self.r == 0:
            return SmoothConversion(oracle, constants, self.kappa)
        return SegmentConversion(oracle, constants, self.r, self.kappa)


def loss_range(f: Objective, kappa: float = 0.0, T: int = T_RUN) -> float:
    r"""An almost sure bound on how far the losses of two experts with $\|U_1-U_2\|_{op}\le1$ are apart in a round.

    $$C=\frac{SG_0}G+\frac{\kappa\beta\eta G_0^2}{2G};$$

    the paper's C for the linear loss, $\kappa=0$.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.experiments.objectives import objective
    >>> print(f"{loss_range(objective('f4')):.3f} {loss_range(objective('f4'), kappa=16):.3f}")
    367.386 442.666
    """
    c = f.constants(T)
    return f.S * c.G0 / c.G + kappa * c.beta * c.eta / 2 * c.G0**2 / c.G


def hedge_rate(f: Objective, T: int = T_RUN) -> float:
    r"""The rate of Hedge, $\gamma=\sqrt{2\log2/(TC^2)}$ with the C of `loss_range`.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.experiments.objectives import objective
    >>> print(f"{hedge_rate(objective('f4')):.5e}")
    2.26616e-05
    """
    return math.sqrt(2 * math.log(2) / T) / loss_range(f, T=T)


def _hedge(f: Objective, like: Array) -> Oracle:
    return Hedge([Identity(), f.projector(like)], gamma=hedge_rate(f))


def _frozen(f: Objective, like: Array) -> Oracle:
    return Constant(Mixture(_xp.like([1 - PRIOR, PRIOR], like), (Identity(), f.projector(like))))


def _learned(f: Objective, like: Array) -> Oracle:
    return AdaHedge([Identity(), f.projector(like)])


METHODS = MappingProxyType(
    {
        method.name: method
        for method in (
            Method("sgd", "SGD", None),
            Method("hedge", "Black-box + Hedge", _hedge),
            Method("frozen", "frozen prior (I + P)/2", _frozen, weight=PRIOR),
            Method("identity", "tracker with I", lambda f, like: Constant(), weight=0.0),
            Method("projector", "tracker with P", lambda f, like: Constant(f.projector(like)), weight=1.0),
            Method("learned", "AdaHedge, descent loss", _learned, kappa=KAPPA),
            Method("blind", "diagonal AdaGrad, without P", lambda f, like: AdaGrad(Box()), kappa=BLIND_KAPPA),
        )
    }
)


def method(name: str) -> Method:
    """The method called ``name``.

    Reference: Numerical Experiments.

    >>> method("adam")
    Traceback (most recent call last):
        ...
    ValueError: `method` must be one of sgd, hedge, frozen, identity, projector, learned, blind; got 'adam'.
    """
    if name not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}; got {name!r}.")
    return METHODS[name]
