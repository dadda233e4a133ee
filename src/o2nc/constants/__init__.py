"""The constants of the two algorithms, each derived from what is known of the problem."""

from .nonsmooth import Nonsmooth
from .smooth import PaperSmooth, Smooth, SmoothConstants

__all__ = ["Nonsmooth", "PaperSmooth", "Smooth", "SmoothConstants"]
