"""The objectives of the nonsmooth experiment, by name.

>>> list(NONSMOOTH)
['capped', 'ramp', 'relu', 'valley', 'bowl']
"""

from collections.abc import Callable
from types import MappingProxyType

from .capped_regression import CappedRegression
from .kinked_bowl import KinkedBowl
from .max_valley import MaxValley
from .nonsmooth_base import NonsmoothObjective
from .ramp_digits import RampDigits
from .relu_network import ReluNetwork

NONSMOOTH: MappingProxyType[str, Callable[[], NonsmoothObjective]] = MappingProxyType(
    {
        "capped": CappedRegression.load,
        "ramp": RampDigits.load,
        "relu": ReluNetwork.load,
        "valley": MaxValley,
        "bowl": KinkedBowl,
    }
)


def nonsmooth_objective(name: str) -> NonsmoothObjective:
    """The objective called ``name``; the data are read once.

    Reference: Assumption 3.

    >>> nonsmooth_objective("cup")
    Traceback (most recent call last):
        ...
    ValueError: `objective` must be one of capped, ramp, relu, valley, bowl; got 'cup'.
    """
    if name not in NONSMOOTH:
        raise ValueError(f"`objective` must be one of {', '.join(NONSMOOTH)}; got {name!r}.")
    return NONSMOOTH[name]()
