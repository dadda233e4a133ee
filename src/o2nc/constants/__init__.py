"""The constants of the algorithms, each derived from what is known of the problem."""

from .nonsmooth import Nonsmooth
from .smooth import PaperSmooth, Smooth, SmoothConstants
from .variance_reduced import VarianceReduced

__all__ = ["Nonsmooth", "PaperSmooth", "Smooth", "SmoothConstants", "VarianceReduced"]
