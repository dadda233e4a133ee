r"""The scale of a step: fixed, or learned from what the last steps would still be worth."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share

LIMIT = 10 * math.log(10.0)  # of the logarithm of a learned scale: ten decades
HALF = 0.5  # of a weight, which may decay in a step: more, and it forgets all but the last steps


class Scale(Protocol):
    """A factor of the learning rate, as a pure function of its state."""

    def init(self, zero: Array) -> Any:
        """The state before the first step, for numbers like ``zero``, of shape (..., 1)."""
        ...

    def factor(self, state: Any, decay: Array | None = None) -> Array | float:
        r"""$\sigma$ of the next step, of shape (..., 1), if a weight decays by the share ``decay`` of it at most."""
        ...

    def learn(self, state: Any, q: Array, decay: Array | None = None) -> Any:
        """The state after a step, of which the trace would still decrease the objective by q."""
        ...


class NoScale(NamedTuple):
    """Nothing to remember."""


@dataclass(frozen=True)
class FixedScale:
    r"""The learning rate as it was given: $\sigma=1$.

    Reference: none.

    >>> FixedScale().factor(NoScale())
    1.0
    """

    def init(self, zero: Array) -> NoScale:
        """Nothing."""
        return NoScale()

    def factor(self, state: NoScale, decay: Array | None = None) -> float:
        """1."""
        return 1.0

    def learn(self, state: NoScale, q: Array, decay: Array | None = None) -> NoScale:
        """Nothing."""
        return state


class LearnedState(NamedTuple):
    """What `LearnedScale` remembers; each of shape (..., 1)."""

    log: Array  # of sigma
    mean: Array  # the average of q
    root: Array  # of the average of q^2
    size: Array  # the mean of |q| / sigma over all steps in which q was not 0
    t: Array  # how many they were
    capped: Array  # the steps in which sigma would be larger, but for weight decay


@dataclass(frozen=True)
class LearnedScale:
    r"""A factor $\sigma$ of the learning rate that grows while the last steps would still help, and shrinks if not.

    $$\log\sigma\leftarrow\log\sigma+\min\Bigl(\eta,\frac cn\Bigr)\frac{M_1}N,\qquad
    M_1\leftarrow bM_1+(1-b)q,\quad M_2\leftarrow bM_2+(1-b)q^2,\qquad
    N=\begin{cases}\max(\sqrt{M_2},\sigma A)&M_1>0\\\sqrt{M_2}&\text{else.}\end{cases}$$

    q is what the trace of the last directions, taken once more, would decrease the objective by, to first order. This
    is Adam's step on $\log\sigma$, whose derivative is $-q$ up to a factor. It does not change when all q are
    multiplied by a positive number, a step changes $\sigma$ by at most a factor of about $e^\eta$, and $\sigma$ stays
    between $10^{-10}$ and $10^{10}$.

    n is the number of steps so far. The trace sees as far back as the run is long, so it says nearly the same in many
    steps; with $c/n$ the scale changes about as fast as the trace does, like a power of n at most. Without it the scale
    may run away late in a run where weights grow without changing the network, as before a batch normalisation.

    A is the mean of $|q|/\sigma$ over the run. It slows growth, and never shrinkage, where gradients are far below what
    they were: a classifier that separates its data would else step ever farther, since every step still helps a little.

    With weight decay $\lambda$ and the learning rate lr, of several the largest product, also
    $\sigma\le\max(1,\tfrac1{2\,lr\,\lambda})$: at most half of a weight decays in a step. At $lr\,\sigma\lambda=1$ a
    weight forgets all of its past, above it changes its sign, and above 2 it grows. Decay balances directions at a size
    of about $1/\lambda$, whatever $\sigma$ is; if weights would go farther, each step still helps, and $\sigma$ would
    grow for ever. ``capped`` counts such steps.

    Args:
        step: $\eta$.
        pace: c.
        b: the discount of both averages, in [0, 1).

    Reference: not in the paper; hypergradient descent, Baydin et al. (2018), with Adam's step and a trace.

    >>> import numpy as np
    >>> scale = LearnedScale()
    >>> state = scale.init(np.zeros(1))
    >>> for q in (1.0, 3.0, -0.5):
    ...     state = scale.learn(state, np.asarray([q]))
    >>> scale.factor(state).round(4)
    array([1.025])
    >>> for _ in range(1000):
    ...     state = scale.learn(state, 1e-6 * scale.factor(state))
    >>> scale.factor(state).round(2)
    array([1.34])
    """

    step: float = 0.05
    pace: float = 4.0
    b: float = 0.9

    def __post_init__(self) -> None:
        check_number("LearnedScale(step=...)", self.step, positive=True)
        check_number("LearnedScale(pace=...)", self.pace, positive=True)
        check_share("LearnedScale(b=...)", self.b)

    def init(self, zero: Array) -> LearnedState:
        """1."""
        return LearnedState(zero, zero, zero, zero, zero, zero)

    def factor(self, state: LearnedState, decay: Array | None = None) -> Array:
        """exp of its logarithm."""
        return _xp.namespace(state.log).exp(_capped(state.log, decay))

    def learn(self, state: LearnedState, q: Array, decay: Array | None = None) -> LearnedState:
        """A step of Adam on the logarithm."""
        mean = self.b * state.mean + (1 - self.b) * q
        root = _xp.hypot(math.sqrt(self.b) * state.root, math.sqrt(1 - self.b) * q)
        xp, sigma, before = _xp.namespace(q), self.factor(state, decay), _capped(state.log, decay)
        t = xp.where(q == 0, state.t, state.t + 1)
        n = _xp.at_least(t, 1.0)
        size = xp.where(q == 0, state.size, state.size + (xp.abs(q) / sigma - state.size) / n)
        step = xp.minimum(xp.full_like(n, self.step), self.pace / n)
        log = before + step * mean * _xp.inverse(xp.where(mean > 0, xp.maximum(root, sigma * size), root))
        limit = xp.full_like(log, LIMIT)
        log = xp.minimum(xp.maximum(log, -limit), limit)
        after = _capped(log, decay)
        is_capped = (after < log) | (before < state.log)
        return LearnedState(after, mean, root, size, t, state.capped + _xp.indicator(is_capped, t))


def _capped(log: Array, decay: Array | None) -> Array:
    """The logarithm of a scale with which at most `HALF` of a weight decays, and the scale 1 is allowed."""
    if decay is None:
        return log
    xp = _xp.namespace(log)
    room = xp.log(_xp.at_least(HALF * _xp.inverse(decay), 1.0))
    return xp.where(decay < _xp.smallest_normal(decay), log, xp.minimum(log, room))


SCALES: dict[str, type[FixedScale] | type[LearnedScale]] = {"learned": LearnedScale, "fixed": FixedScale}  # by name
