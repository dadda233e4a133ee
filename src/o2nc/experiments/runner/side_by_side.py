"""Several oracles side by side: the methods of a run are one more leading axis of the same algorithm."""

import math
from dataclasses import dataclass
from typing import Any

from ... import _xp
from ..._xp import Array
from ...losses import DescentLoss, LinearLoss, Loss
from ...operators import Operator
from ...oracles import Oracle
from ...oracles.base import weights_of


@dataclass(frozen=True, eq=False)
class Side:
    r"""The operators $U_1,\dots,U_K$ on an array of shape (K, ..., d): $U_k$ acts on the slice k.

    Args:
        operators: one a slice.

    Reference: the controls of the experiments.

    >>> import numpy as np
    >>> from o2nc.operators import Diagonal, Identity
    >>> Side((Identity(), Diagonal(np.zeros(2)))) @ np.ones((2, 2))
    array([[1., 1.],
           [0., 0.]])
    """

    operators: tuple[Operator, ...]

    def __matmul__(self, v: Array) -> Array:
        return _xp.namespace(v).stack([U @ v[k, ...] for k, U in enumerate(self.operators)])


@dataclass(frozen=True, eq=False)
class SideBySide:
    r"""Oracles side by side for arrays of shape (K, ..., d): each sees and plays its own slice only.

    One tracker update then serves all of them: K small batches cost more than one large one.

    Args:
        oracles: one a slice.

    Reference: the controls of the experiments.

    >>> import numpy as np
    >>> from o2nc.oracles import Constant
    >>> SideBySide((Constant(), Constant())).init(np.zeros((2, 3)))
    (ConstantState(), ConstantState())
    """

    oracles: tuple[Oracle, ...]

    def init(self, x: Array) -> tuple[Any, ...]:
        """The states of all."""
        return tuple(oracle.init(x[k, ...]) for k, oracle in enumerate(self.oracles))

    def play(self, state: tuple[Any, ...], m: Array) -> Operator:
        """Each plays for its slice of m."""
        return Side(tuple(oracle.play(state[k], m[k, ...]) for k, oracle in enumerate(self.oracles)))

    def learn(self, state: tuple[Any, ...], loss: Loss) -> tuple[Any, ...]:
        """Each learns from its slice of the loss."""
        if not isinstance(loss, (LinearLoss, DescentLoss)):
            raise TypeError(f"`SideBySide` takes a linear or a descent loss; got {type(loss).__name__}.")
        return tuple(
            oracle.learn(state[k], loss._replace(s=loss.s[k, ...], m=loss.m[k, ...]))
            for k, oracle in enumerate(self.oracles)
        )

    def weights(self, state: tuple[Any, ...]) -> Array | None:
        """The weight of each one's last expert, (K, ..., 1), NaN where an oracle has none; None if none of them has."""
        each = [weights_of(oracle, own) for oracle, own in zip(self.oracles, state, strict=True)]
        last = [weights[..., -1:] for weights in each if weights is not None]
        if not last:
            return None
        none = math.nan * last[0]
        return _xp.namespace(none).stack([none if weights is None else weights[..., -1:] for weights in each])
