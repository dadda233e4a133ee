"""Online learners over operators, one a file."""

from .adagrad import AdaGrad
from .adahedge import AdaHedge
from .adaptive import Adaptive
from .base import Oracle
from .binary_entropy import BinaryEntropic
from .coin_betting import CoinBetting
from .compared import Compared
from .constant import Constant
from .discounted_hedge import DiscountedHedge
from .fixed_share import FixedShare
from .frank_wolfe import FrankWolfe
from .ftrl import FTRL
from .full_adagrad import FullAdaGrad
from .hedge import Hedge
from .mirrors import Entropic, Euclidean
from .ogd import OGD
from .omd import OMD
from .optimistic_hedge import OptimisticHedge
from .optimistic_omd import OptimisticOMD
from .over_oracles import OverOracles
from .product import Product
from .short_memory import ShortMemoryHedge
from .solo_ftrl import SoloFTRL
from .squint import Squint

__all__ = [
    "FTRL",
    "OGD",
    "OMD",
    "AdaGrad",
    "AdaHedge",
    "Adaptive",
    "BinaryEntropic",
    "CoinBetting",
    "Compared",
    "Constant",
    "DiscountedHedge",
    "Entropic",
    "Euclidean",
    "FixedShare",
    "FrankWolfe",
    "FullAdaGrad",
    "Hedge",
    "OptimisticHedge",
    "OptimisticOMD",
    "Oracle",
    "OverOracles",
    "Product",
    "ShortMemoryHedge",
    "SoloFTRL",
    "Squint",
]
