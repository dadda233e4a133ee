"""Smooth losses of rows of real data, with samples by minibatches, in the form of the smooth objectives."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ...operators import Operator, Projector, trusted
from ..runner.noise import uniforms
from .minibatch import Floats
from .smooth import Objective


@dataclass(frozen=True, eq=False)
class DataObjective(Objective):
    r"""The mean of bounded smooth losses of n rows of data, and samples by minibatches drawn with replacement.

    $$f(x)=\frac1n\sum_{i=1}^n\ell_i(x),\qquad s=\frac1B\sum_{j=1}^B\nabla\ell_{i_j}(x),\qquad
      E\|s-\nabla f\|^2\le\frac1{nB}\sum_i\sup\|\nabla\ell_i\|^2=\sigma^2.$$

    The noise depends on the point, unlike that of the other smooth objectives. The least value is not known. It is at
    least 0, so 0 stands for it: the gap is f itself, and larger than f - inf f.

    Args:
        A: the rows, (n, p).
        b: what belongs to each row, (n,).
        row_sup: a bound on the gradient of every single loss.
        batch: B.

    Reference: not in the paper; Assumptions 1 and 2 hold with the constants that each objective derives.
    """

    A: Floats
    b: Floats
    row_sup: float
    batch: int = 16

    name: ClassVar[str]
    additive: ClassVar[bool] = False

    @property
    def noise_sup(self) -> float:
        """A minibatch and its mean are no further apart than their bounds together."""
        return self.row_sup + self.gradient_sup

    @property
    def S(self) -> float:
        """A mean of gradients of single losses."""
        return self.row_sup

    @abstractmethod
    def weighted(self, x: Array, w: Array) -> tuple[Array, Array]:
        """The sum of the losses of all rows with the weights ``w`` (..., n), and its gradient."""

    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """The mean loss and its gradient."""
        self.check("x", x)
        n = len(self.A)
        return self.weighted(x, _xp.zeros((n,), x) + 1 / n)

    def coins(self, seed: int, replications: Sequence[int], start_round: int, rounds: int) -> Any:
        """Numbers uniform on [0, 1), (rounds, R, B), which choose the rows."""
        return uniforms(seed, self.name, "rows", replications, start_round, rounds, self.batch)

    def noise_of(self, epsilon: Array, start_round: int) -> Array:
        """The weight of every row in its minibatch, (rounds, R, n), from the uniforms ``epsilon``."""
        xp, n = _xp.namespace(epsilon), len(self.A)
        rows, every = xp.floor(epsilon * n), xp.astype(_xp.like(np.arange(n).tolist(), epsilon), epsilon.dtype)
        return xp.sum(_xp.indicator(rows[..., None] == every, epsilon), axis=-2) / self.batch

    def sample(self, x: Array, g: Array, drawn: Array) -> Array:
        """The gradient on the rows of the minibatch."""
        return self.weighted(x, drawn)[1]

    def witness(self) -> tuple[list[float], list[float]]:
        """On the line through the start along its gradient f is bounded, so it bends down somewhere: where most."""
        x = self.start(np.zeros(1))
        g = np.asarray(self.gradient(x))
        v = g / np.linalg.norm(g)
        line = x + np.linspace(-20, 20, 801)[:, None] * v
        slopes = np.asarray(self.gradient(line)) @ v
        k = int(np.argmin(np.diff(slopes)))
        return ((line[k] + line[k + 1]) / 2).tolist(), v.tolist()


def row_sigma(row_sups: Floats, batch: int) -> float:
    """The root of the mean of the squared bounds of the rows over B.

    >>> row_sigma(np.asarray([3.0, 4.0]), 2)
    2.5
    """
    return math.sqrt(float(np.mean(np.square(row_sups))) / batch)


def principal(A: Floats, blocks: int, like: Array) -> Operator:
    """The projector onto the leading half of the principal directions of the rows, in each of some blocks of p numbers.

    Reference: not in the paper; a fixed expert that knows the data but not the labels.

    >>> principal(np.diag([2.0, 1.0]), 1, np.zeros(1)) @ np.asarray([3.0, 4.0])
    array([3., 0.])
    """
    directions = np.linalg.svd(A, full_matrices=False)[2]
    half = directions[: len(directions) // 2].T
    return trusted(Projector, basis=_xp.from_numpy(np.ascontiguousarray(np.kron(np.eye(blocks), half)), like))
