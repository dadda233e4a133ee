"""Oracles, online learners over operators: one a file, and one spelling a learner of `o2nc.learners` over experts."""

from .. import learners
from .adagrad import AdaGrad
from .adaptive import Adaptive
from .augmented_leader import AugmentedLeader
from .base import Oracle, registry
from .binary_entropy import BinaryEntropic
from .coin_betting import CoinBetting
from .compared import Compared
from .constant import Constant
from .factor_least_squares import LeftLeastSquares, RightLeastSquares
from .frank_wolfe import FrankWolfe
from .ftrl import FTRL
from .full_adagrad import FullAdaGrad
from .full_least_squares import FullLeastSquares
from .least_squares import LeastSquares
from .mirrors import Entropic, Euclidean
from .ogd import OGD
from .omd import OMD
from .online_newton_step import OnlineNewtonStep
from .optimistic_omd import OptimisticOMD
from .over_experts import OverExperts, over_experts
from .over_oracles import OverOracles
from .perturbed_leader import PerturbedLeader
from .prediction_hedge import PredictionHedge
from .product import Product
from .solo_ftrl import SoloFTRL

Hedge = over_experts(learners.Hedge)
AdaHedge = over_experts(learners.AdaHedge)
Squint = over_experts(learners.Squint)
DiscountedHedge = over_experts(learners.DiscountedHedge)
ShortMemoryHedge = over_experts(learners.ShortMemoryHedge)
FixedShare = over_experts(learners.FixedShare)
OptimisticHedge = over_experts(learners.OptimisticHedge)

__all__ = [
    "FTRL", "OGD", "OMD", "AdaGrad", "AdaHedge", "Adaptive", "AugmentedLeader", "BinaryEntropic", "CoinBetting",
    "Compared", "Constant", "DiscountedHedge", "Entropic", "Euclidean", "FixedShare", "FrankWolfe", "FullAdaGrad",
    "FullLeastSquares", "Hedge", "LeastSquares", "LeftLeastSquares", "OnlineNewtonStep", "OptimisticHedge",
    "OptimisticOMD", "Oracle", "OverExperts", "OverOracles", "PerturbedLeader", "PredictionHedge", "Product",
    "RightLeastSquares", "ShortMemoryHedge", "SoloFTRL", "Squint", "registry",
]  # fmt: skip
