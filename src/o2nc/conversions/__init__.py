"""From an online learner to a nonconvex optimizer: Algorithm 1, its relatives, Algorithm 2, and the baseline."""

from .base import Conversion
from .nonsmooth import NonsmoothConversion, NonsmoothState
from .segment import SegmentConversion, SegmentState
from .sgd import SGD, SGDState
from .smooth import SmoothConversion, SmoothState

__all__ = [
    "SGD",
    "Conversion",
    "NonsmoothConversion",
    "NonsmoothState",
    "SGDState",
    "SegmentConversion",
    "SegmentState",
    "SmoothConversion",
    "SmoothState",
]
