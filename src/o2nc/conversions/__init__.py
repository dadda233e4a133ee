"""From an online learner to a nonconvex optimizer: Algorithms 1 and 2 and their relatives."""

from .base import Conversion
from .doubling import DoublingConversion, DoublingState
from .nonsmooth import NonsmoothConversion, NonsmoothState
from .practical import PracticalConversion, PracticalState
from .segment import SegmentConversion, SegmentState
from .smooth import SmoothConversion
from .tracked import Tracked
from .untuned import UntunedConversion, UntunedState

__all__ = [
    "Conversion",
    "DoublingConversion",
    "DoublingState",
    "NonsmoothConversion",
    "NonsmoothState",
    "PracticalConversion",
    "PracticalState",
    "SegmentConversion",
    "SegmentState",
    "SmoothConversion",
    "Tracked",
    "UntunedConversion",
    "UntunedState",
]
