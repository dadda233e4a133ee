"""Adaptive experts: predictable directions with a state of their own, computed from the past and the tracker.

A direction may use the tracker m of the round and the samples of earlier rounds, never the sample of its own round.
`o2nc.oracles.Adaptive` turns directions into legal preconditioners: it shortens them to the length of the tracker.
Each acts block by block on `Blocks`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from . import _xp
from ._xp import Array
from .constants import check_number
from .operators import newton_schulz, polar
from .vectors import Blocks, Scalar, Vector, apply, check_shapes, inner, join, split, zero_scalar, zeros_like


@runtime_checkable
class Direction(Protocol):
    """A predictable direction.

    Reference: the sets U_t of Algorithm 1, which may change with t and depend on the past.

    >>> isinstance(RMS(), Direction)
    True
    """

    def init(self, x: Vector) -> Any:
        """The state before round 1, a NamedTuple of arrays, for vectors like x."""
        ...

    def direction(self, state: Any, m: Vector) -> Vector:
        """The direction of this round, from the state and the tracker."""
        ...

    def learn(self, state: Any, s: Vector) -> Any:
        """The state after the sample of this round."""
        ...


class NoState(NamedTuple):
    """Nothing to remember."""


class _Memoryless:
    def init(self, x: Vector) -> Any:
        """Nothing to remember."""
        return NoState()

    def learn(self, state: Any, s: Vector) -> Any:
        """The same state."""
        return state


def with_length(d: Vector, m: Vector) -> Vector:
    """d scaled to the length of m; 0 if d = 0.

    >>> import numpy as np
    >>> with_length(np.asarray([3.0, 4.0]), np.asarray([0.0, 10.0]))
    array([6., 8.])
    """
    square = inner(d, d)
    xp = _xp.namespace(square)
    return d * xp.sqrt(inner(m, m) / xp.where(square > 0, square, xp.ones_like(square)))


def shortened(d: Vector, m: Vector) -> Vector:
    """d scaled down to the length of m where it is longer: the cap of certified use.

    >>> import numpy as np
    >>> shortened(np.asarray([3.0, 4.0]), np.asarray([0.0, 1.0]))
    array([0.6, 0.8])
    """
    square, limit = inner(d, d), inner(m, m)
    xp = _xp.namespace(square)
    safe = xp.where(square > 0, square, xp.ones_like(square))
    return d * xp.where(square > limit, xp.sqrt(limit / safe), xp.ones_like(square))


@dataclass(frozen=True)
class Momentum(_Memoryless):
    """The tracker itself: the identity among the experts, which an a-priori bound needs.

    Reference: Algorithm 1 with U = I.

    >>> import numpy as np
    >>> Momentum().direction(NoState(), np.asarray([1.0, 2.0]))
    array([1., 2.])
    """

    def direction(self, state: Any, m: Vector) -> Vector:
        """m."""
        return m


@dataclass(frozen=True)
class Sign(_Memoryless):
    """The sign of the tracker, at the length of the tracker.

    Reference: sign descent (Bernstein et al., 2018).

    >>> import numpy as np
    >>> Sign().direction(NoState(), np.asarray([3.0, -4.0])).round(4)
    array([ 3.5355, -3.5355])
    """

    def direction(self, state: Any, m: Vector) -> Vector:
        """sign(m) |m| / |sign(m)|."""
        return with_length(apply(_xp.sign, m), m)


@dataclass(frozen=True, eq=False)
class Mask(_Memoryless):
    """The tracker on the coordinates of a mask, 0 elsewhere.

    Args:
        mask: factors in [0, 1], an array or `Blocks` in the shapes of the vector.

    Reference: the projectors of the numerical section.

    >>> import numpy as np
    >>> Mask(np.asarray([1.0, 0.0])).direction(NoState(), np.asarray([3.0, -4.0]))
    array([ 3., -0.])
    """

    mask: Vector

    def direction(self, state: Any, m: Vector) -> Vector:
        """m times the mask."""
        return apply(lambda a, b: a * _xp.like(b, a), m, self.mask)


@dataclass(frozen=True, eq=False)
class Function(_Memoryless):
    """Any function of the tracker.

    Args:
        function: from the tracker to a direction of the same shapes.

    Reference: none; for your own ideas.

    >>> import numpy as np
    >>> Function(np.tanh).direction(NoState(), np.asarray([0.0, 1.0])).round(4)
    array([0.    , 0.7616])
    """

    function: Callable[[Vector], Vector]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"`Function(function=...)` must be callable; got {self.function!r}.")

    def direction(self, state: Any, m: Vector) -> Vector:
        """function(m)."""
        return self.function(m)


class RMSState(NamedTuple):
    """What `RMS` remembers."""

    v: Vector  # the running average of the squared samples
    c: Scalar  # 1 - b2^t, its weight


@dataclass(frozen=True)
class RMS:
    r"""Adam's direction $m/(\sqrt{\hat v}+\epsilon)$, at the length of the tracker; $v\leftarrow b_2v+(1-b_2)s^2$.

    $\hat v=v/(1-b_2^t)$ holds the samples before this round only.

    Args:
        b2: the discount, in [0, 1).
        eps: added to the root.

    Reference: Kingma and Ba (2015).

    >>> import numpy as np
    >>> rms, m = RMS(), np.asarray([3.0, 4.0])
    >>> rms.direction(rms.learn(rms.init(m), np.asarray([3.0, 4.0])), m).round(4)
    array([3.5355, 3.5355])
    """

    b2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        check_number("RMS(b2=...)", self.b2)
        check_number("RMS(eps=...)", self.eps, positive=True)
        if self.b2 >= 1:
            raise ValueError(f"`RMS(b2=...)` must lie in [0, 1); got {self.b2}.")

    def init(self, x: Vector) -> RMSState:
        """No sample so far."""
        return RMSState(v=zeros_like(x), c=zero_scalar(x))

    def direction(self, state: RMSState, m: Vector) -> Vector:
        """m / (sqrt(v / c) + eps), at the length of m."""
        xp = _xp.namespace(state.c)
        v = state.v * (1 / xp.where(state.c > 0, state.c, xp.ones_like(state.c)))
        return with_length(apply(lambda a, b: a / (_xp.namespace(b).sqrt(b) + self.eps), m, v), m)

    def learn(self, state: RMSState, s: Vector) -> RMSState:
        """Average the squared sample in."""
        v = apply(lambda a, b: self.b2 * a + (1 - self.b2) * b * b, state.v, s)
        return RMSState(v=v, c=self.b2 * state.c + (1 - self.b2))


@dataclass(frozen=True)
class Polar:
    r"""Muon's direction: the polar factor of each matrix block, at the length of the block; RMS on the other blocks.

    A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer has no polar
    factor and takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        steps: of `newton_schulz`, as Muon has it; None for the exact factor, by SVD.

    Reference: Jordan et al. (2024); polar as the paper defines it, with zero singular values masked.

    >>> import numpy as np
    >>> expert, m = Polar(), Blocks((np.asarray([[3.0, 0.0], [0.0, 0.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0]
    array([[3., 0.],
           [0., 0.]])
    """

    shapes: Sequence[tuple[int, ...]] | None = None
    fallback: Direction = field(default_factory=RMS)
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.shapes is not None:
            object.__setattr__(self, "shapes", check_shapes("Polar(shapes=...)", self.shapes))
        if not isinstance(self.fallback, Direction):
            raise TypeError(f"`Polar(fallback=...)` must have init, direction and learn; got {self.fallback!r}.")
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            raise ValueError(f"`Polar(steps=...)` must be None or a whole number of at least 1; got {self.steps!r}.")

    def init(self, x: Vector) -> Any:
        """The state of the fallback."""
        if not isinstance(x, Blocks) and self.shapes is None:
            raise ValueError("`Polar(shapes=...)` must be given to act on an array; got none.")
        return self.fallback.init(x)

    def direction(self, state: Any, m: Vector) -> Vector:
        """The polar factors, each at the length of its block."""
        other = self.fallback.direction(state, m)
        if isinstance(m, Blocks):
            return Blocks(tuple(self._block(a, b, a.ndim) for a, b in zip(m.arrays, other.arrays, strict=True)))
        shapes = tuple(self.shapes or ())
        pieces = zip(split(m, shapes).arrays, split(other, shapes).arrays, shapes, strict=True)
        return join(Blocks(tuple(self._block(a, b, len(shape)) for a, b, shape in pieces)), shapes)

    def learn(self, state: Any, s: Vector) -> Any:
        """That of the fallback."""
        return self.fallback.learn(state, s)

    def _block(self, a: Array, other: Array, axes: int) -> Array:
        if axes < 2:
            return other
        xp, batch = _xp.namespace(a), a.shape[: a.ndim - axes]
        first, size = a.shape[len(batch)], math.prod(a.shape[len(batch) :])
        A = xp.reshape(a, (*batch, first, size // first if first else 0))
        Z = polar(A) if self.steps is None else newton_schulz(A, self.steps)
        flat = (*batch, size)
        return xp.reshape(with_length(xp.reshape(Z, flat), xp.reshape(a, flat)), a.shape)
