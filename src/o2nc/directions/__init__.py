"""Adaptive experts: predictable directions with a state of their own, computed from the past and the tracker.

A direction is computed from the tracker and the samples that it has learned from. How long it is played is the business
of who plays it: `o2nc.oracles.Adaptive` shortens it to the length of the tracker, which makes it a legal
preconditioner, and `o2nc.conversions.PracticalConversion` plays it at the learning rate. Each acts block by block on
`Blocks`. Those in the ``registry`` may be given by name.
"""

from .base import Direction, Numbers, find, find_all, registry  # isort: split

from .adam import Adam
from .function import Function
from .leon import Leon
from .mask import Mask
from .matrices import OnMatrices
from .momentum import Momentum
from .muon import Muon
from .polar import Polar
from .shampoo import Shampoo
from .sign import Sign
from .soap import Soap

__all__ = [
    "Adam",
    "Direction",
    "Function",
    "Leon",
    "Mask",
    "Momentum",
    "Muon",
    "Numbers",
    "OnMatrices",
    "Polar",
    "Shampoo",
    "Sign",
    "Soap",
    "find",
    "find_all",
    "registry",
]
