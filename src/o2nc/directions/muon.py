"""Muon as it is used: Nesterov momentum of its own, Newton-Schulz, and a fixed root mean square."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from .. import _xp
from .._xp import Array
from ..checks import brief, check_number, check_share
from ..operators import newton_schulz
from ..operators.polar_factor import check_steps, find_coefficients
from ..states import ByBlock
from ..vectors import Vector
from .adam import Adam
from .base import FLOOR, LENGTH, registry
from .matrices import OnMatrices, at_length

RATIOS = {  # of a polar factor of shape (p, q), by the names that torch.optim.Muon gives them
    "original": lambda p, q: math.sqrt(max(1.0, p / q)),
    "match_rms_adamw": lambda p, q: LENGTH * math.sqrt(max(p, q)),
}


class Buffers(NamedTuple):
    """What `Muon` remembers of one matrix block."""

    B: Array  # the average of the samples, (..., p, q)
    N: Array  # the same, one sample ahead: what Nesterov's momentum plays


class MuonState(NamedTuple):
    """What `Muon` remembers."""

    buffers: ByBlock  # the `Buffers` of each matrix block, () for others
    other: Any  # the state of the fallback


@dataclass(frozen=True)
class Muon(OnMatrices):
    r"""Muon's direction of each matrix block, from momentum of its own: $N/\|N\|_F$ by Newton-Schulz, then to a length.

    $$B\leftarrow\mu B+(1-\mu)S,\qquad N=\mu B+(1-\mu)S.$$

    The tracker says only whether gradients have ended: below the floor the direction fades. Above it, it is that of
    ``torch.optim.Muon`` with Newton-Schulz in float32 or wider. A block with two axes is a matrix, one with three a
    stack of matrices, one with more a convolution: the matrix of (first axis, the rest). One with fewer takes the
    direction of ``fallback``. An array is cut into blocks by ``shapes``. It keeps two numbers an entry.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of the tracker of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        momentum: $\mu$, in [0, 1).
        nesterov: whether N is played, or B.
        steps: of `newton_schulz`.
        coefficients: of `newton_schulz`: "standard", "dion", "polar express" or your own.
        length: the root mean square, a number; or the factor by the shape that ``torch.optim.Muon`` calls "original",
            $\sqrt{\max(1,p/q)}$, or "match_rms_adamw", $0.2\sqrt{\max(p,q)}$.
        stacks: whether a block with three axes is a stack; if not, it is a convolution.

    Reference: Jordan et al. (2024); Liu et al. (2025) for the length.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Muon(), Blocks((np.asarray([[3.0, 0.0], [0.0, -3.0]]),))
    >>> expert.direction(expert.learn(expert.init(m), m), m).arrays[0].round(4)
    array([[ 0.2828,  0.    ],
           [ 0.    , -0.2828]])
    """

    momentum: float = field(default=0.95, kw_only=True)
    nesterov: bool = field(default=True, kw_only=True)
    steps: int = field(default=5, kw_only=True)
    coefficients: str | Sequence[Any] = field(default="standard", kw_only=True)
    length: float | str = field(default=LENGTH, kw_only=True)
    stacks: bool = field(default=True, kw_only=True)
    name: ClassVar[str] = "muon"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("Muon(momentum=...)", self.momentum)
        check_steps("Muon(steps=...)", self.steps)
        find_coefficients("Muon(coefficients=...)", self.coefficients)
        if isinstance(self.length, str):
            if self.length not in RATIOS:
                names = " or ".join(map(repr, RATIOS))
                raise ValueError(f"`Muon(length=...)` must be a number, {names}; got {brief(self.length)}.")
        else:
            check_number("Muon(length=...)", self.length, positive=True)

    def init(self, x: Vector) -> MuonState:
        """No sample so far."""
        other = super().init(x)
        zeros = [None if A is None else _xp.namespace(A).zeros_like(A) for A in self.as_matrices(x)]
        return MuonState(ByBlock(tuple(() if Z is None else Buffers(Z, Z) for Z in zeros)), other)

    def direction(self, state: MuonState, m: Vector) -> Vector:
        """The approximate polar factor of the momentum."""
        played = (part and (part.N if self.nesterov else part.B) for part in state.buffers.parts)
        found = [None if isinstance(A, tuple) else self.matrix(A) for A in played]
        return self.assembled(found, m, self.fallback.direction(state.other, m))

    def matrix(self, M: Array) -> Array:
        """The approximate polar factor of a matrix."""
        return newton_schulz(M, self.steps, self.coefficients)

    def learn(self, state: MuonState, s: Vector) -> MuonState:
        """Average the sample in."""
        pairs = zip(state.buffers.parts, self.as_matrices(s), strict=True)
        parts = tuple(part if S is None else self._averaged(part, S) for part, S in pairs)
        return MuonState(ByBlock(parts), self.fallback.learn(state.other, s))

    def _averaged(self, part: Buffers, S: Array) -> Buffers:
        B = self.momentum * part.B + (1 - self.momentum) * S
        return Buffers(B, self.momentum * B + (1 - self.momentum) * S)

    def lengthened(self, Z: Array) -> Array:
        """An approximate polar factor at the length of the direction."""
        return Z * RATIOS[self.length](*Z.shape[-2:]) if isinstance(self.length, str) else at_length(Z, self.length)


registry.add(
    "muon",
    lambda eps=FLOOR, **options: Muon(fallback=Adam(eps=eps, **options), floor=eps),
    "Muon with momentum of its own, at a fixed length",
)
