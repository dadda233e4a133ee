"""Convex sets of operators: what an oracle chooses from."""

from .base import OperatorSet
from .box import Box
from .hull import Hull
from .spectral import PositiveContractions, SpectralBall
from .varying import Varying

__all__ = ["Box", "Hull", "OperatorSet", "PositiveContractions", "SpectralBall", "Varying"]
