"""Turn any online learner with static regret into an optimizer for stochastic nonconvex problems."""

from .constants import Nonsmooth, Smooth
from .conversions import SGD, NonsmoothConversion, SmoothConversion
from .vectors import Blocks

__version__ = "0.1.0"
__all__ = ["SGD", "Blocks", "Nonsmooth", "NonsmoothConversion", "Smooth", "SmoothConversion"]
