"""What an experiment needs of a smooth objective, and two small tools that several of them share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ... import _xp
from ..._xp import Array
from ...constants import PaperSmooth, Smooth
from ...operators import Operator, Projector
from ..runner.noise import signs

FIRST_GAP = 0.5  # f(W_1) - f*, the same for all four objectives


@dataclass(frozen=True)
class Objective(ABC):
    r"""A bounded smooth objective with its noise: $s=\nabla f(x)+\xi$, $E\xi=0$, $E\|\xi\|^2\le\sigma^2$.

    In the paper's four objectives $P\xi=0$: P removes the noise; in the others it need not.

    A subclass gives `gap_and_gradient`, `start` and `witness`, the constants as defaults of the fields, and ``scales``,
    the size of the noise on each coordinate: P keeps those without. If it is not that simple, it gives `projector` and
    `noise` themselves. Points have their coordinates on the last axis and replications on the leading ones, (..., d);
    they come from any array library, and the results have its dtype and device.

    Args:
        beta: Lipschitz constant of the gradient.
        sigma: root of the declared variance of the noise.
        M: declared range, f(x) - f(y) <= M.
        gradient_sup: bound on the norm of the gradient.

    Reference: Numerical Experiments.

    >>> import numpy as np
    >>> from o2nc.lab.objectives import objective
    >>> f = objective("f4")
    >>> x = f.start(np.zeros(1))
    >>> print(f"{f.gap(x)[0]:.4f} {np.linalg.norm(f.gradient(x)):.4f}")
    0.5000 5.7214
    """

    name: ClassVar[str]
    d: ClassVar[int]
    f_star: ClassVar[float] = 0.0
    scales: ClassVar[list[float]]  # of the signs of the noise
    additive: ClassVar[bool] = True  # the noise does not depend on the point

    beta: float
    sigma: float
    M: float
    gradient_sup: float

    @property
    def noise_sup(self) -> float:
        """An almost sure bound on the norm of the noise: sigma, if it does not vary."""
        return self.sigma

    @property
    def S(self) -> float:
        """The almost sure bound on the stochastic gradient, gradient_sup + noise_sup."""
        return self.gradient_sup + self.noise_sup

    def constants(self, T: int) -> PaperSmooth:
        """The constants of the paper for the horizon ``T``."""
        return Smooth.paper(M=self.M, beta=self.beta, sigma=self.sigma, T=T)

    @property
    def first_gap(self) -> float:
        """D, the first gap f(W_1) - f*."""
        return float(self.gap(self.start(np.zeros(1)))[0])

    def sharp(self, T: int) -> Smooth:
        """The constants of the sharp theorem from the first gap, for the horizon ``T``."""
        return Smooth(gap=self.first_gap, beta=self.beta, sigma=self.sigma, T=T)

    @abstractmethod
    def start(self, like: Array) -> Array:
        """The first iterate W_1, of shape (d,), with library, dtype and device of ``like``."""

    @abstractmethod
    def gap_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """f(x) - f* of shape (..., 1) and the gradient of shape (..., d), in one pass."""

    def projector(self, like: Array) -> Operator:
        """The projector P of the paper's second expert, with library, dtype and device of ``like``."""
        return Projector.from_mask(_xp.like(self.scales, like) == 0)

    def noise(self, epsilon: Array, t: Array | float | None = None) -> Array:
        """The noise xi made of the Rademacher signs ``epsilon``, a floating array (..., d), in round ``t`` >= 0."""
        self.check("epsilon", epsilon)
        return epsilon * _xp.like(self.scales, epsilon)

    @abstractmethod
    def witness(self) -> tuple[Sequence[float], Sequence[float]]:
        """A point and a direction v with v^T Hess f(point) v < 0: f is not convex."""

    def noise_of(self, epsilon: Array, start_round: int) -> Array:
        """The noise made of the signs ``epsilon`` of the rounds from ``start_round`` on, of shape (rounds, R, d)."""
        return self.noise(epsilon, _xp.like([[[float(start_round + i)]] for i in range(epsilon.shape[0])], epsilon))

    def coins(self, seed: int, replications: Sequence[int], start_round: int, rounds: int) -> Any:
        """What the noise of a block of rounds is made of, a NumPy array (rounds, R, ...): fair signs."""
        return signs(seed, self.name, replications, start_round, rounds, self.d)

    def sample(self, x: Array, g: Array, drawn: Array) -> Array:
        """The stochastic gradient at ``x``, whose gradient is ``g``, with what `noise_of` gave for the round."""
        return g + drawn

    def draw(self, seed: int, replications: Sequence[int], start_round: int, rounds: int, like: Array) -> Array:
        """The noise of some replications for a block of rounds, a function of (seed, replication, round) alone."""
        epsilon = self.coins(seed, replications, start_round, rounds)
        return self.noise_of(_xp.from_numpy(epsilon, like), start_round)

    def gap(self, x: Array) -> Array:
        """f(x) - f*, of shape (..., 1)."""
        return self.gap_and_gradient(x)[0]

    def value(self, x: Array) -> Array:
        """f(x), of shape (..., 1)."""
        return self.gap(x) + self.f_star

    def gradient(self, x: Array) -> Array:
        """The gradient of f, of shape (..., d)."""
        return self.gap_and_gradient(x)[1]

    def check(self, name: str, x: Array) -> None:
        """Raise unless ``x`` is an array of shape (..., d)."""
        shape = getattr(x, "shape", ())
        if not shape or shape[-1] != self.d:
            got = f"shape {tuple(shape)}" if hasattr(x, "shape") else type(x).__name__
            raise ValueError(f"`{name}` must be an array of shape (..., {self.d}) for {self.name}; got {got}.")


def half_angle(x: Array) -> tuple[Array, Array]:
    r"""$(\sin x,\tan(x/2))$, the second of which gives $1-\cos x=\sin x\tan(x/2)$ without cancellation.

    One transcendental function instead of two: $\sin x=2t/(1+t^2)$ with $t=\tan(x/2)$. A float is never an odd multiple
    of pi, so t is finite, and large t is harmless.

    Reference: the objectives of the numerical section.

    >>> import numpy as np
    >>> sin, t = half_angle(np.asarray([1e-9, np.pi]))
    >>> sin * t
    array([5.e-19, 2.e+00])
    """
    t = _xp.namespace(x).tan(0.5 * x)
    return (t + t) / (1.0 + t * t), t


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of ``function`` between ``low`` and ``high``, to the last bit, by bisection.

    Reference: the first gap of 0.5 of the numerical section.

    >>> root(lambda x: x * x - 2, 1.0, 2.0)
    1.414213562373095
    """
    sign = function(low) > 0
    if sign == (function(high) > 0):
        raise ValueError(f"`function` must change its sign between `low` and `high`; got {low} and {high}.")
    while low < (middle := low + (high - low) / 2) < high:
        if (function(middle) > 0) == sign:
            low = middle
        else:
            high = middle
    return low
