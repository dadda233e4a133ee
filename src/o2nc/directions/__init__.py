"""Adaptive experts: predictable directions with a state of their own, computed from the past and the tracker.

A direction may use the tracker m of the round and the samples of earlier rounds, never the sample of its own round.
`o2nc.oracles.Adaptive` turns directions into legal preconditioners: it shortens them to the length of the tracker.
Each acts block by block on `Blocks`.
"""

from .base import Direction, shortened, with_length
from .memoryless import Function, Mask, Momentum, NoState, Sign
from .muon import Polar
from .rms import RMS, RMSState
from .shampoo import Shampoo, ShampooState

__all__ = [
    "RMS",
    "Direction",
    "Function",
    "Mask",
    "Momentum",
    "NoState",
    "Polar",
    "RMSState",
    "Shampoo",
    "ShampooState",
    "Sign",
    "shortened",
    "with_length",
]
