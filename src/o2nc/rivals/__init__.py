"""Baselines and other people's conversions, with the interface of ours."""

from .adam import Adam
from .clipped_ftrl import ClippedFTRL
from .discounted_ftrl import DiscountedFTRL
from .displacement import DisplacementLearner
from .doubly_optimistic import DoublyOptimisticConversion
from .episodic import EpisodicConversion
from .exponentiated import ExponentiatedConversion
from .heavy_ball import HeavyBall
from .leon import Leon
from .normalized import NormalizedSGD
from .online_scaled import OnlineScaled
from .online_scaled_heavy_ball import OnlineScaledHeavyBall
from .pion import Pion
from .regularized_omd import RegularizedOMD
from .schedule_free import ScheduleFreeSGD
from .sgd import SGD
from .shifting import BallOGD, ShiftingConversion
from .surrogate import SurrogateSGD
from .updates import UpdatesConversion

__all__ = [
    "SGD",
    "Adam",
    "BallOGD",
    "ClippedFTRL",
    "DiscountedFTRL",
    "DisplacementLearner",
    "DoublyOptimisticConversion",
    "EpisodicConversion",
    "ExponentiatedConversion",
    "HeavyBall",
    "Leon",
    "NormalizedSGD",
    "OnlineScaled",
    "OnlineScaledHeavyBall",
    "Pion",
    "RegularizedOMD",
    "ScheduleFreeSGD",
    "ShiftingConversion",
    "SurrogateSGD",
    "UpdatesConversion",
]
