"""The unit of work: some methods on one objective for some replications, with the same random numbers."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

from .records import Record


@dataclass(frozen=True)
class Cell(ABC):
    r"""Some methods on an objective for the replications start .. stop - 1.

    Args:
        objective: its name.
        methods: their names.
        start: the first replication.
        stop: the one after the last.
        seed: of all that is random, which depends on (seed, objective, replication, round) alone.

    Reference: Numerical Experiments, the evaluation protocol.
    """

    objective: str
    methods: tuple[str, ...]
    start: int
    stop: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not 0 <= self.start < self.stop:
            raise ValueError(
                f"`stop` must be larger than `start`, and `start` at least 0; got {self.start, self.stop}."
            )

    @property
    def details(self) -> str:
        """What tells it from cells of the same objective and methods."""
        return ""

    @property
    def name(self) -> str:
        """What the cell is called in files and messages."""
        return f"seed{self.seed}-{self.objective}-{'+'.join(self.methods)}-{self.details}{self.start}-{self.stop}"

    @property
    def group(self) -> Hashable:
        """Cells of a group differ in objective and replications only, so that their records can be merged."""
        return self.seed

    @property
    def replications(self) -> range:
        """Their numbers."""
        return range(self.start, self.stop)

    @abstractmethod
    def run(self) -> dict[str, Record]:
        """The records of the cell by method."""


def check_count(name: str, value: int, least: int) -> None:
    """Raise unless ``value`` is a whole number, at least ``least``.

    >>> check_count("seed", -1, 0)
    Traceback (most recent call last):
        ...
    ValueError: `seed` must be a whole number, at least 0; got -1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"`{name}` must be a whole number, at least {least}; got {value!r}.")


def check_seed(seed: int) -> None:
    """Raise unless ``seed`` is a whole number of at most 64 bits.

    >>> check_seed(2**64)
    Traceback (most recent call last):
        ...
    ValueError: `seed` must be below 2^64; got 18446744073709551616.
    """
    check_count("seed", seed, 0)
    if seed >= 2**64:
        raise ValueError(f"`seed` must be below 2^64; got {seed}.")


def chunks(replications: int, size: int) -> list[tuple[int, int]]:
    """The replications in pieces (start, stop) of at most ``size``.

    >>> chunks(200, 128)
    [(0, 128), (128, 200)]
    """
    return [(start, min(start + size, replications)) for start in range(0, replications, size)]
