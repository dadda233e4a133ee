"""From an online learner to a nonconvex optimizer: Algorithm 1, its relatives, Algorithm 2, and the baselines."""

from .adam import Adam, AdamState
from .base import Conversion
from .heavy_ball import HeavyBall, HeavyBallState
from .nonsmooth import NonsmoothConversion, NonsmoothState
from .segment import SegmentConversion, SegmentState
from .sgd import SGD, SGDState
from .smooth import SmoothConversion, SmoothState

__all__ = [
    "SGD",
    "Adam",
    "AdamState",
    "Conversion",
    "HeavyBall",
    "HeavyBallState",
    "NonsmoothConversion",
    "NonsmoothState",
    "SGDState",
    "SegmentConversion",
    "SegmentState",
    "SmoothConversion",
    "SmoothState",
]
