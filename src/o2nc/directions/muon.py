"""Muon as it is used: Nesterov's momentum, Newton-Schulz, and a fixed root mean square."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .._xp import Array
from ..checks import brief, check_number
from ..operators import newton_schulz
from ..operators.polar_factor import check_precision, check_steps, find_coefficients
from .adam import Adam
from .base import FLOOR, LENGTH, registry
from .matrices import OnMatrices, at_length

RATIOS = {  # of a polar factor of shape (p, q), by the names that torch.optim.Muon gives them
    "original": lambda p, q: math.sqrt(max(1.0, p / q)),
    "match_rms_adamw": lambda p, q: LENGTH * math.sqrt(max(p, q)),
}


@dataclass(frozen=True)
class Muon(OnMatrices):
    r"""Muon's direction of each matrix block: the polar factor of N by Newton-Schulz, at a length.

    $$M\leftarrow b_1M+(1-b_1)S,\qquad N=b_1M+(1-b_1)S.$$

    M is the tracker, and N is the tracker one sample ahead, which is Nesterov's momentum. A conversion that has the
    sample of its step, as `o2nc.conversions.PracticalConversion`, shows N to a direction that ``looks_ahead``; in
    certified use a direction must not see it, and takes M. With $b_1=0.95$ it is ``torch.optim.Muon`` with
    Newton-Schulz in float32 or wider, as long as N is above the floor; below it the direction fades. A block with two
    axes is a matrix, one with three a stack of matrices, one with more a convolution: the matrix of (first axis, the
    rest). One with fewer takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of the tracker of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        looks_ahead: whether it is shown N, or M.
        steps: of `newton_schulz`.
        coefficients: of `newton_schulz`: "standard", "dion", "polar express" or your own.
        length: the root mean square, a number; or the factor by the shape that ``torch.optim.Muon`` calls "original",
            $\sqrt{\max(1,p/q)}$, or "match_rms_adamw", $0.2\sqrt{\max(p,q)}$.
        stacks: whether a block with three axes is a stack; if not, it is a convolution.
        precision: of `newton_schulz`: "bfloat16", as ``torch.optim.Muon`` has it, "float32", "float64", or None for
            that of the blocks, and at least float32.

    Reference: Jordan et al. (2024); Liu et al. (2025) for the length.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Muon(), Blocks((np.asarray([[3.0, 0.0], [0.0, -3.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0].round(4)
    array([[ 0.2828,  0.    ],
           [ 0.    , -0.2828]])
    """

    looks_ahead: bool = field(default=True, kw_only=True)
    steps: int = field(default=5, kw_only=True)
    coefficients: str | Sequence[Any] = field(default="standard", kw_only=True)
    length: float | str = field(default=LENGTH, kw_only=True)
    stacks: bool = field(default=True, kw_only=True)
    precision: str | None = field(default=None, kw_only=True)
    name: ClassVar[str] = "muon"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps("Muon(steps=...)", self.steps)
        find_coefficients("Muon(coefficients=...)", self.coefficients)
        check_precision("Muon(precision=...)", self.precision)
        if isinstance(self.length, str):
            if self.length not in RATIOS:
                names = " or ".join(map(repr, RATIOS))
                raise ValueError(f"`Muon(length=...)` must be a number, {names}; got {brief(self.length)}.")
        else:
            check_number("Muon(length=...)", self.length, positive=True)

    def matrix(self, M: Array) -> Array:
        """The approximate polar factor of a matrix."""
        return newton_schulz(M, self.steps, self.coefficients, self.precision)

    def lengthened(self, Z: Array) -> Array:
        """An approximate polar factor at the length of the direction."""
        return Z * RATIOS[self.length](*Z.shape[-2:]) if isinstance(self.length, str) else at_length(Z, self.length)


registry.add(
    "muon",
    lambda eps=FLOOR, **options: Muon(fallback=Adam(eps=eps, **options), floor=eps),
    "Muon: the polar factor of the tracker one sample ahead",
)
