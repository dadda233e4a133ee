"""From an online learner to a nonconvex optimizer: Algorithms 1 and 2 and their relatives."""

from .base import Conversion, registry
from .doubling import DoublingConversion
from .nonsmooth import NonsmoothConversion
from .practical import PracticalConversion
from .prediction import PredictionConversion
from .scales import FixedScale, LearnedScale
from .segment import SegmentConversion
from .smooth import SmoothConversion
from .storm import StormConversion
from .tracked import Tracked, TrackedConversion
from .untuned import UntunedConversion

__all__ = [
    "Conversion",
    "DoublingConversion",
    "FixedScale",
    "LearnedScale",
    "NonsmoothConversion",
    "PracticalConversion",
    "PredictionConversion",
    "SegmentConversion",
    "SmoothConversion",
    "StormConversion",
    "Tracked",
    "TrackedConversion",
    "UntunedConversion",
    "registry",
]
