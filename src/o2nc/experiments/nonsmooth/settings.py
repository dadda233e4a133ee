"""What was asked of the nonsmooth experiment, and the cells into which it is split."""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ... import __version__
from ..objectives.nonsmooth import NONSMOOTH, nonsmooth_objective
from .methods import FACTORS, METHODS
from .protocol import NonsmoothCell

CHUNK = 16  # replications of a cell, at most


@dataclass(frozen=True)
class NonsmoothSettings:
    r"""The settings of the experiment; two runs with equal settings have the same numbers.

    Args:
        seed: of all that is random.
        replications: how many paired replications, from 0 on.
        T: the horizon of the comparison, for which all constants are tuned.
        lam: the weight of the spread in the measure.
        horizons: of the chart of the measure against T, for Algorithm 2 with I; T is added.

    Reference: Algorithm 2 and Theorem 2.

    >>> len(NonsmoothSettings(horizons=(500,)).cells())
    25
    >>> NonsmoothSettings(lam=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: `lam` must be finite and positive; got -1.0.
    """

    command: ClassVar[str] = "nonsmooth"

    seed: int = 0
    replications: int = 16
    T: int = 2000
    lam: float = 1.0
    horizons: tuple[int, ...] = (1000, 4000, 8000)

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("replications", 2)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"`{name}` must be a whole number, at least {least}; got {value!r}.")
        if not (math.isfinite(self.lam) and self.lam > 0):
            raise ValueError(f"`lam` must be finite and positive; got {self.lam}.")
        object.__setattr__(self, "horizons", tuple(sorted({*self.horizons, self.T})))
        for name in NONSMOOTH:
            for T in self.horizons:
                nonsmooth_objective(name).constants(T, self.lam)

    def cells(self) -> list[NonsmoothCell]:
        """All methods with each factor at T, and Algorithm 2 with I at the other horizons; the long ones first."""
        whole: list[tuple[int, tuple[str, ...], float]] = [
            (T, ("identity",), 1.0) for T in reversed(self.horizons) if T != self.T
        ]
        whole += [(self.T, tuple(METHODS), factor) for factor in FACTORS]
        return [
            NonsmoothCell(name, methods, start, min(start + CHUNK, self.replications), T, self.lam, factor, self.seed)
            for T, methods, factor in whole
            for name in NONSMOOTH
            for start in range(0, self.replications, CHUNK)
        ]

    def further_cells(self, seeds: int) -> list[NonsmoothCell]:
        """None: one seed is one directory."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """The settings and the version of the library, as the header of a directory.

        >>> NonsmoothSettings().to_dict()["experiment"]
        'nonsmooth'
        """
        numbers = asdict(self) | {"horizons": list(self.horizons)}
        return {"experiment": self.command} | numbers | {"version": __version__}
