"""Muon's direction."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from ..operators import newton_schulz, polar
from ..vectors import Vector
from .matrices import OnMatrices


@dataclass(frozen=True)
class Polar(OnMatrices):
    r"""Muon's direction: the polar factor of each matrix block, at the length of the block; RMS on the other blocks.

    A block with two axes is a matrix, one with more is flattened to (first axis, the rest), one with fewer has no polar
    factor and takes the direction of ``fallback``. An array is cut into blocks by ``shapes``.

    Args:
        shapes: the shapes of the blocks of an array, each (n,) or (p, q); not used on `Blocks`.
        fallback: the direction of blocks that are not matrices.
        steps: of `newton_schulz`, as Muon has it; None for the exact factor, by SVD.

    Reference: Jordan et al. (2024); polar as the paper defines it, with zero singular values masked.

    >>> import numpy as np
    >>> from o2nc import Blocks
    >>> expert, m = Polar(), Blocks((np.asarray([[3.0, 0.0], [0.0, 0.0]]),))
    >>> expert.direction(expert.init(m), m).arrays[0]
    array([[3., 0.],
           [0., 0.]])
    """

    steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and (not isinstance(self.steps, int) or self.steps < 1):
            raise ValueError(f"`Polar(steps=...)` must be None or a whole number of at least 1; got {self.steps!r}.")

    def init(self, x: Vector) -> Any:
        """The state of the fallback."""
        self.check_blocks(x)
        return self.fallback.init(x)

    def direction(self, state: Any, m: Vector) -> Vector:
        """The polar factors, each at the length of its block."""
        factor = polar if self.steps is None else partial(newton_schulz, steps=self.steps)
        factors = [None if A is None else factor(A) for A in self.matrices(m)]
        return self.assembled(factors, m, self.fallback.direction(state, m))

    def learn(self, state: Any, s: Vector) -> Any:
        """That of the fallback."""
        return self.fallback.learn(state, s)
