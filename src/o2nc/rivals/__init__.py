"""Baselines and other people's conversions, with the interface of ours."""

from .adam import Adam
from .clipped_ftrl import ClippedFTRL
from .displacement import DisplacementLearner
from .exponentiated import ExponentiatedConversion
from .heavy_ball import HeavyBall
from .normalized import NormalizedSGD
from .online_scaled import OnlineScaled
from .online_scaled_heavy_ball import OnlineScaledHeavyBall
from .regularized_omd import RegularizedOMD
from .sgd import SGD
from .shifting import BallOGD, ShiftingConversion

__all__ = [
    "SGD",
    "Adam",
    "BallOGD",
    "ClippedFTRL",
    "DisplacementLearner",
    "ExponentiatedConversion",
    "HeavyBall",
    "NormalizedSGD",
    "OnlineScaled",
    "OnlineScaledHeavyBall",
    "RegularizedOMD",
    "ShiftingConversion",
]
