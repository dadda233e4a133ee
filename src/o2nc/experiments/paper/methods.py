"""The methods of a run: the paper's two, three controls that tell what its gain is made of, and two that learn."""

import math
from types import MappingProxyType

from ... import _xp
from ..._xp import Array
from ...operators import Identity, Mixture
from ...oracles import AdaGrad, AdaHedge, Constant, Hedge, Oracle
from ...sets import Box
from ..objectives.smooth import Objective
from ..runner.paired import HORIZON, Method

PRIOR = 0.5  # the weight of P before anything is learned
KAPPA = 16.0  # the factor of the descent loss of the learner that is shown P, one for all objectives
FIRST_KAPPA = 16.0  # what was tried first for the learner that is not shown P; it missed its aim on f7
BLIND_KAPPA = 4.0  # what was chosen after that: docs/learning.md has the numbers of both


def loss_range(f: Objective, kappa: float = 0.0) -> float:
    r"""An almost sure bound on how far the losses of two experts with $\|U_1-U_2\|_{op}\le1$ are apart in a round.

    $$C=\frac{SG_0}G+\frac{\kappa\beta\eta G_0^2}{2G};$$

    the paper's C for the linear loss, $\kappa=0$.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.experiments.objectives import objective
    >>> print(f"{loss_range(objective('f4')):.3f} {loss_range(objective('f4'), kappa=16):.3f}")
    367.386 442.666
    """
    c = f.constants(HORIZON)
    return f.S * c.G0 / c.G + kappa * c.beta * c.eta / 2 * c.G0**2 / c.G


def hedge_rate(f: Objective) -> float:
    r"""The rate of Hedge, $\gamma=\sqrt{2\log2/(TC^2)}$ with the C of `loss_range`.

    Reference: Numerical Experiments, the hyperparameters.

    >>> from o2nc.experiments.objectives import objective
    >>> print(f"{hedge_rate(objective('f4')):.5e}")
    2.26616e-05
    """
    return math.sqrt(2 * math.log(2) / HORIZON) / loss_range(f)


def _hedge(f: Objective, like: Array) -> Oracle:
    return Hedge([Identity(), f.projector(like)], gamma=hedge_rate(f))


def _frozen(f: Objective, like: Array) -> Oracle:
    return Constant(Mixture(_xp.like([1 - PRIOR, PRIOR], like), (Identity(), f.projector(like))))


def _learned(f: Objective, like: Array) -> Oracle:
    return AdaHedge([Identity(), f.projector(like)])


_ALL = (
    Method("sgd", "SGD", None),
    Method("hedge", "Black-box + Hedge", _hedge),
    Method("frozen", "frozen prior (I + P)/2", _frozen, weight=PRIOR),
    Method("identity", "tracker with I", lambda f, like: Constant(), weight=0.0),
    Method("projector", "tracker with P", lambda f, like: Constant(f.projector(like)), weight=1.0),
    Method("learned", "AdaHedge, descent loss", _learned, kappa=KAPPA),
    Method("blind", "diagonal AdaGrad, without P", lambda f, like: AdaGrad(Box()), kappa=BLIND_KAPPA),
)
METHODS = MappingProxyType({method.name: method for method in _ALL})
