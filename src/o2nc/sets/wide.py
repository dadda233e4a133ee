"""Factors and eigenvalues of any size."""

from dataclasses import dataclass
from typing import ClassVar

from .._xp import Array
from .base import registry
from .block_box import BlockBox, halves
from .box import Box, check_bounds
from .spectral import SLOW, Spectral

ANY_SIZE = (1e300, "a finite number")


@dataclass(frozen=True)
class WideBox(Box):
    r"""$\{\mathrm{diag}(u) : low\le u_i\le high\}$ with any low and high: operators need not be contractions.

    Only `o2nc.losses.PredictionLoss` is made for such operators: the theorems of the other losses need contractions.

    Args:
        low: smallest factor.
        high: largest factor.

    Reference: Algorithm 1 with the prediction loss.

    >>> import numpy as np
    >>> WideBox(0.0, 2.0).project(np.asarray([-1.0, 0.5, 3.0]))
    array([0. , 0.5, 2. ])
    """

    high: float = 2.0
    rule = ANY_SIZE
    any_size: ClassVar[bool] = True


@dataclass(frozen=True)
class WideBlockBox(BlockBox):
    r"""$\{c_1I\oplus\dots\oplus c_kI : low\le c_i\le high\}$ with any low and high: `BlockBox` beyond contractions.

    With one block it is an interval of multiples of the identity.

    Args:
        low: smallest factor.
        high: largest factor.
        shapes: the shapes of the blocks, needed for arrays only.

    Reference: Algorithm 1 with the prediction loss.

    >>> import numpy as np
    >>> S = WideBlockBox(-3.0, 3.0, shapes=((2,),))
    >>> S.operator(np.asarray([2.5])) @ np.asarray([1.0, 2.0])
    array([2.5, 5. ])
    """

    high: float = 2.0
    rule = ANY_SIZE
    any_size: ClassVar[bool] = True


@dataclass(frozen=True)
class WideSpectral(Spectral):
    r"""$\{U=U^\top : low\,I\preceq U\preceq high\,I\}$ with any low and high: balls of any radius, and shifted ones.

    Args:
        low: smallest eigenvalue.
        high: largest eigenvalue.

    Reference: Algorithm 1 with the prediction loss.

    >>> import numpy as np
    >>> WideSpectral(-2.0, 2.0).project(np.asarray([[3.0, 0.0], [0.0, -1.0]]))
    array([[ 2.,  0.],
           [ 0., -1.]])
    """

    low: float = -2.0
    high: float = 2.0
    any_size: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bounds(type(self).__name__, self.low, self.high, *ANY_SIZE)

    def start(self, x: Array) -> Array:
        """The point nearest to the identity."""
        return min(max(1.0, self.low), self.high) * super().start(x)


registry.add("wide-box", lambda experts, x: WideBox(), "diagonal matrices with entries in [0, 2]", over="diagonal")
registry.add(
    "wide-block-box",
    lambda experts, x: WideBlockBox(shapes=halves(x)),
    "a factor in [0, 2] for each block",
    over="diagonal",
)
registry.add(
    "wide-spectral",
    lambda experts, x: WideSpectral(),
    f"symmetric matrices with eigenvalues in [-2, 2]; {SLOW}",
    over="matrix",
)
