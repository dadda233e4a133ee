"""The four objectives of the numerical section, by name.

>>> [f.name for f in OBJECTIVES.values()]
['f1', 'f2', 'f3', 'f4']
"""

from .base import Objective
from .double_well import DoubleWell
from .radial_cosine import RadialCosine
from .rotated_cosine import RotatedCosine
from .xy import XY

__all__ = ["OBJECTIVES", "XY", "DoubleWell", "Objective", "RadialCosine", "RotatedCosine", "objective"]

OBJECTIVES: dict[str, Objective] = {f.name: f for f in (RotatedCosine(), DoubleWell(), XY(), RadialCosine())}


def objective(name: str) -> Objective:
    r"""The objective $f_i$ called ``name``, "f1" to "f4".

    Reference: Numerical Experiments.

    >>> objective("f3").d
    64
    >>> objective("f5")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of f1, f2, f3, f4; got 'f5'.
    """
    if name not in OBJECTIVES:
        raise ValueError(f"`objective` must be one of {', '.join(OBJECTIVES)}; got {name!r}.")
    return OBJECTIVES[name]
