"""From an online learner to a nonconvex optimizer: Algorithms 1 and 2, their relatives, rivals and baselines."""

from .adam import Adam, AdamState
from .base import Conversion
from .clipped_ftrl import ClippedFTRL, ClippedFTRLState
from .doubling import DoublingConversion, DoublingState
from .exponentiated import ExponentiatedConversion, ExponentiatedState
from .heavy_ball import HeavyBall, HeavyBallState
from .learner import Learner
from .nonsmooth import NonsmoothConversion, NonsmoothState
from .normalized import NormalizedSGD, NormalizedSGDState
from .online_scaled import OnlineScaled, OnlineScaledState
from .online_scaled_heavy_ball import OnlineScaledHeavyBall, OnlineScaledHeavyBallState
from .regularized_omd import RegularizedOMD, RegularizedOMDState
from .segment import SegmentConversion, SegmentState
from .sgd import SGD, SGDState
from .shifting import BallOGD, BallOGDState, ShiftingConversion, ShiftingState
from .smooth import SmoothConversion, SmoothState
from .untuned import UntunedConversion, UntunedState

__all__ = [
    "SGD",
    "Adam",
    "AdamState",
    "BallOGD",
    "BallOGDState",
    "ClippedFTRL",
    "ClippedFTRLState",
    "Conversion",
    "DoublingConversion",
    "DoublingState",
    "ExponentiatedConversion",
    "ExponentiatedState",
    "HeavyBall",
    "HeavyBallState",
    "Learner",
    "NonsmoothConversion",
    "NonsmoothState",
    "NormalizedSGD",
    "NormalizedSGDState",
    "OnlineScaled",
    "OnlineScaledHeavyBall",
    "OnlineScaledHeavyBallState",
    "OnlineScaledState",
    "RegularizedOMD",
    "RegularizedOMDState",
    "SGDState",
    "SegmentConversion",
    "SegmentState",
    "ShiftingConversion",
    "ShiftingState",
    "SmoothConversion",
    "SmoothState",
    "UntunedConversion",
    "UntunedState",
]
