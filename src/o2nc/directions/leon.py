"""Leon's direction: a damped polar factor."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import check_number, check_share
from ..operators import inverse_root, shorter_square
from ..vectors import Vector
from .adam import Adam
from .base import FLOOR, registry
from .matrices import OnMatrices


class LeonState(NamedTuple):
    """What `Leon` remembers."""

    V: tuple[Array, ...]  # for each matrix block, of its shorter side, the sum of b^{2(t-i)} S_i S_i^T
    other: Any  # the state of the fallback


@dataclass(frozen=True)
class Leon(OnMatrices):
    r"""Leon's direction of each matrix block: $(A+10^{-4}\bar\lambda I)^{-1/2}M$, at a root mean square of 0.2.

    $$A=MM^\top+\eta^2(1-b)^2V,\qquad V\leftarrow b^2V+SS^\top,\qquad\bar\lambda=\mathrm{tr}A/p.$$

    M is the tracker. If its weight is $1-b$, this is the damped polar factor of `o2nc.rivals.Leon`, where M is the sum
    without $1-b$, but for the ridge, which makes it a continuous function of the samples. A direction in which the
    samples agree has a singular value near 1, one in which they are noise a small one: the polar factor of Muon has 1
    for both. V is of the shorter side of a matrix, and the root is `o2nc.operators.inverse_root`, in every round: there
    is no factorisation that might fail. A block with two axes is a matrix, one with more is
    flattened to (first axis, the rest), one with fewer takes the direction of ``fallback``. An array is cut into blocks
    by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        stacks: whether a block with three axes is a stack of matrices; if not, it is flattened too.
        b: the discount, that of the tracker, which `PracticalConversion` calls b1.
        eta: the factor of the damping, by default that of the least regret bound; 0 is the polar factor, but
            for the ridge.

    Reference: Jiang, Mhammedi, Mohri and Mokhtari (2026), Leon, with the length of Liu et al. (2025).

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Leon(b=0.5, eta=1.0), Blocks((np.asarray([[3.0, 0.0], [0.0, 4.0]]),))
    >>> noisy = expert.learn(expert.init(m), Blocks((np.asarray([[0.0, 0.0], [0.0, 6.0]]),)))
    >>> expert.direction(noisy, m).arrays[0].round(4)  # factors 1 and 4/5
    array([[0.3123, 0.    ],
           [0.    , 0.2499]])
    """

    b: float = field(default=0.95, kw_only=True)
    eta: float = field(default=math.sqrt(3) / 2, kw_only=True)
    name: ClassVar[str] = "leon"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("Leon(b=...)", self.b)
        check_number("Leon(eta=...)", self.eta)

    def init(self, x: Vector) -> LeonState:
        """No sample so far."""
        other = super().init(x)
        zero = [shorter_square(_xp.namespace(A).zeros_like(A)) for A in self.as_matrices(x) if A is not None]
        return LeonState(V=tuple(zero), other=other)

    def direction(self, state: LeonState, m: Vector) -> Vector:
        """The damped polar factors, and the directions of the fallback."""
        dampings = iter((self.eta * (1 - self.b)) ** 2 * V for V in state.V)
        found = [None if M is None else _damped(M, next(dampings)) for M in self.as_matrices(m)]
        return self.assembled(found, m, self.fallback.direction(state.other, m))

    def learn(self, state: LeonState, s: Vector) -> LeonState:
        """Add the squares of the sample."""
        new = [shorter_square(S) for S in self.as_matrices(s) if S is not None]
        V = tuple(self.b**2 * old + square for old, square in zip(state.V, new, strict=True))
        return LeonState(V=V, other=self.fallback.learn(state.other, s))


def _damped(M: Array, damping: Array) -> Array:
    root, matmul = inverse_root(shorter_square(M) + damping, 2), _xp.namespace(M).matmul
    return matmul(root, M) if M.shape[-2] <= M.shape[-1] else matmul(M, root)


registry.add(
    "leon",
    lambda eps=FLOOR, **options: Leon(fallback=Adam(eps=eps, **options), floor=eps),
    "a polar factor damped where samples disagree",
)
