"""What was asked of a run: the settings that decide its numbers, and the cells into which it is split."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from .. import __version__
from . import backends
from .methods import METHODS
from .objectives import OBJECTIVES
from .paper import ITERATIONS, REPLICATIONS, T_RUN
from .paper import METHODS as PAPER_METHODS
from .protocol import Cell

CHUNK = 128  # replications of a cell, at most


@dataclass(frozen=True)
class Settings:
    r"""The settings of a reproduction; two runs with equal settings have the same numbers.

    Args:
        seed: of the noise.
        replications: how many paired replications, from 0 on.
        iterations: the rounds to run, at most the declared horizon 20000.
        backend: numpy, torch or jax.
        dtype: float64 or float32.

    Reference: Numerical Experiments, the evaluation protocol.

    >>> [(cell.objective, cell.start, cell.stop) for cell in Settings(replications=200).cells()][:2]
    [('f1', 0, 128), ('f1', 128, 200)]
    """

    command: ClassVar[str] = "reproduce"

    seed: int = 0
    replications: int = REPLICATIONS
    iterations: int = ITERATIONS
    backend: str = "numpy"
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("replications", 2), ("iterations", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"`{name}` must be a whole number, at least {least}; got {value!r}.")
        if self.iterations > T_RUN:
            raise ValueError(f"`iterations` must be at most the declared horizon {T_RUN}; got {self.iterations}.")
        backends.check(self.backend, self.dtype)

    def cells(self) -> list[Cell]:
        """The cells of the run: all methods, one chunk of replications of one objective each."""
        return self._cells(self.seed, tuple(METHODS), self.iterations)

    def further_cells(self, seeds: int) -> list[Cell]:
        """The cells of the next ``seeds`` seeds: the paper's two methods, to the iteration that the paper reports."""
        wanted = range(self.seed + 1, self.seed + 1 + seeds)
        return [cell for s in wanted for cell in self._cells(s, PAPER_METHODS, min(self.iterations, ITERATIONS))]

    def _cells(self, seed: int, methods: Sequence[str], iterations: int) -> list[Cell]:
        return [
            Cell(
                name,
                tuple(methods),
                start,
                min(start + CHUNK, self.replications),
                iterations,
                seed,
                self.backend,
                self.dtype,
            )
            for name in OBJECTIVES
            for start in range(0, self.replications, CHUNK)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The settings and the version of the library, as the header of a directory.

        >>> Settings().to_dict()["iterations"]
        3000
        """
        return asdict(self) | {"version": __version__}
