"""Online learners over operators, one a file."""

from .adagrad import AdaGrad
from .base import Oracle
from .compared import Compared
from .constant import Constant
from .ftrl import FTRL
from .full_adagrad import FullAdaGrad
from .hedge import Hedge
from .mirrors import Entropic, Euclidean
from .ogd import OGD
from .omd import OMD

__all__ = [
    "FTRL",
    "OGD",
    "OMD",
    "AdaGrad",
    "Compared",
    "Constant",
    "Entropic",
    "Euclidean",
    "FullAdaGrad",
    "Hedge",
    "Oracle",
]
