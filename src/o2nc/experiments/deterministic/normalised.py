"""A learner that is shown the linear loss over the squared length of the tracker."""

from dataclasses import dataclass
from typing import Any

from ... import _xp
from ...losses import LinearLoss, Loss
from ...operators import Operator
from ...oracles.base import Oracle
from ...vectors import Vector, inner


@dataclass(frozen=True, eq=False)
class Normalised:
    r"""An oracle that learns from $-\langle s_t,Um_t\rangle/\|m_t\|^2$, so that late rounds count like early ones.

    With exact gradients and the sample at the end of the step this is the hypergradient of OSGM-H in U, without its
    values and null steps. Theorem 1 is about the loss without the division: there is no certificate.

    Args:
        oracle: the learner.

    Reference: Gao, Chu, Ye and Udell, Gradient methods with online scaling (2025), for the division.

    >>> import numpy as np
    >>> from o2nc.oracles import OGD
    >>> from o2nc.sets import Box
    >>> oracle, m = Normalised(OGD(Box(), eta=0.1)), np.asarray([1e-3])
    >>> state = oracle.learn(oracle.init(m), LinearLoss(s=-2 * m, m=m, scale=1.0))
    >>> state.u
    array([0.8])
    """

    oracle: Oracle

    def init(self, x: Vector) -> Any:
        """That of the learner."""
        return self.oracle.init(x)

    def play(self, state: Any, m: Vector) -> Operator:
        """That of the learner."""
        return self.oracle.play(state, m)

    def learn(self, state: Any, loss: Loss) -> Any:
        """From the loss over |m|^2; from 0 if m is 0."""
        return self.oracle.learn(state, LinearLoss(loss.s * _xp.inverse(inner(loss.m, loss.m)), loss.m, 1.0))
