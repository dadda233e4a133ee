"""Muon's direction."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ..operators import newton_schulz, polar
from ..vectors import Vector
from .adam import Adam
from .base import registry
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
        steps: of `newton_schulz`, as Muon has it; None for the exact factor, by SVD.

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
        steps = self.steps
        if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
            raise ValueError(f"`Polar(steps=...)` must be None or a whole number of at least 1; got {steps!r}.")

    def init(self, x: Vector) -> Any:
        """The state of the fallback."""
        self.check_blocks(x)
        return self.fallback.init(x)

    def direction(self, state: Any, m: Vector) -> Vector:
        """The polar factors."""
        factor = polar if self.steps is None else partial(newton_schulz, steps=self.steps)
        factors = [None if A is None else factor(A) for A in self.as_matrices(m)]
        return self.assembled(factors, m, self.fallback.direction(state, m))

    def learn(self, state: Any, s: Vector) -> Any:
        """That of the fallback."""
        return self.fallback.learn(state, s)


registry.add("polar", lambda **options: Polar(fallback=Adam(**options)), "the polar factor of each matrix, as in Muon")
