"""Muon's direction."""

from dataclasses import dataclass
from typing import ClassVar

from .._xp import Array
from ..operators import newton_schulz, polar
from ..operators.polar_factor import check_steps
from .adam import Adam
from .base import FLOOR, registry
from .matrices import OnMatrices


@dataclass(frozen=True)
class Polar(OnMatrices):
    r"""Muon's direction: the polar factor of each matrix block, at a root mean square of 0.2, about that of Adam.

    A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer has no polar
    factor and takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        matrices: for each of the `Blocks`, whether it may be taken as a matrix; by default all may.
        floor: the root mean square of a matrix below which its direction fades.
        split: into how many matrices, one below the other, each matrix of the `Blocks` is cut; see `OnMatrices`.
        stacks: whether a block with three axes is a stack of matrices; if not, it is flattened too.
        steps: of `newton_schulz`, as Muon has it; None for the exact factor, by SVD, which jumps where a singular value
            passes 0: a change in the last digit of a sample may change it at full length.

    Reference: Jordan et al. (2024), with the length of Liu et al. (2025); zero singular values are masked.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Polar(steps=None), Blocks((np.asarray([[3.0, 0.0], [0.0, -1.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0].round(4)
    array([[ 0.2828,  0.    ],
           [ 0.    , -0.2828]])
    """

    steps: int | None = 5
    name: ClassVar[str] = "polar"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None:
            check_steps("Polar(steps=...)", self.steps, "None or ")

    def matrix(self, M: Array) -> Array:
        """The polar factor."""
        return polar(M) if self.steps is None else newton_schulz(M, self.steps)


registry.add(
    "polar",
    lambda eps=FLOOR, **options: Polar(fallback=Adam(eps=eps, **options), floor=eps),
    "the polar factor of each matrix, as in Muon",
)
