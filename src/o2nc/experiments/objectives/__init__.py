"""The four objectives of the numerical section, by name, and four more of other kinds.

>>> [f.name for f in OBJECTIVES.values()]
['f1', 'f2', 'f3', 'f4']
>>> [f.name for f in MORE_OBJECTIVES.values()]
['f5', 'f6', 'f7', 'f8']
"""

from .base import Objective
from .double_well import DoubleWell
from .draw import RoundNoise, draw
from .factorisation import LowRank
from .radial_cosine import RadialCosine
from .regression import RobustRegression
from .rotated_cosine import RotatedCosine
from .switching import Switching
from .valley import BentValley
from .xy import XY

__all__ = [
    "MORE_OBJECTIVES",
    "OBJECTIVES",
    "XY",
    "BentValley",
    "DoubleWell",
    "LowRank",
    "Objective",
    "RadialCosine",
    "RobustRegression",
    "RotatedCosine",
    "RoundNoise",
    "Switching",
    "draw",
    "objective",
]

OBJECTIVES: dict[str, Objective] = {f.name: f for f in (RotatedCosine(), DoubleWell(), XY(), RadialCosine())}

# Not the paper's: a bent valley, a factorisation, heavy tails, and a noise that changes half-way.
MORE_OBJECTIVES: dict[str, Objective] = {f.name: f for f in (BentValley(), LowRank(), RobustRegression(), Switching())}


def objective(name: str) -> Objective:
    r"""The objective called ``name``: "f1" to "f4" are the paper's, "f5" to "f8" are not.

    Reference: Numerical Experiments.

    >>> objective("f3").d
    64
    >>> objective("f9")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of f1, f2, f3, f4, f5, f6, f7, f8; got 'f9'.
    """
    known = OBJECTIVES | MORE_OBJECTIVES
    if name not in known:
        raise ValueError(f"`objective` must be one of {', '.join(known)}; got {name!r}.")
    return known[name]
