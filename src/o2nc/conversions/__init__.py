"""From an online learner to a nonconvex optimizer: Algorithm 1, Algorithm 2, and the baseline."""

from .base import Conversion
from .nonsmooth import NonsmoothConversion, NonsmoothState
from .sgd import SGD, SGDState
from .smooth import SmoothConversion, SmoothState

__all__ = [
    "SGD", "Conversion", "NonsmoothConversion", "NonsmoothState", "SGDState", "SmoothConversion", "SmoothState",
]  # fmt: skip
