"""Convex sets of operators: what an oracle chooses from."""

from .base import OperatorSet, registry
from .block_box import BlockBox
from .box import Box
from .contractions import Contractions
from .diagonal_ball import DiagonalBall
from .fantope import Fantope
from .hull import Hull
from .kronecker import LeftFactors, RightFactors
from .spectral import PositiveContractions, SpectralBall
from .two_sided import TwoSided
from .varying import Varying
from .wide import WideBlockBox, WideBox, WideSpectral

__all__ = [
    "BlockBox",
    "Box",
    "Contractions",
    "DiagonalBall",
    "Fantope",
    "Hull",
    "LeftFactors",
    "OperatorSet",
    "PositiveContractions",
    "RightFactors",
    "SpectralBall",
    "TwoSided",
    "Varying",
    "WideBlockBox",
    "WideBox",
    "WideSpectral",
    "registry",
]
