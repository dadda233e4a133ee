"""Baselines and other people's conversions, with the interface of ours."""

from .adam import Adam, AdamState
from .clipped_ftrl import ClippedFTRL, ClippedFTRLState
from .displacement import DisplacementLearner
from .exponentiated import ExponentiatedConversion, ExponentiatedState
from .heavy_ball import HeavyBall, HeavyBallState
from .normalized import NormalizedSGD, NormalizedSGDState
from .online_scaled import OnlineScaled, OnlineScaledState
from .online_scaled_heavy_ball import OnlineScaledHeavyBall, OnlineScaledHeavyBallState
from .regularized_omd import RegularizedOMD, RegularizedOMDState
from .sgd import SGD, SGDState
from .shifting import BallOGD, BallOGDState, ShiftingConversion, ShiftingState

__all__ = [
    "SGD",
    "Adam",
    "AdamState",
    "BallOGD",
    "BallOGDState",
    "ClippedFTRL",
    "ClippedFTRLState",
    "DisplacementLearner",
    "ExponentiatedConversion",
    "ExponentiatedState",
    "HeavyBall",
    "HeavyBallState",
    "NormalizedSGD",
    "NormalizedSGDState",
    "OnlineScaled",
    "OnlineScaledHeavyBall",
    "OnlineScaledHeavyBallState",
    "OnlineScaledState",
    "RegularizedOMD",
    "RegularizedOMDState",
    "SGDState",
    "ShiftingConversion",
    "ShiftingState",
]
